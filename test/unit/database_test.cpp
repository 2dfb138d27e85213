// The state of a node's connections to a database, with scripted sessions.

#include "core/key.hpp"
#include "core/told_time.hpp"
#include "stores/kit/database_node.hpp"
#include "stores/kit/steps.hpp"
#include "stores/kit/watches.hpp"
#include "support/counted_operation.hpp"

#include <redlock/error.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;

BOOST_AUTO_TEST_SUITE(databases)

namespace {

/// Connects immediately, unless `is_away` is set.
class scripted_session final : public stores::kit::session, public std::enable_shared_from_this<scripted_session> {
public:
    scripted_session(asio::any_io_executor e, std::int64_t id, owner& o)
        : owner_(&o),
          executor_(std::move(e)),
          server_{.backend = {id, ""}, .started = "once", .record = {.word = "w", .age = std::chrono::seconds(10)}}
    {
    }

    void open() override
    {
        if (is_away)
            return;
        asio::post(executor_, [self = shared_from_this()] {
            self->owner_->check_server(*self, self->server_);
            self->up_ = true;
            self->owner_->up(*self);
        });
    }

    void close() override
    {
        up_ = false;
        if (auto const tell = std::exchange(looked, {}))
            tell(nullptr);
    }
    void abandon() override { up_ = false; }

    void cut(node_reply why) override
    {
        up_ = false;
        if (auto const tell = std::exchange(looked, {}))
            tell(nullptr);
        owner_->down(*this, true, std::move(why));
    }

    bool up() const noexcept override { return up_; }
    bool busy() const noexcept override { return up_; }
    stores::kit::introduction const& server() const noexcept override { return server_; }
    std::optional<clock::time_point> waiting_since() const override { return std::nullopt; }
    bool notifies() const noexcept override { return true; }
    void carry_out(node_command const&, bool, std::function<void(node_reply)> done) override
    {
        ++carried_out;
        answer = std::move(done);
        answers.push_back(answer);
    }
    void end(stores::kit::backend const&, std::function<void(bool)> done) override { done(false); }
    void look(std::string verdict, std::function<void(core::memory_record const*)> done) override
    {
        founded = std::move(verdict);
        looked = std::move(done);
    }
    void clean() override {}

    bool is_away = false;
    std::size_t carried_out = 0;
    std::function<void(node_reply)> answer;                ///< of the last command
    std::vector<std::function<void(node_reply)>> answers;  ///< of all
    std::string founded;                                   ///< the word to found, in the last look
    std::function<void(core::memory_record const*)> looked;
    owner* const owner_;

private:
    asio::any_io_executor const executor_;
    stores::kit::introduction const server_;
    bool up_ = false;
};

struct two_connections {
    asio::io_context context;
    std::vector<std::shared_ptr<scripted_session>> sessions;
    std::vector<std::string> changes;
    std::vector<server_identity> identities;  ///< what the node has told
    test::counted_operations connects;
    std::shared_ptr<redlock::node> const node = stores::kit::make_database_node(
        {.name = "table://a",
         .kind = "table",
         .connections = 2,
         .timeout = std::chrono::seconds(1),
         .make_session =
             [this](auto e, std::size_t i, auto& o) {
                 return sessions.emplace_back(
                     std::make_shared<scripted_session>(e, static_cast<std::int64_t>(i + 1), o));
             }},
        {}, {.claim = [](auto&, auto&) { return std::string(); }});

    two_connections()
    {
        node->start(context.get_executor(), {.connected = [this](auto& server) { identities.push_back(server); },
                                             .learned = [this](auto& server) { identities.push_back(server); },
                                             .changed = [this](auto name) { changes.emplace_back(name); }});
        node->submit(connects.make({.what = commands::connect{}}, 0));
        context.poll();
    }

    ~two_connections() { node->close(); }

    /// How many commands the sessions have got.
    std::size_t carried_out()
    {
        context.restart();
        context.poll();
        return sessions[0]->carried_out + sessions[1]->carried_out;
    }

    void deny_all()
    {
        for (auto const& s : sessions) {
            for (auto const& answer : std::exchange(s->answers, {}))
                answer({.vote = vote::denied});
        }
    }

    /// The session that was asked about the record.
    scripted_session& asked()
    {
        auto const one = std::ranges::find_if(sessions, [](auto& s) { return s->looked != nullptr; });
        BOOST_TEST_REQUIRE((one != sessions.end()));
        return **one;
    }

