// redlock serve under faults: instances and clients that are killed or paused, and clients that misbehave.

#include "cli/event_reader.hpp"
#include "cli/running_service.hpp"
#include "support/long_proof.hpp"
#include "bed/proxy.hpp"

#include <boost/asio/read.hpp>

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <list>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(serve_proof)

namespace {

// The node_timeout of the services is 3 s, and max_ttl is a minute. Acquisitions wait for half a minute, so they
// succeed only if a lock with the long TTL is released.
constexpr int short_ttl_ms = 4000, minute_ms = 60'000;

std::string body_for(std::string const& name, int ttl_ms, int wait_ms, std::string const& session = {})
{
    return fmt::format(R"({{"resources":["{}"],"ttl_ms":{},"wait_ms":{}{}}})", name, ttl_ms, wait_ms,
                       session.empty() ? "" : R"(,"session":")" + session + '"');
}

http_answer take(service const& s, std::string const& name, int ttl_ms, std::string const& session = {})
{
    auto won = s.acquire(body_for(name, ttl_ms, 30'000, session));
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    return won;
}

std::uint16_t port_of(service const& s)
{
    return static_cast<std::uint16_t>(std::stoi(s.url().substr(s.url().rfind(':') + 1)));
}

std::string path_of(http_answer const& won) { return "/v1/held/" + won.text("id"); }

/// A number that only a lock protects, and what its clients have seen.
struct guarded_number {
    std::atomic<long> value{0}, written{0};
    std::atomic<std::int64_t> last_token{0};
    std::atomic<long> old_tokens{0};
    std::atomic<long> late{0};  ///< writes that may have been after the end of the validity, because the client paused
};

// Increments the number under its lock, once. It stops if the validity is over, counted as docs/serve.md says.
void increment(http_connection& to, std::string const& name, guarded_number& n)
{
    auto const sent = clock::now();
    auto const won = to.ask(verb::post, "/v1/locks", body_for(name, 5000, 2000));
    if (won.status != 201)
        return;
    auto const end = sent + std::chrono::milliseconds(won.number("waited_ms") + won.number("valid_for_ms"));
    auto const token = won.number("fencing_token");
    if (clock::now() < end) {
        n.old_tokens += n.last_token.exchange(token) >= token;
        auto const read = n.value.load();
        std::this_thread::sleep_for(1ms);
        if (clock::now() < end) {
            n.value = read + 1;
            ++n.written;
        }
        n.late += clock::now() >= end;
    }
    to.ask(verb::delete_, path_of(won));
}

/// Two instances with addresses that stay the same when they are restarted, on five nodes.
struct two_restarting {
    two_restarting()
    {
        for (auto const* name : {"/one", "/two"}) {
            paths.push_back(folder.path + name);
            instances.push_back(start(paths.back()));
        }
    }

    std::unique_ptr<service> start(std::string const& path)
    {
        return std::make_unique<service>(r, std::vector<std::string>{"--fencing"}, "unix:" + path);
    }

    void kill_and_restart(std::size_t i)
    {
        instances[i]->tool().process().signal(SIGKILL);
        instances[i]->tool().wait();
        instances[i] = start(paths[i]);
    }

    real_servers r{5};
    testbed::temporary_folder folder;
    std::vector<std::string> paths;
    std::vector<std::unique_ptr<service>> instances;
};

/// Two instances, and a network to the first one that a test can cut.
struct behind_a_proxy {
    behind_a_proxy() { network->start(); }

    asio::ip::tcp::endpoint way_to_one() const { return {asio::ip::address_v4::loopback(), network->port(0)}; }

    real_servers r{3};
    service one{r}, two{r};
    std::unique_ptr<testbed::proxy> network =
        std::make_unique<testbed::proxy>(std::vector<testbed::proxy::target>{{port_of(one)}});
};

/// Clients that increment numbers, each request on any of the instances.
class counting_clients {
public:
    counting_clients(std::vector<std::string> paths, std::size_t count) : paths_(std::move(paths))
    {
        for (std::size_t i = 0; i < count; ++i)
            threads_.emplace_back([this, i] { run(i); });
    }
    ~counting_clients() { over_ = true; }

    void end()
    {
        over_ = true;
        threads_.clear();
    }

    std::vector<guarded_number> numbers{3};

private:
    void run(std::size_t i)
    {
        std::minstd_rand random(static_cast<unsigned>(i) + 1);
        while (!over_) {
            try {
                asio::local::stream_protocol::endpoint const any(paths_[random() % paths_.size()]);
                http_connection to(any);
                for (int n = 0; n < 5 && !over_; ++n) {
                    auto const which = random() % numbers.size();
                    increment(to, fmt::format("number-{}", which), numbers[which]);
                }
            } catch (std::exception const&) {  // the instance was killed
                std::this_thread::sleep_for(1ms);
            }
        }
    }

    std::vector<std::string> const paths_;
    std::atomic<bool> over_{false};
    std::list<std::jthread> threads_;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_on_instances_that_are_killed_loses_no_increment, two_restarting)
{
    counting_clients clients(paths, 8);
    auto const all_grow = [&] {
        std::vector<long> before;
        for (auto const& n : clients.numbers)
            before.push_back(n.written);
        return comes_true([&] {
            for (std::size_t i = 0; i < before.size(); ++i) {
                if (clients.numbers[i].written < before[i] + 5)
                    return false;
            }
            return true;
        });
    };
    BOOST_TEST_REQUIRE(all_grow());
    int const kills = pick(3, 40);
    for (int i = 0; i < kills; ++i) {
        kill_and_restart(static_cast<std::size_t>(i % 2));
        BOOST_TEST_REQUIRE(all_grow());
    }
    clients.end();
    long written = 0;
    for (auto const& n : clients.numbers) {
        written += n.written;
        if (n.late > 0) {
            BOOST_TEST_MESSAGE("a client paused for longer than a validity, so the number proves nothing");
            continue;
        }
        BOOST_TEST(n.value == n.written);
        BOOST_TEST(n.old_tokens == 0);
    }
    BOOST_TEST_MESSAGE(kills << " kills, " << written << " increments");
}

BOOST_FIXTURE_TEST_CASE(acquire_while_another_instance_is_paused_past_the_ttl_succeeds, two_restarting)
{
    auto &one = *instances[0], &two = *instances[1];
    auto const won = take(one, "a", short_ttl_ms);
    one.tool().process().pause();

    auto const next = take(two, "a", minute_ms);
    one.tool().process().resume();

    BOOST_TEST(next.number("fencing_token") > won.number("fencing_token"));
    BOOST_TEST(one.ask(verb::patch, path_of(won)).status == 404u);
    BOOST_TEST(one.ask(verb::delete_, path_of(won)).status == 404u);
    BOOST_TEST(one.ask(verb::patch, path_of(next)).status == 200u);
}

BOOST_FIXTURE_TEST_CASE(acquire_on_an_instance_that_is_paused_gives_up_when_the_client_goes, two_restarting)
{
    auto &one = *instances[0], &two = *instances[1];
    one.tool().process().pause();
    {
        auto goes = one.connect();  // the kernel accepts the connection and the request
        goes.send(verb::post, "/v1/locks", body_for("a", minute_ms, 0));
    }
    one.tool().process().resume();

    BOOST_TEST(one.ask(verb::get, "/healthz").status == 200u);
    take(two, "a", minute_ms);  // the TTL of the first one would be over later
}

BOOST_FIXTURE_TEST_CASE(release_by_a_client_that_was_paused_past_the_ttl_returns_404, two_restarting)
{
    auto &one = *instances[0], &two = *instances[1];
    auto const won = take(one, "a", short_ttl_ms);  // this client now does nothing until another one has the lock
    auto const next = take(two, "a", minute_ms);

    BOOST_TEST(one.ask(verb::delete_, path_of(won)).status == 404u);
    BOOST_TEST(two.ask(verb::patch, path_of(won)).status == 404u);
    BOOST_TEST(next.number("fencing_token") > won.number("fencing_token"));
    BOOST_TEST(one.ask(verb::delete_, path_of(next)).status == 204u);
}

BOOST_FIXTURE_TEST_CASE(session_of_an_instance_that_was_paused_past_the_ttl_is_told, two_restarting)
{
    auto &one = *instances[0], &two = *instances[1];
    event_reader stream(one);
    auto const won = take(one, "a", short_ttl_ms, stream.session());
    one.tool().process().pause();
    auto const next = take(two, "a", minute_ms);
    one.tool().process().resume();

    BOOST_TEST(stream.next("lost").at("id").as_string() == won.text("id"));
    BOOST_TEST(one.ask(verb::patch, path_of(won)).status == 404u);
    BOOST_TEST(next.number("fencing_token") > won.number("fencing_token"));
}

// The client stops at the end of the validity that the stream has told last. Then nobody else has the lock yet,
// whatever the network has delayed, and although the instance told nothing before it stood still.
BOOST_FIXTURE_TEST_CASE(session_tells_a_validity_that_ends_before_the_next_holder, two_restarting)
{
    auto &one = *instances[0], &two = *instances[1];
    auto const opened = clock::now();
    event_reader stream(one);
    auto const won = take(one, "a", short_ttl_ms, stream.session());
    std::this_thread::sleep_for(std::chrono::milliseconds(short_ttl_ms));
    std::int64_t until_ms = 0;
    for (int i = 0; i < 2; ++i) {  // the delayed events come in a burst
        auto const valid = stream.next("valid");
        BOOST_TEST(valid.at("id").as_string() == won.text("id"));
        BOOST_TEST(valid.at("valid_until_ms").as_int64() > until_ms);
        until_ms = valid.at("valid_until_ms").as_int64();
    }
    one.tool().process().pause();
    auto const next = take(two, "a", minute_ms);
    auto const taken = clock::now();
    one.tool().process().resume();

    BOOST_TEST((opened + std::chrono::milliseconds(until_ms) < taken));
    auto const lost = stream.next("lost");
    BOOST_TEST((opened + std::chrono::milliseconds(lost.at("valid_until_ms").as_int64()) < taken));
    BOOST_TEST(next.number("fencing_token") > won.number("fencing_token"));
}

BOOST_FIXTURE_TEST_CASE(session_that_is_opened_again_tells_the_validity_anew, two_restarting)
{
    auto& one = *instances[0];
    auto stream = std::make_unique<event_reader>(one);
    take(one, "a", minute_ms, stream->session());
    auto const first = one.ask(verb::get, "/v1/sessions/" + stream->last_id.substr(0, stream->last_id.rfind('.')));
    auto const opened = clock::now();
    event_reader again(one, "", {{"Last-Event-ID", stream->last_id}});
    auto const valid = again.next("valid");
    auto const left = first.json().at("locks").at(0).at("valid_for_ms").as_int64();
    BOOST_TEST(valid.at("valid_until_ms").as_int64() <= left + 5000);
    BOOST_TEST(valid.at("valid_until_ms").as_int64() > 0);
    BOOST_TEST((clock::now() - opened < std::chrono::minutes(1)));
    BOOST_TEST(!has(stream->rest(), "event: lost"));  // the stream before has ended, and the lock is kept
    BOOST_TEST(one.acquire(body_for("a", minute_ms, 0)).status == 409u);
}

// The client moves its lock while the first instance stands still. When that one goes on, its session has lost the
// lock, and must not release the key: it is that of the second session.
BOOST_FIXTURE_TEST_CASE(session_that_was_moved_keeps_its_lock_when_the_first_goes_on, two_restarting)
{
    auto &one = *instances[0], &two = *instances[1];
    event_reader stream(one, R"({"grace_ms":60000})"), next(two, R"({"grace_ms":60000})");
    auto const won = take(one, "a", short_ttl_ms, stream.session());
    one.tool().process().pause();
    auto const body = fmt::format(R"({{"ttl_ms":{},"session":"{}"}})", minute_ms, next.session());
    auto const moved = two.ask(verb::patch, path_of(won), body);
    BOOST_TEST_REQUIRE(moved.status == 200u, moved.body);
    std::this_thread::sleep_for(std::chrono::milliseconds(short_ttl_ms + 500));
    one.tool().process().resume();

    BOOST_TEST(stream.next("lost").at("id").as_string() == won.text("id"));
    for (int i = 0; i < 10; ++i) {
        BOOST_TEST(two.acquire(body_for("a", minute_ms, 100)).status == 409u);
        BOOST_TEST(one.ask(verb::get, "/v1/locks/a").json().at("locked").as_bool());
    }
    for (auto const* const instance : {&one, &two})
        BOOST_TEST(instance->ask(verb::delete_, path_of(won)).status == 404u);  // a late request
    BOOST_TEST(two.ask(verb::delete_, path_of(moved)).status == 204u);
}

BOOST_FIXTURE_TEST_CASE(session_of_an_instance_that_was_killed_moves_to_another, two_restarting)
{
    auto &one = *instances[0], &two = *instances[1];
    event_reader stream(one);
    auto const won = take(one, "a", minute_ms, stream.session());
    one.tool().process().signal(SIGKILL);
    BOOST_TEST(!has(stream.rest(), "event: lost"));

    event_reader next(two);
    auto const body = fmt::format(R"({{"ttl_ms":{},"session":"{}"}})", minute_ms, next.session());
    BOOST_TEST(two.ask(verb::patch, path_of(won), body).status == 200u);
    BOOST_TEST(two.acquire(body_for("a", minute_ms, 0)).status == 409u);
}

BOOST_FIXTURE_TEST_CASE(session_whose_stream_is_cut_releases_its_locks, behind_a_proxy)
{
    event_reader stream(way_to_one());
    take(one, "a", minute_ms, stream.session());
    BOOST_TEST(two.acquire(body_for("a", minute_ms, 0)).status == 409u);

    network.reset();

    take(two, "a", minute_ms);
}

BOOST_FIXTURE_TEST_CASE(session_with_a_grace_keeps_its_locks_when_its_stream_is_cut, behind_a_proxy)
{
    auto stream = std::make_unique<event_reader>(way_to_one(), R"({"grace_ms":60000})");
    auto const session = stream->session();
    take(one, "a", minute_ms, session);

    network.reset();

    BOOST_TEST(two.acquire(body_for("a", minute_ms, 0)).status == 409u);
    event_reader again(one, "", {{"Last-Event-ID", stream->last_id}});
    BOOST_TEST(has(again.head(), " 200 "));
    BOOST_TEST(two.acquire(body_for("a", minute_ms, 0)).status == 409u);
    BOOST_TEST(one.ask(verb::delete_, "/v1/sessions/" + session).status == 204u);
    take(two, "a", minute_ms);
}

BOOST_AUTO_TEST_CASE(acquire_without_end_returns_429_until_locks_have_expired)
{
    real_servers r(1);
    service const s(r, {"--max-locks", "20"});
    auto const acquire = [&](std::string const& name, int ttl_ms) { return s.acquire(body_for(name, ttl_ms, 0)); };
    BOOST_TEST(acquire("brief", short_ttl_ms).status == 201u);
    for (int i = 0; i < 19; ++i)
        BOOST_TEST(acquire(fmt::format("a{}", i), minute_ms).status == 201u);
    BOOST_TEST(comes_true([&] { return acquire("b", minute_ms).status == 201; }));

    auto const refused = acquire("c", minute_ms);
    BOOST_TEST(refused.status == 429u);
    BOOST_TEST(refused.text("type") == "urn:redlock:too-many-locks");
    BOOST_TEST(has(refused.text("detail"), "may have 20 locks at a time"), refused.body);
    BOOST_TEST(has(refused.text("detail"), "--max-locks"), refused.body);
}

BOOST_AUTO_TEST_CASE(acquire_beside_slow_connections_succeeds)
{
    real_servers r(1);
    service const s(r);
    std::list<http_connection> slow;
    for (int i = 0; i < 300; ++i)
        slow.emplace_back(s.endpoint());
    std::string const header = "POST /v1/locks HTTP/1.1\r\nContent-Length: 20\r\n\r\n";
    std::size_t sent = 0;
    for (auto& c : slow)
        c.send_bytes(header.substr(0, sent++ % header.size()));  // each stops at another byte
    for (int i = 0; i < 20; ++i) {
        auto const won = take(s, "a", minute_ms);
        BOOST_TEST(s.ask(verb::delete_, path_of(won)).status == 204u);
        for (auto& c : slow)
            c.send_bytes("x");
    }
    if (!long_proof())
        return;
    for (auto& c : slow) {  // an idle connection stays for a minute
        while (!c.is_closed()) {
        }
    }
}

BOOST_AUTO_TEST_CASE(connect_beyond_the_limit_waits_until_another_client_leaves)
{
    real_servers r(1);
    service const s(r, {"--max-connections", "3"});
    std::list<event_reader> busy;
    for (int i = 0; i < 2; ++i)
        BOOST_TEST(busy.emplace_back(s).session() != "");
    r[0].pause();
    auto short_one = s.connect();
    short_one.send(verb::get, "/v1/locks/a");
    asio::io_context context;
    asio::ip::tcp::socket late(context);
    late.connect({asio::ip::address_v4::loopback(), port_of(s)});
    asio::write(late, asio::buffer(std::string("GET /healthz HTTP/1.0\r\n\r\n")));
    BOOST_TEST(late.available() == 0u);

    busy.pop_front();

    char first = 0;
    asio::read(late, asio::buffer(&first, 1));
    BOOST_TEST(first == 'H');
}

BOOST_AUTO_TEST_SUITE_END()
