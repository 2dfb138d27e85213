#include "tools/redlock/locks/service_source.hpp"

#include "tools/redlock/locks/acquiring.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/locks/looking.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/locks/service_json.hpp"
#include "tools/redlock/locks/service_locks.hpp"
#include "tools/redlock/locks/service_requests.hpp"
#include "core/glob.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto longest_wait = 60'000ms;  // of one request
constexpr auto patience = 15s;           // until a service that has ended must be there again

std::string names_of(how_to_acquire const& how) { return printable(fmt::format("{}", fmt::join(how.keys, ", "))); }

bool refuses_wait(service_answer const& a)
{
    auto const* const detail = a.status == 400 ? a.body.if_contains("detail") : nullptr;
    return detail && detail->is_string() && std::string_view(detail->get_string()).starts_with("wait_ms is ");
}

std::string_view way_out_of(exit_status status)
{
    return status == no_permission ? "; correct the token in the URL, or --password-file" : "";
}

}  // namespace

service_source::service_source(asio::any_io_executor executor, settings const& s, std::string command)
    : client_(std::make_shared<service_client>(std::move(executor), s, command)),
      command_(std::move(command)),
      drift_factor_(s.locks.drift_factor),
      is_quiet_(s.quiet)
{
}

asio::awaitable<acquired> service_source::ask(how_to_acquire const& how)
{
    if (std::ranges::any_of(how.keys, [](auto const& key) { return valid_utf8(key) != key; }))
        throw early_exit(wrong_usage, fmt::format("redlock {}: the names of locks must be valid UTF-8, because a "
                                                  "service gets them as JSON",
                                                  command_));
    auto const begun = clock::now();
    auto const end = how.at_once ? begun : how.is_limited ? begun + how.wait : clock::time_point::max();
    auto slice = longest_wait;
    auto last_heard = clock::time_point::max();  // none: no instance was ever reached
    bool is_told = false;
    asio::steady_timer timer(client_->executor());
    for (;;) {
        auto const left = std::max<clock::duration>(end - clock::now(), 0ns);
        auto const wait = left < slice ? std::chrono::ceil<milliseconds>(left) : slice;
        auto const asked = clock::now();
        auto const answer = co_await client_->ask(service_requests::acquisition(how, wait));
        if (refuses_wait(answer) && slice > 100ms) {
            slice /= 2;
            continue;
        }
        acquired result;
        if (answer.is_good())
            result = take(answer, how);  // without an interruption, so that the locks have an owner
        else
            result.status = status_of(answer);
        if (result.held)
            co_await freshen(result, answer, how);
        auto const now = clock::now();
        if (answer.trouble.empty())
            last_heard = now;
        else if (answer.is_reached)
            last_heard = std::min(last_heard, now);
        bool const may_help = result.status == busy || result.status == no_quorum;
        bool const is_silent = answer.is_of_no_use() && (last_heard > now || now - last_heard > patience);
        if (result.held || !may_help || is_silent || now >= end) {
            if (result.message.empty())
                result.message = fmt::format("redlock {}: {}: {}{}", command_, names_of(how), answer.words(),
                                             way_out_of(status_of(answer)));
            co_return result;
        }
        bool const has_waited = now - asked > 100ms;  // otherwise the service would be asked without a pause
        if (has_waited && (answer.is_good() || answer.is("urn:redlock:busy")))
            continue;
        if (has_waited && !is_quiet_ && !std::exchange(is_told, true))
            say(fmt::format("redlock {}: waiting: {}", command_, answer.words()));
        timer.expires_after(answer.status == 429 ? 1s : 500ms);
        co_await timer.async_wait(runtime::as_result);
    }
}

