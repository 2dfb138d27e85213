#include "tools/redlock/doctor/gather.hpp"

#include "tools/redlock/doctor/checks.hpp"
#include "tools/redlock/server/server.hpp"
#include "runtime/as_result.hpp"
#include "runtime/within.hpp"

#include "core/key.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <random>
#include <utility>

namespace redlock::cli::doctor {

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr auto greeting_time = 1s, answer_time = 5s;
constexpr auto time_between_clocks = 1s;
constexpr auto round_trips_time = 1s;
constexpr std::size_t connections_more = 3;
constexpr int databases_max = 100;
constexpr std::size_t round_trips_max = 50, round_trips_min = 5;

// Name resolution, connecting and the TLS handshake may take connect_timeout each.
ask_limits limits_of(redlock::manager_options const& c) { return {3 * c.connect_timeout + greeting_time, answer_time}; }

template <class Clock>
microseconds now()
{
    return std::chrono::duration_cast<microseconds>(Clock::now().time_since_epoch());
}

// Resolves the host of a server, which may have several addresses.
asio::awaitable<std::vector<asio::ip::address>> addresses_of(server_place place, std::chrono::milliseconds limit)
{
    std::vector<asio::ip::address> all;
    if (place.host.empty())
        co_return all;
    asio::ip::tcp::resolver resolver(co_await asio::this_coro::executor);
    auto [ec, places] =
        co_await runtime::within(limit, resolver.async_resolve(place.host, place.port, runtime::as_result));
    for (auto const& p : places)
        all.push_back(p.endpoint().address());
    co_return all;
}

std::vector<std::string> hosts_of(server_place const& place, std::vector<asio::ip::address> const& addresses)
{
    std::vector<std::string> all;
    if (place.host.empty())
        all.emplace_back("this host");
    for (auto const& a : addresses)
        all.push_back(a.is_loopback() ? "this host" : a.to_string());
    return all;
}

// Connects several times, and to each address of the name, because several servers may be behind it.
asio::awaitable<void> meet_again(node_facts& f, std::string url, std::vector<asio::ip::address> addresses,
                                 redlock::manager_options const& c)
{
    std::vector<std::string> urls(connections_more, url);
    auto const after_user = url.rfind('@');
    auto const host_at = url.find(f.place.host, after_user == url.npos ? url.find("//") : after_user);
    for (auto const& a : addresses) {
        auto const host = a.is_v6() ? '[' + a.to_string() + ']' : a.to_string();
        if (addresses.size() > 1 && host_at != url.npos && !f.place.has_tls)  // a certificate is for the name
            urls.push_back(std::string(url).replace(host_at, f.place.host.size(), host));
    }
    for (auto const& again : urls) {
        server s(co_await asio::this_coro::executor, again, c, limits_of(c));
        std::vector<std::string> question{"INFO", "server"};
        f.run_ids.insert((co_await s.ask(std::move(question))).field("run_id"));
    }
    f.run_ids.insert(f.info.field("run_id"));
    f.run_ids.erase("");
}

// Asks for INFO and settings. CONFIG GET of Redis 6 accepts only one name, so there are several questions.
asio::awaitable<void> ask_what_it_is(server& s, node_facts& f)
{
    std::vector<std::vector<std::string>> questions{{"INFO"},
                                                    {"SLOWLOG", "GET", "128"},
                                                    {"PUBSUB", "NUMSUB", "__sentinel__:hello"},
                                                    {"CONFIG", "GET", "*appendfsync*"}};
    for (auto const* name : {"maxclients", "timeout", "slowlog-log-slower-than", "tls-*-file"})
        questions.push_back({"CONFIG", "GET", name});
    auto answers = co_await s.ask_all(std::move(questions));
    f.info = std::move(answers[0]);
    f.slow_log = std::move(answers[1]);
    f.sentinels = std::move(answers[2]);
    f.settings = std::move(answers[3]);
    for (std::size_t i = 4; i < answers.size() && !f.settings.failed(); ++i)
        std::ranges::move(answers[i].elements, std::back_inserter(f.settings.elements));
}

asio::awaitable<void> measure_round_trips(server& s, node_facts& f, std::string key)
{
    auto const end = redlock::clock::now() + round_trips_time;
    std::vector<std::string> const question{"GET", std::move(key)};
    while (f.round_trips.size() < round_trips_max
           && (redlock::clock::now() < end || f.round_trips.size() < round_trips_min)) {
        auto const begun = redlock::clock::now();
        auto const answer = co_await s.ask(question);
        if (answer.what == reply::kind::silence)
            co_return;
        f.round_trips.push_back(std::chrono::duration_cast<microseconds>(redlock::clock::now() - begun));
    }
}

// Asks for the time of the server several times, and keeps the fastest answer, which is the most exact one.
asio::awaitable<std::optional<clock_reading>> read_clock(server& s, node_facts& f)
{
    std::optional<clock_reading> best;
    for (int i = 0; i < 3; ++i) {
        auto const ours = now<std::chrono::system_clock>(), running = now<redlock::clock>();
        std::vector<std::string> question;
        question.emplace_back("TIME");
        f.time = co_await s.ask(std::move(question));
        auto const error = (now<redlock::clock>() - running) / 2;
        if (f.time.elements.size() != 2 || !f.time.elements[0].number() || !f.time.elements[1].number())
            co_return std::nullopt;
        auto const theirs = std::chrono::seconds(*f.time.elements[0].number())
                            + microseconds(*f.time.elements[1].number());
        if (!best || error < best->error)
            best = {.theirs = theirs, .ours = ours + error, .running = running + error, .error = error};
    }
    co_return best;
}

// Tests the permissions. If SET fails, the other commands are not tested: only a key with a string stops them from
// writing.
asio::awaitable<void> try_permissions(server& s, node_facts& f, demands const& d)
{
    std::random_device random;
    // Random, because the user may have named the probe like an existing lock.
    auto const key = fmt::format("{}{}:trial:{:08x}{:08x}", d.prefix, d.probe, random(), random());
    std::vector<std::vector<std::string>> questions;
    std::vector<std::string> names;
    for (auto const& p : permissions()) {
        if (!p.is_needed(d.used) || p.trial.empty())
            continue;
        auto question = p.question(key);
        if (p.name == "set") {
            auto answer = co_await s.ask(std::move(question));
            bool const failed = answer.failed();
            f.trials.emplace_back(p.name, std::move(answer));
            if (failed)
                co_return;
            continue;
        }
        questions.push_back(std::move(question));
        names.emplace_back(p.name);
    }
    auto answers = co_await s.ask_all(std::move(questions));
    for (std::size_t i = 0; i < answers.size(); ++i)
        f.trials.emplace_back(std::move(names[i]), std::move(answers[i]));
}

// Finds the other databases in which clients with this prefix have left their settings within the last hour.
asio::awaitable<void> look_at_databases(server& s, node_facts& f, demands const& d)
{
    std::vector<std::vector<std::string>> questions;
    std::vector<int> numbers;
    for (int n = 0; n < databases_max; ++n) {
        if (n == f.place.database || f.info.field(fmt::format("db{}", n)).empty())
            continue;
        numbers.push_back(n);
        questions.push_back({"SELECT", std::to_string(n)});
        questions.push_back({"GET", core::settings_key(d.prefix)});
    }
    if (numbers.empty())
        co_return;
    std::vector<std::string> first = questions.front();
    if (auto const may = co_await s.ask(std::move(first)); may.failed())  // each refusal leaves a line in the ACL LOG
        co_return;
    questions.push_back({"SELECT", std::to_string(f.place.database)});
    auto const answers = co_await s.ask_all(std::move(questions));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (!answers[2 * i].failed() && answers[2 * i + 1].what == reply::kind::text)
            f.other_databases.push_back(numbers[i]);
    }
}

