#pragma once

#include "tools/redlock/run/guardian.hpp"
#include "tools/redlock/run/supervised.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::cli {

/// The signal dispositions, signal mask and open files with which this process was started. Child processes get the
/// same.
class inheritance {
public:
    /// The first call records the state. It must come before this process changes signals or opens files.
    static inheritance const& ours();

    /// Restores the signals. Only a child calls this.
    void restore() const noexcept;

    /// Sets close-on-exec on all files that were opened since the start.
    void keep_files_ours() const;

    /// The lowest file descriptor that a child does not have after @ref keep_files_ours. It is the lowest because some
    /// shells do not accept descriptors with two digits.
    static int unused_file() noexcept;

    /// Whether this process was started with the signal ignored, for example by nohup(1).
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

/** A command that this process runs, with all processes of the command's process group.

    - The command has its own process group. With `options::in_our_group` it stays in the group of this process, and
      signals reach only the command itself.
    - If this process group is the foreground group of a terminal, the command's group becomes the foreground group.
    - If this process ends, even by SIGKILL, the kernel kills the command, and a guardian kills the command's group.
      The guardian also does so at the time of @ref must_end_by. With `options::in_our_group` there is no guardian,
      because it would also kill the callers of this process.
    - This process becomes the parent of the group's orphans, so it learns when the last of them ends.
*/
class child final : public supervised {
public:
    struct options {
        std::vector<std::string> words{};        ///< the command and its arguments
        std::vector<std::string> environment{};  ///< "NAME=value", added to the environment of this process
        int gives = -1, as = -1;                 ///< a file of this process, and its descriptor in the command
        bool in_our_group = false;
    };

    /// Does not wait for the execution of the command, which may hang: see @ref exec_error.
    child(options const&, inheritance const&);
    ~child();  ///< sends SIGKILL unless the command and its group have ended
    child(child const&) = delete;
    child& operator=(child const&) = delete;

    void signal(int) noexcept override;
    void forward(int) noexcept override;
    void check_children() noexcept override;
    bool has_ended() const noexcept override { return has_ended_; }
    bool was_killed() const noexcept override { return has_ended_ && signal_that_ended_it() == SIGKILL; }
    bool was_stopped() noexcept override;
    bool is_gone() noexcept override;
    void must_end_by(clock::time_point end) noexcept override;
    void suspend_with_command() noexcept override;
    void resume() noexcept override;

    int status() const noexcept;                ///< its exit status, or 128 + the signal that has ended it
    int signal_that_ended_it() const noexcept;  ///< 0: none

    /// Why the command could not be executed, as of ::execvp. Zero: it was executed, or it was killed before. Call it
    /// after the end of the command.
    int exec_error() const noexcept;

    /// Whether Ctrl-C has ended the command while its group was in the foreground: this process got no SIGINT then.
    bool was_interrupted_alone() const noexcept { return was_interrupted_alone_; }

private:
    [[noreturn]] void become(char* const* words, char* const* environment, inheritance const&, options const&,
                             int tell) noexcept;
    static int give(options const&, int tell) noexcept;
    void pass_foreground(pid_t from, pid_t to) noexcept;
    void note_stop(int signal) noexcept;

    pid_t pid_ = -1;
    int tells_ = -1;  ///< the command writes the error of exec; a successful exec closes the other end
    pid_t const our_group_;
    bool const has_group_;
    std::optional<guardian> guardian_{};  ///< until the group is gone
    bool has_terminal_ = false;
    bool has_ended_ = false;
    bool was_stopped_ = false;
    bool got_interrupt_ = false;  // from this process
    bool was_interrupted_alone_ = false;
    bool is_gone_ = false;
    int wait_status_ = 0;
};

}  // namespace redlock::cli
