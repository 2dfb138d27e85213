#pragma once

#include "tools/redlock/locks/lock_source.hpp"

#include <redlock/lock_manager.hpp>

#include <string>
#include <utility>

namespace redlock::cli {

/// Locks of a manager.
class node_locks final : public held_locks {
public:
    explicit node_locks(lock l) : lock_(std::move(l)) {}

    lock& get() noexcept { return lock_; }

    std::span<std::string const> resources() const noexcept override { return lock_.resources(); }
    bool held() const noexcept override { return lock_.held(); }
    clock::time_point valid_until() const noexcept override { return lock_.valid_until(); }
    std::string token() const override { return lock_.token(); }
    std::string owner() const override { return words_in(lock_.token()).owner; }
    std::uint64_t fencing_token() const noexcept override { return lock_.fencing_token(); }
    asio::awaitable<error_code> extend(std::chrono::milliseconds ttl) override;
    asio::awaitable<error_code> release() override;
    asio::awaitable<bool> wait_lost() override;

private:
    lock lock_;
};

/// A manager that asks the nodes.
class node_source final : public lock_source {
public:
    /// @param command  for messages, such as "list"
    node_source(lock_manager& locks, std::string command) : locks_(locks), command_(std::move(command)) {}

    asio::awaitable<acquired> ask(how_to_acquire const&) override;
    asio::awaitable<lock_view> look_at(std::string key) override;
    asio::awaitable<std::vector<node_list_info>> list_all(std::string glob,
                                                          std::function<bool(std::vector<lock_view>)> each) override;
    asio::awaitable<deletion> take_away(lock_view const& seen, lock_info meant) override;

private:
    asio::awaitable<deletion> delete_nobodys(lock_info seen);

    lock_manager& locks_;
    std::string const command_;
};

}  // namespace redlock::cli
