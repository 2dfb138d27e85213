#pragma once

#include "locks/held_lock.hpp"

namespace redlock::inline v0::detail {

/// One call of `lock::async_extend`, or one renewal.
class extension final : public shared_operation<extension> {
public:
    /// By a handle that has no parts.
    static void start(std::shared_ptr<stake>, std::chrono::milliseconds ttl, error_handler done);

    /// What renews a lock.
    static void renew(std::shared_ptr<held_lock>, std::chrono::milliseconds ttl);

    /// @param by null for a renewal
    extension(std::shared_ptr<held_lock>, std::shared_ptr<stake> by, std::chrono::milliseconds ttl, error_handler done);

    void complete(error_code);
    void cancel(asio::cancellation_type) override;
    void stop() override {}  ///< it ends in time
    void abandon() override;

private:
    static task<error_code> ask_nodes(std::shared_ptr<extension>);
    static void share_again(held_lock&);

    bool is_renewal() const noexcept { return by_ == nullptr; }
    error_code outcome(error_code of_the_lock) const noexcept;

    std::shared_ptr<held_lock> const held_;
    std::shared_ptr<stake> const by_;
    std::chrono::milliseconds const ttl_;
    error_handler done_;
    bool cancelled_ = false;
    std::shared_ptr<round> round_;
};

}  // namespace redlock::detail
