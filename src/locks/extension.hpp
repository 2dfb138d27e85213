#pragma once

#include "locks/held_lock.hpp"

namespace redlock::detail {

/// One call of `lock::async_extend`, or one renewal.
class extension final : public shared_operation<extension> {
public:
    /// @p done is empty for a renewal.
    static void start(std::shared_ptr<held_lock>, std::chrono::milliseconds ttl, completion<void(error_code)> done);

    /// What renews a lock.
    static void renew(std::shared_ptr<held_lock> held, std::chrono::milliseconds ttl) { start(std::move(held), ttl, {}); }

    extension(std::shared_ptr<held_lock>, std::chrono::milliseconds ttl, completion<void(error_code)> done);

    void complete(error_code);
    void cancel(asio::cancellation_type) override;
    void stop() override {}  ///< it ends in time
    void abandon() override;

private:
    static task<error_code> ask_nodes(std::shared_ptr<extension>);

    std::shared_ptr<held_lock> const held_;
    std::chrono::milliseconds const ttl_;
    completion<void(error_code)> done_;
    bool const renewal_;
    bool cancelled_ = false;
    std::shared_ptr<round> round_;
};

}  // namespace redlock::detail
