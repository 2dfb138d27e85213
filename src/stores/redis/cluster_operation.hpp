#pragma once

#include <redlock/node.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace redlock::stores::redis {

/// Packs the number of a member and the number of a connection of that member into one number.
struct member_connection {
    static constexpr unsigned bits = 22;
    static constexpr std::uint32_t own_max = (1u << bits) - 1, member_max = (1u << (32 - bits)) - 1;

    std::uint32_t member;  ///< not 0
    std::uint32_t own;

    static member_connection of(std::uint32_t number) noexcept { return {number >> bits, number & own_max}; }
    std::uint32_t number() const noexcept { return member << bits | (own & own_max); }

    /// The next number after @p latest that no member has. The numbers of earlier members are used again. 0: none is
    /// left.
    template <class IsUsed>
    static std::uint32_t free_member(std::uint32_t latest, IsUsed is_used)
    {
        auto n = latest;
        for (std::uint32_t tries = 0; tries < member_max; ++tries) {
            n = n % member_max + 1;
            if (!is_used(n))
                return n;
        }
        return 0;
    }
};

/// An operation that is sent to a member, and to another member if the first one redirects it.
class cluster_operation final : public node_operation, public std::enable_shared_from_this<cluster_operation> {
public:
    /// Called with each reply of a member.
    using outcome = std::function<void(std::shared_ptr<cluster_operation>, node_reply)>;

    cluster_operation(std::shared_ptr<node_operation> o, outcome then)
        : operation_(std::move(o)), then_(std::move(then))
    {
        not_after = operation_->not_after;
    }

    void go_to(std::uint32_t m) noexcept
    {
        member = m;
        ++attempts;
    }

    node_command const& command() const noexcept override { return operation_->command(); }
    bool withdrawn() const noexcept override { return operation_->withdrawn(); }
    void mark_sent(std::uint32_t own) noexcept override
    {
        operation_->mark_sent(member_connection{member, own}.number());
    }
    std::uint32_t sent_on() const noexcept override { return member_connection::of(operation_->sent_on()).own; }

    // A request that is unanswered on another member's connection is not unanswered on any connection of this member.
    std::uint32_t unanswered_on() const noexcept override
    {
        auto const on = member_connection::of(operation_->unanswered_on());
        return on.member == 0 || on.member == member ? on.own : elsewhere;
    }

    void complete(node_reply r) override { then_(shared_from_this(), std::move(r)); }

    /// Completes the operation that this one wraps.
    void finish(node_reply r) { operation_->complete(std::move(r)); }

    std::uint32_t member = 0;
    unsigned attempts = 0;

private:
    static constexpr std::uint32_t elsewhere = 0xffff'ffff;

    std::shared_ptr<node_operation> const operation_;
    outcome const then_;
};

}  // namespace redlock::stores::redis