    /// The server says again that it is new, and then the node founds it.
    std::shared_ptr<test::counted_operation> found(test::counted_operations& of)
    {
        auto const asks = of.make({.what = commands::found{.only_asks = true}}, 0);
        node->submit(asks);
        context.poll();
        BOOST_TEST(asked().founded.empty());
        core::memory_record const still_new{.word = "w", .age = std::chrono::seconds(10)};
        std::exchange(asked().looked, {})(&still_new);
        BOOST_TEST(asks->answers == 1u);
        BOOST_TEST((asks->reply.vote == vote::granted));

        auto founds = of.make({.what = commands::found{}}, 0);
        node->submit(founds);
        context.restart();
        context.poll();
        BOOST_TEST(asked().founded == "Fw");
        return founds;
    }
};

}  // namespace

// Commands on different connections have no order. So a release may find nothing, and a slow acquisition may follow it.
BOOST_FIXTURE_TEST_CASE(may_still_execute_for_each_open_connection_is_true, two_connections)
{
    BOOST_TEST(node->may_still_execute(1));
    BOOST_TEST(node->may_still_execute(2));
    BOOST_TEST(!node->may_still_execute(3));
}

BOOST_FIXTURE_TEST_CASE(may_still_execute_before_the_old_backend_has_ended_is_true, two_connections)
{
    sessions.back()->cut({.untouched = true, .error = errc::node_unreachable});

    BOOST_TEST(node->may_still_execute(sessions.back()->number));
}

BOOST_FIXTURE_TEST_CASE(submit_without_a_connection_examines_each_a_few_times, two_connections)
{
    test::counted_operations of;
    for (auto const& s : sessions) {
        s->is_away = true;
        s->cut({.untouched = true, .error = errc::node_unreachable});
    }
    for (std::size_t i = 0; i < of.count; ++i) {
        node->submit(of.make({.what = commands::extend{}}, i));
        context.poll();
    }
    BOOST_TEST(of.all.front()->answers == 0u);
    BOOST_TEST(of.looks <= of.few * of.count);

    sessions.front()->is_away = false;
    sessions.front()->open();
    context.poll();

    BOOST_TEST(sessions.front()->carried_out == of.count);
}

