#include "tools/serve/held_time.hpp"

#include "core/key.hpp"
#include "core/quorum.hpp"
#include "core/validity.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace redlock::serve {

namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr std::size_t readers_max = 64;  // which an inspection lists

struct hold {
    error_code ec{};
    std::optional<milliseconds> left{};
};

// Nodes that have not answered may hold the lock, too.
hold of_counts(std::size_t ours, std::size_t unknown, std::size_t needed)
{
    return {ours >= needed ? error_code() : ours + unknown >= needed ? errc::no_quorum : errc::not_held};
}

hold exclusive_hold(lock_info const& l, std::string_view token)
{
    std::vector<milliseconds> left;
    std::size_t unknown = 0;
    for (auto const& n : l.nodes) {
        unknown += n.error ? 1 : 0;
        if (n.locked && n.value == token)
            left.push_back(std::max(n.remaining, milliseconds(0)));
    }
    auto const needed = core::majority(l.nodes.size());
    auto is = of_counts(left.size(), unknown, needed);
    if (!is.ec) {
        std::ranges::sort(left, std::greater<>());
        is.left = left[needed - 1];
    }
    return is;
}

hold shared_hold(lock_info const& l, std::string_view token)
{
    auto const unknown = std::ranges::count_if(l.nodes, [](auto& n) { return n.error.failed(); });
    auto const reader = std::ranges::find(l.readers, token, &reader_info::value);
    if (reader == l.readers.end() && l.readers.size() >= readers_max)
        return {};
    return of_counts(reader == l.readers.end() ? 0 : reader->nodes, static_cast<std::size_t>(unknown),
                     core::majority(l.nodes.size()));
}

}  // namespace

asio::awaitable<std::pair<error_code, std::optional<clock::time_point>>> held_until(lock_manager& locks, lock_ticket t,
                                                                                    double drift_factor)
{
    using operation = decltype(locks.async_inspect(std::string(), asio::deferred));
    std::vector<operation> questions;
    for (auto const& name : t.resources)
        questions.push_back(locks.async_inspect(name, asio::deferred));
    auto const asked = clock::now();
    auto const [order, failures, seen] = co_await asio::experimental::make_parallel_group(std::move(questions))
                                             .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    std::optional<milliseconds> left;
    error_code ec;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        auto const is = failures[i]              ? hold{.ec = failures[i]}
                        : t.mode == mode::shared ? shared_hold(seen[i], t.token)
                                                 : exclusive_hold(seen[i], t.token);
        if (is.ec && ec != errc::not_held)
            ec = is.ec;
        if (is.left)
            left = std::min(*is.left, left.value_or(*is.left));
    }
    if (ec || !left)
        co_return std::pair(ec, std::optional<clock::time_point>());
    co_return std::pair(ec, std::optional(core::valid_until(asked, *left, drift_factor)));
}

asio::awaitable<bool> has_request(lock_manager& locks, std::string resource, std::vector<std::uint64_t> requests)
{
    auto const [ec, seen] = co_await locks.async_inspect(std::move(resource), runtime::as_result);
    auto const is_one = [&](std::string_view value) {
        return std::ranges::any_of(requests, [&](auto request) {
            auto const digits = core::in_hex(request);
            return value.starts_with(std::string_view(digits.data(), digits.size()));
        });
    };
    co_return std::ranges::any_of(seen.nodes, [&](auto& n) { return n.locked && is_one(n.value); })
        || std::ranges::any_of(seen.readers, [&](auto& r) { return is_one(r.value); });
}

}  // namespace redlock::serve
