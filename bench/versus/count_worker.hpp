#pragma once

#include "testbed/process.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::versus {

/// A worker program in mode `count`, see bench/versus/peers.hpp.
class count_worker {
public:
    /// @param log  a file for its standard error
    count_worker(std::vector<std::string> command, std::string log);

    /// Its standard output, for ::poll; -1: it has ended.
    int output() const noexcept { return ended_ ? -1 : process_.output(); }

    /// Reads its output, which must be readable. Returns the complete lines.
    std::vector<std::string> read_lines();

    void write(std::string_view line);
    void kill();
    void pause() { process_.pause(); }
    void resume() { process_.resume(); }

    bool ended() const noexcept { return ended_; }

    /// How it ended, and the end of its standard error.
    std::string last_words();

private:
    std::string log_;
    testbed::process process_;
    std::string begun_;  ///< an incomplete line
    bool ended_ = false;
};

}  // namespace redlock::versus
