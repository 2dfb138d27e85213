#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace redlock::testbed {

struct process_options {
    std::vector<std::string> environment{};  ///< "NAME=value", added to ours; only for programs
    std::string output{};                    ///< a file for its standard output and error
    bool piped = false;                      ///< read() returns its standard output
    bool fed = false;                        ///< write() fills its standard input
    bool stopped = false;                    ///< it is stopped until resume()
    int when_alone = SIGKILL;                ///< signal when the thread that started it ends
    std::function<bool()> is_over{};         ///< asked if a signal interrupts a wait; true: end it by SIGTERM
    std::string name{};                      ///< for the message if the function throws; only for functions
};

/** A child process that runs a program or a function.

    The destructor kills it. The kernel kills it when the thread that started it ends, even if that is killed.
*/
class process {
public:
    struct ending {
        int status;        ///< of ::waitpid
        int code() const;  ///< exit status; -1: a signal ended it
        std::string in_words() const;
    };

    /// Runs a program with its arguments in a process group of its own, so Ctrl-C reaches only us. The exit status is
    /// 127 if there is no such program.
    /// @throws std::system_error if the system refuses another process; the other constructor, too
    explicit process(std::vector<std::string> words, process_options = {});

    /// Forks, and runs a function; its result is the exit status, which is 1 if it throws. The caller must have no
    /// other thread.
    explicit process(std::function<int()> const& work, process_options = {});

    /// Lets SIGHUP, SIGINT and SIGQUIT end this process and the program that it executes. A script that starts us in
    /// the background ignores SIGINT and SIGQUIT, nohup(1) ignores SIGHUP, and children inherit that. A process calls
    /// this before it executes a program.
    static void default_signals() noexcept;

    /// Whether this process runs a function for the other constructor. It ends without destroying static objects.
    static bool forked() noexcept;

    ~process();  ///< SIGKILL
    process(process&&) noexcept;
    process& operator=(process&&) noexcept;

    pid_t pid() const noexcept { return pid_; }  ///< -1: a call has found that it has ended
    void signal(int);
    void pause();   ///< SIGSTOP; returns when it is stopped
    void resume();  ///< SIGCONT

    std::optional<ending> ended();  ///< nothing: it is running
    ending wait();

    /// If `piped`, reads its output up to @p last, which is left out, or to the end.
    std::string read(std::optional<char> last = {});

    /// If `piped`: its standard output, to be waited for. read() with a last character leaves nothing in a buffer.
    int output() const noexcept { return from_; }

    /// If `fed`, writes to its standard input. @return false if it no longer reads it
    bool write(std::string_view);
    void close_input();

private:
    void start(std::function<void()> const& run);
    void check_exit(int options);
    bool end_if_over();

    process_options options_;
    pid_t pid_ = -1;
    int from_ = -1;
    int to_ = -1;
    ending ending_{};
};

/// Runs a program to its end, with its output in the file @p output.
/// @throws std::runtime_error with its output if it fails
void run_program(std::vector<std::string> words, std::string const& output);

}  // namespace redlock::testbed