asio::awaitable<void> look_at_server(server& s, node_facts& f, std::string const& url,
                                     redlock::manager_options const& c, demands const& d)
{
    std::vector<std::string> greeting{"HELLO", "3"};
    f.hello = co_await s.ask(std::move(greeting));
    if (f.hello.failed())
        co_return;
    f.first_time = co_await read_clock(s, f);
    asio::steady_timer second_look(co_await asio::this_coro::executor, time_between_clocks);
    co_await ask_what_it_is(s, f);
    if (f.hello.field("mode") == "sentinel") {
        std::vector<std::string> question{"SENTINEL", "MASTERS"};
        f.services = co_await s.ask(std::move(question));
    }
    std::vector<std::string> settings_of_clients{"GET", core::settings_key(d.prefix)};
    f.clients = co_await s.ask(std::move(settings_of_clients));
    co_await look_at_databases(s, f, d);
    co_await measure_round_trips(s, f, d.prefix + d.probe);
    co_await try_permissions(s, f, d);
    f.keys = co_await look_at_keys(s, f, d);
    f.probe = co_await probe(url, c, d);
    if (auto counters = delete_counters(d); !counters.empty())
        co_await s.ask_all(std::move(counters));
    if (d.compares_clocks)
        co_await second_look.async_wait(runtime::as_result);
    f.last_time = co_await read_clock(s, f);
}