// The validity counts from the end of the wait, which the service tells. It cannot have waited longer than the answer
// took.
acquired service_source::take(service_answer const& answer, how_to_acquire const& how) const
{
    acquired result;
    try {
        auto told = grant_in(answer.body, how.keys, how.shared ? mode::shared : mode::exclusive, how.ttl);
        auto const taken = std::chrono::floor<milliseconds>(clock::now() - answer.sent);
        service_locks::options about;
        about.id = std::move(told.id);
        about.resources = std::move(told.resources);
        about.mode = how.shared ? mode::shared : mode::exclusive;
        about.fencing_token = told.fencing_token;
        about.ttl = how.ttl;
        about.max_hold = how.max_hold;
        about.sent = answer.sent + std::min(told.waited, taken);
        about.valid_for = told.valid_for;
        about.drift_factor = drift_factor_;
        about.renews = how.renew == renewal::automatic;
        result.held = std::make_shared<service_locks>(client_, std::move(about));
    } catch (wrong_document const& e) {
        client_->give_back(answer);
        result.status = wrong_configuration;
        result.message = fmt::format("redlock {}: {}: {}", command_, answer.from, e.what());
        return result;
    }
    if (how.fencing && result.held->fencing_token() == 0) {
        result.held.reset();
        result.status = wrong_configuration;
        result.message = fmt::format("redlock {}: {} draws no fencing tokens: start the service with --fencing",
                                     command_, answer.from);
    }
    return result;
}

// A command gets a lock that is valid for about its ttl, also if the answer took long.
asio::awaitable<void> service_source::freshen(acquired& result, service_answer const& answer,
                                              how_to_acquire const& how) const
{
    error_code ec;
    if (clock::now() - answer.sent > how.ttl / 6)
        ec = co_await result.held->extend(how.ttl);
    if (!ec && result.held->held())
        co_return;
    result.held.reset();
    result.status = ec == errc::lost ? busy : no_quorum;
    result.message =
        fmt::format("redlock {}: {}: the lock was acquired, but could not be kept", command_, names_of(how));
}

asio::awaitable<lock_view> service_source::look_at(std::string key)
{
    auto const answer = co_await answer_to(service_requests::look(key));
    try {
        auto view = view_of(lock_in(answer.body, key));
        view.etag = answer.etag;
        co_return view;
    } catch (wrong_document const& e) {
        throw early_exit(wrong_configuration, fmt::format("redlock {}: {}: {}", command_, answer.from, e.what()));
    }
}

asio::awaitable<std::vector<node_list_info>> service_source::list_all(std::string glob,
                                                                      std::function<bool(std::vector<lock_view>)> each)
{
    std::vector<node_list_info> nodes;
    std::string from;
    do {
        auto const answer = co_await answer_to(service_requests::page_of(core::literal_head(glob), from));
        try {
            auto page = page_in(answer.body, from);
            from = std::move(page.next);
            std::erase_if(page.locks, [&](auto const& l) { return !core::matches(glob, l.resource); });
            add_errors(nodes, std::move(page.nodes));
            if (!each(views_of(std::move(page.locks))))
                break;
        } catch (wrong_document const& e) {
            throw early_exit(wrong_configuration, fmt::format("redlock {}: {}: {}", command_, answer.from, e.what()));
        }
    } while (!from.empty());
    co_return nodes;
}

asio::awaitable<deletion> service_source::take_away(lock_view const& seen, lock_info meant)
{
    deletion result;
    auto const answer = co_await client_->ask(service_requests::deletion(meant.resource, seen.etag));
    if (answer.status == 404 || answer.status == 412) {
        result.error = errc::not_held;
        for (auto const& n : meant.nodes)
            result.nodes.push_back({.name = n.name});
        co_return result;
    }
    if (!answer.is_good())
        refuse(answer);
    try {
        result.nodes = breaks_in(answer.body, meant.resource);
    } catch (wrong_document const& e) {
        throw early_exit(wrong_configuration, fmt::format("redlock {}: {}: {}", command_, answer.from, e.what()));
    }
    co_return result;
}

asio::awaitable<service_answer> service_source::answer_to(service_request r) const
{
    auto answer = co_await client_->ask(std::move(r));
    if (!answer.is_good())
        refuse(answer);
    co_return answer;
}

void service_source::refuse(service_answer const& a) const
{
    auto const status = status_of(a);
    throw early_exit(status, fmt::format("redlock {}: {}{}", command_, a.words(), way_out_of(status)));
}

}  // namespace redlock::cli
