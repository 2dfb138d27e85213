#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// An operation that owns its keys, and stores its reply.
struct asked_operation final : node_operation {
    explicit asked_operation(node_command command = {}, std::vector<std::string> of = {})
        : c(command), keys(std::move(of))
    {
        c.keys = std::span<std::string const>(keys);
        c.value = "value";
        not_after = clock::time_point::max();
    }

    node_command const& command() const noexcept override { return c; }
    bool withdrawn() const noexcept override { return false; }
    void mark_sent(std::uint32_t n) noexcept override { sent = n; }
    std::uint32_t sent_on() const noexcept override { return sent; }
    std::uint32_t unanswered_on() const noexcept override { return unanswered; }
    void complete(node_reply r) override
    {
        ++answers;
        reply = std::move(r);
    }

    node_command c;
    std::vector<std::string> keys;
    int answers = 0;
    std::uint32_t sent = 0, unanswered = 0;
    node_reply reply;
};

}  // namespace redlock::test
