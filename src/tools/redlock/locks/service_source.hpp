#pragma once

#include "tools/redlock/locks/lock_source.hpp"
#include "tools/redlock/locks/service_client.hpp"
#include "tools/redlock/args/settings.hpp"

#include <memory>
#include <string>

namespace redlock::cli {

/// A service that asks the nodes. `lock_view::etag` tells it what was seen.
class service_source final : public lock_source {
public:
    /// @param command  for messages, such as "list"
    /// @throws early_exit if a file for TLS cannot be used
    service_source(asio::any_io_executor, settings const&, std::string command);

    /// Waits in several requests, because a service limits the wait of one. If no instance has answered for some
    /// seconds, the acquisition fails.
    asio::awaitable<acquired> ask(how_to_acquire const&) override;

    asio::awaitable<lock_view> look_at(std::string key) override;
    asio::awaitable<std::vector<node_list_info>> list_all(std::string glob,
                                                          std::function<bool(std::vector<lock_view>)> each) override;
    asio::awaitable<deletion> take_away(lock_view const& seen, lock_info meant) override;

private:
    asio::awaitable<service_answer> answer_to(service_request) const;
    acquired take(service_answer const&, how_to_acquire const&) const;
    asio::awaitable<void> freshen(acquired&, service_answer const&, how_to_acquire const&) const;
    [[noreturn]] void refuse(service_answer const&) const;

    std::shared_ptr<service_client> const client_;  ///< its locks use it, too
    std::string const command_;
    double const drift_factor_;
    bool const is_quiet_;
};

}  // namespace redlock::cli
