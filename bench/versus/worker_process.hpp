#pragma once

#include "bed/process.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace redlock::bench {

/// A running worker program, see bench/versus/peers.hpp.
class worker_process {
public:
    /// @param log  a file for its standard error
    worker_process(std::vector<std::string> command, std::string log);

    pid_t pid() const noexcept { return process_.pid(); }

    /// Its standard output, for ::poll; -1: it has ended.
    int output() const noexcept { return ended_ ? -1 : process_.output(); }

    /// Reads its output, which must be readable. Returns the complete lines.
    std::vector<std::string> read_lines();

    /// If the worker has ended, its output tells.
    void write(std::string_view line) { process_.write(std::string(line) + '\n'); }

    void close_input() { process_.close_input(); }
    void kill();
    void pause() { process_.pause(); }
    void resume() { process_.resume(); }

    bool ended() const noexcept { return ended_; }  ///< its output has ended
    bool has_exited() { return process_.ended().has_value(); }

    /// The last line of its standard error, which says why it failed.
    std::string last_error() const;

    /// How it ended, and its last error.
    std::string last_words();

private:
    std::string log_;
    testbed::process process_;
    std::string begun_;  ///< an incomplete line
    bool ended_ = false;
};

}  // namespace redlock::bench