asio::awaitable<bool> may_change_users(server& s, std::string user)
{
    std::vector<std::string> question{"ACL", "GETUSER", std::move(user)};
    auto const answer = co_await s.ask(std::move(question));
    co_return !answer.failed();
}

// Finds a user who may change users: the user of the address, or the default user if it needs no password. Call it only
// if a line to run needs it, because a refusal adds a line to ACL LOG.
asio::awaitable<std::optional<server_user>> find_administrator(server& s, server_place const& place,
                                                               redlock::manager_options const& c)
{
    if (co_await may_change_users(s, place.user))
        co_return server_user{place.user, place.password};
    if (place.password.empty())
        co_return std::nullopt;
    server anonymous(co_await asio::this_coro::executor, s.name(), c, limits_of(c));
    if (co_await may_change_users(anonymous, server_user().name))
        co_return server_user();
    co_return std::nullopt;
}

// Whether the server answers with TLS if the address has none, or the reverse. It sends no password, because others may
// read an unencrypted connection.
asio::awaitable<bool> speaks_other_transport(server_place const& place, redlock::manager_options const& c)
{
    if (!place.socket.empty())
        co_return false;
    auto other = place;
    other.has_tls = !place.has_tls;
    other.user = server_user().name;
    redlock::manager_options untouched;
    untouched.connect_timeout = c.connect_timeout;
    if (other.has_tls)
        co_return (co_await certificate_of(other.url(), untouched)).unread.empty();
    server plain(co_await asio::this_coro::executor, other.url(), untouched,
                 {limits_of(untouched).connect, greeting_time});
    std::vector<std::string> question;
    question.emplace_back("PING");
    auto const answer = co_await plain.ask(std::move(question));
    co_return answer.what != reply::kind::silence;
}

asio::awaitable<node_facts> gather(std::string url, std::string password, redlock::manager_options c, demands d)
{
    node_facts f{.name = name_of(url), .is_server = is_server(url)};
    if (!f.is_server) {
        f.probe = co_await probe(url, c, d);
        co_return f;
    }
    f.place = place_of(url, c.tls);
    if (!password.empty())
        f.place.password = std::move(password);
    d.used.database = f.place.database != 0;
    server s(co_await asio::this_coro::executor, url, c, limits_of(c));
    auto const addresses = co_await addresses_of(f.place, c.connect_timeout);
    f.addresses = hosts_of(f.place, addresses);
    if (f.place.has_tls)
        f.certificate = co_await certificate_of(url, c);
    co_await look_at_server(s, f, url, c, d);
    if (f.hello.what == reply::kind::silence)
        f.is_other_transport = co_await speaks_other_transport(f.place, c);
    else if (needs_administrator(f, d))
        f.place.administrator = co_await find_administrator(s, f.place, c);
    if (!f.info.failed())
        co_await meet_again(f, url, addresses, c);
    co_return f;
}

// The list of all locks costs a question for each, so it is read only if somebody may wait.
bool may_have_waiters(node_facts const& f) { return !f.is_server || f.keys.wanted > 0 || !f.keys.is_all; }

}  // namespace

asio::awaitable<set_facts> gather_all(redlock::manager_options c, demands d)
{
    auto const executor = co_await asio::this_coro::executor;
    auto const start = [&](std::size_t i) {
        return asio::co_spawn(executor, gather(c.nodes[i], d.call.nodes[i].password, c, d), asio::deferred);
    };
    std::vector<decltype(start(0))> looks;
    for (std::size_t i = 0; i < c.nodes.size(); ++i)
        looks.push_back(start(i));
    auto [order, thrown, facts] = co_await asio::experimental::make_parallel_group(std::move(looks))
                                      .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    for (auto const& e : thrown) {
        if (e)
            std::rethrow_exception(e);
    }
    auto votes = co_await ask_for_votes(c, d);
    for (std::size_t i = 0; i < facts.size(); ++i)
        facts[i].vote = std::move(votes[i]);
    set_facts all(std::move(facts));
    if (std::ranges::any_of(all, may_have_waiters))
        all.waits = co_await ask_for_waits(c, d);
    co_return all;
}

}  // namespace redlock::cli::doctor
