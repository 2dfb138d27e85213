#pragma once

#include "cli/guardian.hpp"
#include "cli/supervised.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::cli {

/// What we were given when we were started, for those whom we start.
class inheritance {
public:
    /// The first call must come before anything is changed, and any file opened.
    static inheritance const& ours();

    /// In a child: signals as they were.
    void restore() const noexcept;

    /// What has been opened since is not for a child.
    void keep_files_ours() const;

    /// The lowest number that no file of a child has, after that. Not every shell takes one of two digits for a
    /// descriptor.
    static int unused_file() noexcept;

    /// Whether a signal was ignored, as nohup(1) has it: it is for a child as well.
    bool ignores(int signal) const noexcept;

private:
    inheritance();

    sigset_t mask_{};
    struct disposition {
        int signal;
        struct sigaction action;
    };
    std::vector<disposition> dispositions_;
    std::vector<int> files_;
};

/** A command that we run, and all that it starts, as long as that stays in its process group.

    The command has a group of its own, unless it stays in ours: then only the command itself is reached. On a terminal
    its group has the foreground if ours had. If we end, even by SIGKILL, the kernel kills the command and a guardian
    kills its group. A group that is ours has no guardian, because that would kill our callers, too. We become the
    parent of the group's orphans, so that we know when the last has ended.
*/
class child final : public supervised {
public:
    struct options {
        std::vector<std::string> words{};        ///< the command and its arguments
        std::vector<std::string> environment{};  ///< "NAME=value", on top of ours
        int gives = -1, as = -1;                 ///< a file of ours that it has, too, by which number
        bool in_our_group = false;
    };

    /// @throws cannot_run
    child(options const&, inheritance const&);
    ~child();  ///< SIGKILL, unless it has ended
    child(child const&) = delete;
    child& operator=(child const&) = delete;

    struct cannot_run {
        int error;  ///< as of ::execvp
    };

    void signal(int) noexcept override;
    void hand_on(int) noexcept override;
    void check_children() noexcept override;
    bool has_ended() const noexcept override { return has_ended_; }
    bool was_stopped() noexcept override;
    bool is_gone() noexcept override;
    void stop_with_it() noexcept override;
    void go_on() noexcept override;

    int status() const noexcept;                ///< its exit status, or 128 and the signal that has ended it
    int signal_that_ended_it() const noexcept;  ///< 0: none

    /// Whether Ctrl-C has ended it, of which nobody else has heard: it had the terminal for itself.
    bool was_interrupted_alone() const noexcept { return was_interrupted_alone_; }

private:
    [[noreturn]] void become(char* const* words, char* const* environment, inheritance const&, options const&,
                             int tell) noexcept;
    static int give(options const&, int tell) noexcept;
    void pass_foreground(pid_t from, pid_t to) noexcept;

    pid_t pid_ = -1;
    pid_t const our_group_;
    bool const has_group_;
    std::optional<guardian> guardian_{};  ///< until the group is gone
    bool has_terminal_ = false;
    bool has_ended_ = false;
    bool was_stopped_ = false;
    bool got_interrupt_ = false;  // from us
    bool was_interrupted_alone_ = false;
    bool is_gone_ = false;
    int wait_status_ = 0;
};

}  // namespace redlock::cli
