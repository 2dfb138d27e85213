#pragma once

#include "bed/process.hpp"
#include "bed/wait_until.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::testbed {

/// A new folder. The destructor deletes it.
class temporary_folder {
public:
    temporary_folder();
    ~temporary_folder();
    temporary_folder(temporary_folder const&) = delete;
    temporary_folder& operator=(temporary_folder const&) = delete;
    std::string const path;
};

/// A port of the loopback interface that no program uses at the moment, at most @p highest.
/// @throws std::runtime_error if there is none
std::uint16_t free_port(std::uint16_t highest = 65'535);

/// The value of the environment variable @p name; empty if it is not set.
std::string named_by(char const* name);

/// The contents of @p file.
std::string text_of(std::string const& file);

/** A real server process on loopback, on ports that were free.

    The destructor kills it. The kernel kills it when the thread that started it ends, even if that is killed.
    A restart keeps the ports.
*/
class server_process {
public:
    virtual ~server_process();

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return process_ ? process_->pid() : -1; }
    std::string folder() const { return folder_.path + "/data"; }

    void kill();    ///< SIGKILL; this and the next two include its child processes
    void pause();   ///< SIGSTOP
    void resume();  ///< SIGCONT
    void start();   ///< starts it again after kill, and waits until it answers
    void launch();  ///< starts it again after kill, without waiting
    void wait();    ///< until it answers; throws std::runtime_error with its log if it ends, or after a minute
    void forget();  ///< deletes its data; call it after kill

protected:
    /// @p ready: texts; one of them in its log says that it answers. @p environment: "NAME=value", added to ours
    server_process(std::string name, std::vector<std::string> ready, std::vector<std::string> environment = {});

    /// Constructors of derived classes call it. @throws std::runtime_error as wait does
    void start_on_free_ports();

    std::string const& path() const noexcept { return folder_.path; }
    void set_port(std::uint16_t port) noexcept { port_ = port; }

private:
    /// Returns the command line, and writes the files that it names.
    virtual std::vector<std::string> words() = 0;
    virtual void take_ports() { port_ = free_port(); }
    virtual bool is_ready() const;
    /// Whether the error in its log is temporary.
    virtual bool may_start_later(std::string const& /*log*/) const { return false; }

    void signal_children(int number) const;
    std::string log() const { return text_of(folder_.path + "/log"); }

    std::string name_;
    std::vector<std::string> ready_, environment_;
    temporary_folder folder_;
    std::uint16_t port_ = 0;
    std::optional<process> process_;
};

/// The addresses of all @p servers but @p left_out, such as "127.0.0.1:1,127.0.0.1:2".
template <class Servers>
std::string addresses_of(Servers const& servers, server_process const* left_out = nullptr)
{
    std::string all;
    for (auto const& s : servers) {
        if (&s != left_out)
            all += (all.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(s.port());
    }
    return all;
}

/// Several servers that form one store. @p Server has a `scheme`, and `leads()` says whether it is the leader.
template <class Server>
class server_cluster {
public:
    Server& operator[](std::size_t i) { return members_[i]; }

    /// Waits until there is a leader.
    Server& leader()
    {
        auto found = members_.end();
        auto const is_found = [&] {
            return (found = std::ranges::find_if(members_, &Server::leads)) != members_.end();
        };
        wait_until(is_found, "the cluster elects no leader");
        return *found;
    }

    std::string url(std::string const& rest = {}) const { return Server::scheme + addresses_of(members_) + rest; }
    std::string url_of_others(Server const& one, std::string const& rest = {}) const
    {
        return Server::scheme + addresses_of(members_, &one) + rest;
    }

protected:
    std::deque<Server> members_;
};

/// Returns the output of a program without the last line feeds; "error: …" if it fails.
std::string answer_of(std::vector<std::string> words, std::vector<std::string> environment = {});

}  // namespace redlock::testbed
