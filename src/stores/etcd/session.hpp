#pragma once

#include "stores/etcd/transport.hpp"
#include "stores/etcd/leases.hpp"

#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace redlock::stores::etcd {

/** A session with one member: the greeting, and then three connections: for transactions, one after the other; for new
    leases; for watches. If one of them ends, the session ends.

    Used as a std::shared_ptr, on the executor.
*/
class session : public std::enable_shared_from_this<session> {
public:
    class owner {
    public:
        /// The member has sent this first answer. @return with an error: why it must not vote
        virtual node_reply check_server(json::object const& answer) = 0;
        virtual void up() = 0;
        /// The next transaction to send. Empty: none until @ref wake.
        virtual std::string next() = 0;
        /// The answer to the latest transaction. If its outcome is unknown, the session ends.
        virtual void answered(answer) = 0;
        /// The latest lease has ended, and all its keys. The session ends.
        virtual void lost() = 0;
        /// A watched key was deleted, or changed. @p revision zero: the server has ended the watch.
        virtual void touched(std::uint64_t watch, std::int64_t revision) = 0;

    protected:
        ~owner() = default;
    };

    /// @p number: the number of the connection.
    session(asio::any_io_executor, std::shared_ptr<server const>, std::shared_ptr<address const>,
            std::shared_ptr<leases>, std::uint32_t number, surroundings const&, owner&);

    server const& where() const noexcept { return *server_; }

    /// Runs until the session ends. @return why it has ended
    asio::awaitable<node_reply> run();

    void wake();
    void ask_again_soon();  ///< for a lease: the server has refused one, or did not move keys to it
    void watch(std::string message);
    void end(node_reply why);
    void lose();  ///< ends the session because the latest lease has ended

    void close();                                  ///< at once; the owner gets no more calls
    void abandon() noexcept { owner_ = nullptr; }  ///< touches nothing that belongs to the context
    /// Like @ref close, and revokes the leases. No request may be in flight.
    void end_leases();

private:
    static asio::awaitable<void> keep_lease_alive(std::shared_ptr<session>);
    static asio::awaitable<void> hear(std::shared_ptr<session>);
    static asio::awaitable<void> talk(std::shared_ptr<session>);
    static asio::awaitable<void> revoke(std::shared_ptr<session>);

    asio::awaitable<node_reply> greet();
    asio::awaitable<node_reply> authenticate();
    asio::awaitable<answer> take_over();
    asio::awaitable<node_reply> open_others();
    asio::awaitable<void> send();
    asio::awaitable<answer> grant(transport&, std::chrono::milliseconds timeout);
    void read(json::object const& result);
    void close_transports();

    std::shared_ptr<server const> const server_;
    std::shared_ptr<address const> const address_;
    std::shared_ptr<leases> const leases_;
    std::uint32_t const number_;
    owner* owner_;  ///< null after the end
    std::shared_ptr<transport> const commands_, keeper_, watcher_;
    timer wake_, due_, beat_;
    std::string token_;
    std::deque<std::string> messages_;
    unsigned unanswered_beats_ = 0;
    node_reply why_;
};

}  // namespace redlock::stores::etcd
