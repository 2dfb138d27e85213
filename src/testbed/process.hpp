#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::testbed {

struct process_options {
    std::vector<std::string> environment{};  ///< of a program, "NAME=value", on top of ours
    std::string output{};                    ///< the file that takes all it says
    bool piped = false;                      ///< what it says on its standard output is for read()
    bool stopped = false;                    ///< it stands still until resume()
    int when_alone = SIGKILL;                ///< what it gets when the thread that started it has ended
    std::function<bool()> is_over{};  ///< asked when a signal disturbs a wait for it: whether it is to end, by SIGTERM
    std::string name{};               ///< of a function, for the message if it throws
};

/** A process of ours: a program, or a function.

    It is killed with this object, and when the thread that started it ends, even if that is killed.
*/
class process {
public:
    struct ending {
        int status;        ///< as ::waitpid tells it
        int code() const;  ///< its exit status; -1: a signal
        std::string in_words() const;
    };

    /// A program and its arguments, in a process group of its own: Ctrl-C is for us. It ends with 127 if there is no
    /// such program.
    /// @throws std::system_error if there can be no further process; so does the other
    explicit process(std::vector<std::string> words, process_options = {});

    /// A fork that runs a function and ends with what that returns, or with 1 if it throws: we must have no other
    /// thread.
    explicit process(std::function<int()> const& work, process_options = {});

    ~process();  ///< SIGKILL
    process(process&&) noexcept;
    process& operator=(process&&) noexcept;

    pid_t pid() const noexcept { return pid_; }  ///< -1: it has ended, and we know
    void signal(int);
    void pause();   ///< SIGSTOP; returns when it stands still
    void resume();  ///< SIGCONT

    std::optional<ending> ended();  ///< nothing: not yet
    ending wait();

    /// What it says, of a piped one: up to @p last, which is left out, or to the end.
    std::string read(std::optional<char> last = {});

private:
    void start(std::function<void()> const& run);
    void look(int options);
    bool end_if_over();

    process_options options_;
    pid_t pid_ = -1;
    int from_ = -1;
    ending ending_{};
};

/// Runs a program to its end; what it says goes into the file @p output.
/// @throws std::runtime_error with what it said if it fails
void run_program(std::vector<std::string> words, std::string const& output);

}  // namespace redlock::testbed
