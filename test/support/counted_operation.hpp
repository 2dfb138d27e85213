#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// An operation that counts the calls of its functions command() and withdrawn().
class counted_operation final : public node_operation {
public:
    counted_operation(node_command c, std::string key, std::size_t& looks)
        : keys_{std::move(key)}, command_(c), looks_(looks)
    {
        command_.keys = keys_;
        command_.value = "v";
        command_.ttl = std::chrono::seconds(1);
        not_after = clock::time_point::max();
    }

    node_command const& command() const noexcept override { return ++looks_, command_; }
    bool withdrawn() const noexcept override { return ++looks_, is_withdrawn; }
    void mark_sent(std::uint32_t) noexcept override {}
    std::uint32_t sent_on() const noexcept override { return 0; }
    std::uint32_t unanswered_on() const noexcept override { return 0; }
    void complete(node_reply r) override
    {
        ++answers;
        reply = std::move(r);
    }

    bool is_withdrawn = false;
    std::size_t answers = 0;
    node_reply reply;

private:
    std::vector<std::string> const keys_;
    node_command command_;
    std::size_t& looks_;
};

/// Many operations, and the sum of these calls.
struct counted_operations {
    static constexpr std::size_t count = 10'000;
    static constexpr std::size_t few = 40;  // calls for each operation

    std::shared_ptr<counted_operation> make(node_command c, std::size_t i)
    {
        all.push_back(std::make_shared<counted_operation>(c, "lock:" + std::to_string(i), looks));
        return all.back();
    }

    std::size_t looks = 0;
    std::vector<std::shared_ptr<counted_operation>> all;
};

}  // namespace redlock::test