// The answer to a release may arrive on another connection, and before the answer of an acquisition that the server
// denied earlier. Then only the notification of the node's own release tells the waiter that the lock is free.
BOOST_FIXTURE_TEST_CASE(denied_acquisition_hears_of_a_release_by_its_own_node, two_connections)
{
    test::counted_operations of;
    node->submit(of.make({.what = commands::acquire{.watch = true}}, 0));
    context.poll();
    auto const asked = std::ranges::find_if(sessions, [](auto& s) { return s->carried_out > 0; });
    BOOST_TEST_REQUIRE((asked != sessions.end()));
    (*asked)->answer({.vote = vote::denied, .remaining = std::chrono::seconds(60)});

    sessions.front()->owner_->notified("1:6c6f636b3a30");

    BOOST_TEST(changes == std::vector<std::string>{"lock:0"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(submit_of_found_completes_after_the_node_has_told_it, two_connections)
{
    test::counted_operations of;
    auto const founds = found(of);
    BOOST_TEST(identities.size() == 1u);
    BOOST_TEST((identities.back().fresh && !identities.back().restarted));

    core::memory_record const founded{.word = "w", .began = core::beginning::founded};
    std::exchange(asked().looked, {})(&founded);

    BOOST_TEST(founds->answers == 1u);
    BOOST_TEST((founds->reply.vote == vote::granted));
    BOOST_TEST(identities.size() == 2u);
    BOOST_TEST((identities.back().founded));
}

BOOST_FIXTURE_TEST_CASE(submit_of_found_asks_of_a_node_that_was_founded_is_denied, two_connections)
{
    test::counted_operations of;
    auto const asks = of.make({.what = commands::found{.only_asks = true}}, 0);
    node->submit(asks);
    context.poll();
    core::memory_record const founded{.word = "w", .began = core::beginning::founded};
    std::exchange(asked().looked, {})(&founded);
    BOOST_TEST((asks->reply.vote == vote::denied));
    BOOST_TEST((identities.back().founded));
}

// The manager has not asked this memory of the server twice.
BOOST_FIXTURE_TEST_CASE(submit_of_found_without_a_question_founds_nothing, two_connections)
{
    test::counted_operations of;
    node->submit(of.make({.what = commands::found{}}, 0));
    context.poll();
    BOOST_TEST(asked().founded.empty());
}

BOOST_FIXTURE_TEST_CASE(submit_of_found_completes_when_the_connection_ends, two_connections)
{
    test::counted_operations of;
    auto const founds = found(of);
    asked().cut({.untouched = true, .error = errc::node_unreachable});

    BOOST_TEST(founds->answers == 1u);
    BOOST_TEST((founds->reply.error == errc::connection_lost));
}

BOOST_FIXTURE_TEST_CASE(submit_of_found_completes_when_the_node_is_closed, two_connections)
{
    test::counted_operations of;
    auto const founds = found(of);
    node->close();

    BOOST_TEST(founds->answers == 1u);
}

// Commands on different connections have no order. A withdrawal that came first would leave the wish.
BOOST_FIXTURE_TEST_CASE(submit_of_a_withdrawal_sends_it_after_the_answer_to_its_acquisition, two_connections)
{
    test::counted_operations of;
    auto const acquires = of.make({.what = commands::acquire{.contender = "us"}}, 0);
    auto const withdraws = of.make({.what = commands::withdraw{.contender = "us"}}, 0);
    auto const of_another_name = of.make({.what = commands::withdraw{.contender = "us"}}, 1);
    for (auto const& o : {acquires, withdraws, of_another_name})
        node->submit(o);
    BOOST_TEST(carried_out() == 2u);
    BOOST_TEST(withdraws->answers == 0u);

    deny_all();
    BOOST_TEST(acquires->answers == 1u);
    BOOST_TEST(carried_out() == 3u);
}

// Its client wishes for the lock again. The withdrawal would delete the new wish.
BOOST_FIXTURE_TEST_CASE(submit_of_a_wish_drops_the_withdrawal_that_waits, two_connections)
{
    test::counted_operations of;
    auto const withdraws = of.make({.what = commands::withdraw{.contender = "us"}}, 0);
    for (auto const& o : {of.make({.what = commands::acquire{.contender = "us"}}, 0), withdraws,
                          of.make({.what = commands::acquire{.contender = "us"}}, 0)})
        node->submit(o);
    BOOST_TEST(carried_out() == 2u);
    BOOST_TEST(withdraws->answers == 1u);
    deny_all();
    BOOST_TEST(carried_out() == 2u);
}

BOOST_FIXTURE_TEST_CASE(submit_of_a_withdrawal_that_waited_for_long_sends_it, two_connections)
{
    test::counted_operations of;
    auto const acquires = of.make({.what = commands::acquire{.contender = "us"}}, 0);
    auto const withdraws = of.make({.what = commands::withdraw{.contender = "us"}}, 0);
    node->submit(acquires);
    node->submit(withdraws);
    BOOST_TEST(carried_out() == 1u);
    withdraws->not_after = clock::time_point::min();
    deny_all();
    BOOST_TEST(carried_out() == 2u);
    BOOST_TEST(withdraws->answers == 0u);  // it is under way
}

BOOST_FIXTURE_TEST_CASE(submit_of_a_withdrawal_completes_when_the_node_is_closed, two_connections)
{
    test::counted_operations of;
    auto const withdraws = of.make({.what = commands::withdraw{.contender = "us"}}, 0);
    node->submit(of.make({.what = commands::acquire{.contender = "us"}}, 0));
    node->submit(withdraws);
    BOOST_TEST(carried_out() == 1u);
    node->close();

    BOOST_TEST(withdraws->answers == 1u);
    BOOST_TEST((withdraws->reply.untouched && withdraws->reply.error == errc::node_closed));
}

BOOST_AUTO_TEST_CASE(decode_inspection_ignores_readers_unless_the_key_is_shared)
{
    using stores::kit::decode_inspection;
    stores::kit::cells const waiter{"0123456789abcdef:a", "1", "waiter"}, reader{"v", "70", "reader"};

    auto const free = decode_inspection({reader, waiter});
    BOOST_TEST((free.vote == vote::denied));
    BOOST_TEST((free.details->knows_readers && free.details->knows_waiters));
    BOOST_TEST(free.details->readers.empty());
    BOOST_TEST_REQUIRE(free.details->waiters.size() == 1u);
    BOOST_TEST(free.details->waiters[0].contender == waiter[0]);
    BOOST_TEST(free.details->waiters[0].shares);

    auto const held = decode_inspection({reader, {"w", "-1", ""}});
    BOOST_TEST((held.vote == vote::granted));
    BOOST_TEST(held.text == "w");
    BOOST_TEST(held.remaining.count() == -1);
    BOOST_TEST(held.details->readers.empty());
    BOOST_TEST((decode_inspection({{"w", "9223372036854775807", ""}}).remaining == core::longest_time));
    auto const record = stores::kit::read_record({"word", "f", "9223372036854775807", "-9223372036854775808"}, 0);
    BOOST_TEST((record.age == core::longest_time && record.wait == -core::longest_time));

    auto const shared = decode_inspection({{":=shared", "80", ""}, reader});
    BOOST_TEST_REQUIRE(shared.details->readers.size() == 1u);
    BOOST_TEST(shared.details->readers[0].value == "v");
    BOOST_TEST(shared.details->readers[0].remaining.count() == 70);
}

BOOST_AUTO_TEST_CASE(answered_after_a_change_reports_the_change_once)
{
    test::counted_operations of;
    auto const one = of.make({.what = commands::acquire{}}, 1), other = of.make({.what = commands::acquire{}}, 2);
    stores::kit::watches w;
    node_reply const denied{.vote = vote::denied, .remaining = std::chrono::seconds(1)};
    w.sent(one->command());
    w.sent(other->command());

    BOOST_TEST(w.heard("1:6c6f636b3a31").empty());  // lock:1, before the answer
    BOOST_TEST(w.heard("1:6c6f636b3a31").empty());
    BOOST_TEST((w.answered(one->command(), denied, clock::now()) == std::vector<std::string>{"lock:1"}));
    BOOST_TEST(w.answered(other->command(), denied, clock::now()).empty());

    BOOST_TEST(w.heard("1:6c6f636b3a31").empty());  // this waiter was notified already
    BOOST_TEST(w.heard("1:6c6f636b3a32") == "lock:2");
    BOOST_TEST(w.heard("1:6c6f636b3a32").empty());
}

BOOST_AUTO_TEST_CASE(answered_to_an_inspection_wants_changes_of_a_hold_and_its_readers)
{
    test::counted_operations of;
    auto const one = of.make({.what = commands::inspect{}}, 1), free = of.make({.what = commands::inspect{}}, 2);
    stores::kit::watches w;
    w.sent(one->command());
    w.sent(free->command());
    node_reply const held{.vote = vote::granted, .remaining = std::chrono::milliseconds(-1)};  // it never expires
    BOOST_TEST(w.answered(one->command(), held, clock::now()).empty());
    BOOST_TEST(w.answered(free->command(), {.vote = vote::denied}, clock::now()).empty());

    BOOST_TEST(w.heard("1:6c6f636b3a31") == "lock:1");
    BOOST_TEST(w.heard("8:6c6f636b3a31") == core::readers_key("lock:1"));
    BOOST_TEST(w.heard("1:6c6f636b3a32").empty());
}

BOOST_AUTO_TEST_CASE(range_of_a_scan_begins_behind_the_place_and_ends_with_the_prefix)
{
    using namespace std::string_literals;
    auto const range = [](std::string const& prefix, std::string_view place) {
        std::vector<std::string> const keys{prefix};
        auto r = stores::kit::range_of({.what = commands::scan{}, .keys = keys, .value = place});
        return std::pair(std::move(r.first), std::move(r.end));
    };
    BOOST_TEST((range("lock:", "") == std::pair("lock:"s, "lock;"s)));
    BOOST_TEST((range("lock:", "lock:a") == std::pair("lock:a\0"s, "lock;"s)));
    BOOST_TEST((range("lock:", "lock") == std::pair("lock:"s, "lock;"s)));
    BOOST_TEST((range("a\x7f\xff\xff", "") == std::pair("a\x7f\xff\xff"s, "a\x80"s)));
    BOOST_TEST((range("\xff\xff", "") == std::pair("\xff\xff"s, ""s)));
    BOOST_TEST((range("", "\xff") == std::pair("\xff\0"s, ""s)));
}

BOOST_AUTO_TEST_CASE(decode_scan_of_a_full_page_names_the_last_key)
{
    auto const place = [](std::uint32_t limit) {
        return stores::kit::decode_scan({.what = commands::scan{.limit = limit}}, {{"a"}, {"b"}}).text;
    };
    BOOST_TEST(place(2) == "b");
    BOOST_TEST(place(3) == "");
}

BOOST_AUTO_TEST_SUITE_END()
