// The parts of the etcd node, without a server.

#include "stores/etcd/address.hpp"
#include "stores/etcd/json.hpp"
#include "stores/etcd/layout.hpp"
#include "stores/etcd/move.hpp"
#include "stores/etcd/queue.hpp"
#include "stores/etcd/refusal.hpp"
#include "stores/etcd/watches.hpp"
#include "stores/kit/expiries.hpp"
#include "support/counted_operation.hpp"

#include <redlock/error.hpp>
#include <redlock/etcd.hpp>

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(parts)

using namespace redlock::stores::etcd;

BOOST_AUTO_TEST_CASE(parse_address_reads_members_user_prefix_and_options)
{
    auto const a =
        parse_address("etcds://us%40er:p%3aw@Alpha:1234,[::1],10.0.0.1/my/locks?session=30s&timeout=250ms", {});

    BOOST_TEST(a.name == "etcds://alpha:1234,[::1]:2379,10.0.0.1:2379/my/locks");
    BOOST_TEST(a.user == "us@er");
    BOOST_TEST(a.password == "p:w");
    BOOST_TEST(a.tls);
    BOOST_TEST(a.members.size() == 3u);
    BOOST_TEST(a.options.prefix == "my/locks");
    BOOST_TEST((a.options.session == 30s && a.options.timeout == 250ms));
    BOOST_TEST((parse_address("etcd://h", {.session = 5s, .prefix = "p"}).options.session == 5s));
}

BOOST_AUTO_TEST_CASE(etcd_with_options_out_of_range_throws)
{
    BOOST_CHECK_THROW(etcd({.session = 1s}), std::invalid_argument);
    BOOST_CHECK_THROW(etcd({.timeout = 0ms}), std::invalid_argument);
    BOOST_CHECK_THROW(etcd({.prefix = std::string(257, 'x')}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(to_content_of_to_text_returns_the_same_content)
{
    for (std::string const value : {"", "v", "v\n1", "\\n\n\\", "\n", "a\\"}) {
        auto const read = to_content(to_text(content{value, 1500ms}));
        BOOST_TEST(read.value == value);
        BOOST_TEST((read.ttl == 1500ms));
    }
    BOOST_TEST(to_content("by hand").value == "by hand");
    BOOST_TEST(!to_content("by hand").ttl.has_value());
    BOOST_TEST(from_base64(base64(std::string("\0\xff\n", 3))) == std::string("\0\xff\n", 3));
    BOOST_TEST(to_text(std::uint64_t(7)) < to_text(std::uint64_t(10)));
    BOOST_TEST(to_counter(to_text(std::uint64_t(1) << 53)) == std::uint64_t(1) << 53);
}

BOOST_AUTO_TEST_CASE(refusal_is_untouched_only_if_the_server_did_nothing)
{
    auto const why = [](char const* said) { return refusal(boost::json::parse(said).as_object()).why; };
    auto const no_space = why(R"({"error":"etcdserver: mvcc: database space exceeded","code":8})");
    BOOST_TEST((no_space.untouched && no_space.error == errc::node_refuses_writes));
    auto const timed_out = why(R"({"error":"etcdserver: request timed out","code":14})");
    BOOST_TEST((!timed_out.untouched && timed_out.error == errc::node_loading));
    BOOST_TEST(!why(R"({"error":"something new"})").untouched);
    BOOST_TEST((why(R"({"error":{"grpc_code":7,"message":"permission denied"}})").error == errc::permission_denied));
    BOOST_TEST((why(R"({"error":{"code":7,"message":"permission denied"}})").error == errc::permission_denied));
}

BOOST_AUTO_TEST_CASE(refusal_names_what_is_missing_whatever_the_password)
{
    for (auto const* const password : {"", "auth", "token", "lease", "etcdserver", "not", "geheim"}) {
        auto const missing = [&](char const* said) {
            return refusal(boost::json::parse(said).as_object(), password).missing;
        };
        BOOST_TEST((missing(R"({"code":5, "message":"etcdserver: requested lease not found"})") == missing::lease));
        BOOST_TEST((missing(R"({"error":"etcdserver: requested lease not found","code":5})") == missing::lease));
        BOOST_TEST((missing(R"({"error":"etcdserver: invalid auth token","code":16})") == missing::token));
        BOOST_TEST((missing(R"({"error":"authentication is not enabled"})") == missing::authentication));
        BOOST_TEST((missing(R"({"error":"etcdserver: key not found"})") == missing::key));
        BOOST_TEST((missing(R"({"error":"etcdserver: request timed out","code":14})") == missing::nothing));
    }
    auto const hidden =
        refusal(boost::json::parse(R"({"error":"etcdserver: invalid auth token"})").as_object(), "token");
    BOOST_TEST(hidden.why.text.find("invalid") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(take_due_returns_each_expired_key_once_until_extended)
{
    stores::kit::expiries all;
    auto const start = clock::now();
    using stores::kit::leased;
    stores::kit::leased const lock{stores::kit::leased::kind::lock, "lock:a", "v"},
        wish{stores::kit::leased::kind::wanted, "lock:a", "me"};
    all.extend(lock, start + 10s, 10s);
    all.extend(wish, start + 1s, 1s);
    all.extend(lock, start + 5s, 5s);  // extend never shortens
    BOOST_TEST((all.until(lock) == start + 10s && all.ttl(lock) == 10s));
    BOOST_TEST((all.next() == start + 1s));
    BOOST_TEST((all.take_due(start + 2s) == std::vector{wish}));
    BOOST_TEST(all.take_due(start + 2s).empty());
    BOOST_TEST(all.knows(wish));
    all.extend(wish, start + 3s, 1s);
    BOOST_TEST((all.take_due(start + 20s) == std::vector{wish, lock}));
    all.forget(lock);
    BOOST_TEST(!all.knows(lock));
    BOOST_TEST(all.locks().empty());
    BOOST_TEST((all.next() == clock::time_point::max()));
}

BOOST_AUTO_TEST_CASE(touched_after_a_denial_returns_the_key_once)
{
    watches all("prefix/");
    std::vector<std::string> const keys{"lock:a"};
    node_command const c{.what = commands::acquire{.watch = true, .contender = "me"}, .keys = keys};
    node_reply const denied{.vote = vote::denied};
    auto const now = clock::now();
    auto const first = all.denied(c, denied, 10, now);
    BOOST_TEST_REQUIRE(first.messages.size() == 1u);
    auto const created = boost::json::parse(first.messages[0]).at("create_request").as_object();
    BOOST_TEST(bytes_in(created, "key") == "prefix/lock:a");
    BOOST_TEST(number_in(created, "start_revision") == 11);
    auto const id = static_cast<std::uint64_t>(number_in(created, "watch_id"));

    BOOST_TEST(all.touched(id, 12) == "lock:a");
    BOOST_TEST(all.touched(id, 14) == "");             // the manager has not asked again
    auto const late = all.denied(c, denied, 13, now);  // an answer that is older than this deletion
    BOOST_TEST(late.messages.empty());
    BOOST_TEST((late.changed == std::vector<std::string>{"lock:a"}));
    BOOST_TEST(all.denied(c, denied, 15, now).changed.empty());
    BOOST_TEST(all.tidy(now + 60s).messages.empty());
    BOOST_TEST(all.touched(id, 16) == "lock:a");
    BOOST_TEST(all.tidy(now + 60s).messages.size() == 1u);
    BOOST_TEST(all.touched(id, 18) == "");
    BOOST_TEST(all.denied(c, denied, 20, now).messages.size() == 1u);
}

BOOST_AUTO_TEST_CASE(tidy_ends_the_watch_of_an_inspection_with_a_notification)
{
    watches all("prefix/");
    auto const now = clock::now();
    auto const first = all.inspected("lock:a", 10, now);
    BOOST_TEST_REQUIRE(first.messages.size() == 1u);
    BOOST_TEST(first.messages[0].find("NOPUT") == std::string::npos);
    BOOST_TEST(all.inspected("lock:a", 11, now + 50s).messages.empty());
    BOOST_TEST(all.tidy(now + 100s).messages.empty());

    auto const ended = all.tidy(now + 110s);

    BOOST_TEST(ended.messages.size() == 1u);
    BOOST_TEST((ended.changed == std::vector<std::string>{"lock:a"}));
    BOOST_TEST(all.touched(1, 12) == "");
}

BOOST_AUTO_TEST_CASE(end_of_is_behind_all_keys_that_begin_with_the_prefix)
{
    BOOST_TEST(end_of("lock:") == "lock;");
    BOOST_TEST(end_of("a\xff\xff") == "b");
    BOOST_TEST(end_of("") == std::string(1, '\0'));
    BOOST_TEST(end_of("\xff") == std::string(1, '\0'));
}

namespace {

struct waiting_for_etcd : test::counted_operations {
    /// Sends the operations that fit into one transaction. @return their number
    std::size_t send()
    {
        waiting.next("s", 1, {.layout = {.prefix = "p"}, .lease = "1", .session = 10s, .ours = &ours}, over);
        sent = waiting.take_under_way();
        return sent.size();
    }

    std::string keys_sent() const
    {
        std::string all;
        for (auto const& t : sent)
            all += t.operation->command().key().back();
        return all;
    }

    stores::kit::expiries ours;
    queue waiting;
    queue::transactions sent;
    queue::finished over;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(next_with_thousands_of_keys_looks_at_each_a_few_times, waiting_for_etcd)
{
    for (std::size_t i = 0; i < count; ++i)
        waiting.add(make({.what = commands::extend{}}, i));

    std::size_t all_sent = 0;
    while (auto const n = send())
        all_sent += n;

    BOOST_TEST(all_sent == count);
    BOOST_TEST(looks <= few * count);
}

BOOST_FIXTURE_TEST_CASE(next_with_thousands_about_one_key_looks_at_each_a_few_times, waiting_for_etcd)
{
    for (std::size_t i = 0; i < count; ++i)
        waiting.add(make({.what = commands::extend{}}, 0));

    std::size_t transactions = 0;
    for (; send() == 1; ++transactions) {
    }

    BOOST_TEST(transactions == count);
    BOOST_TEST(looks <= few * count);
}

BOOST_FIXTURE_TEST_CASE(refuse_with_thousands_kept_looks_at_each_a_few_times, waiting_for_etcd)
{
    node_reply const trouble{.untouched = true, .error = errc::node_unreachable};
    for (std::size_t i = 0; i < count; ++i) {
        waiting.add(make({.what = commands::release{}}, i));
        waiting.refuse(trouble, false, over);
    }
    waiting.add(make({.what = commands::extend{}}, 0));
    waiting.refuse(trouble, false, over);
    BOOST_TEST_REQUIRE(over.size() == 1u);
    BOOST_TEST((over[0].first == all.back()));

    all.front()->is_withdrawn = true;
    waiting.refuse(trouble, true, over);
    BOOST_TEST(over.size() == 2u);
    BOOST_TEST(waiting.take_waiting().size() == count - 1);
    BOOST_TEST(looks <= few * count);
}

// A condition of the shared step fails if somebody has deleted one of the keys. Then each has a step of its own.
BOOST_FIXTURE_TEST_CASE(hear_of_a_shared_step_that_failed_sends_each_apart, waiting_for_etcd)
{
    for (std::size_t i = 1; i < 4; ++i) {
        waiting.add(make({.what = commands::extend{}, .ttl = 9s}, i));
        auto const& c = all.back()->command();
        if (i < 3)
            ours.extend({stores::kit::leased::kind::lock, c.key(), std::string(c.value)}, clock::now() + 9s, 9s);
    }
    BOOST_TEST(send() == 3u);
    BOOST_TEST((sent[0].shared && sent[1].shared && !sent[2].shared));
    BOOST_TEST((sent[0].step == 0u && sent[1].step == 0u && sent[2].step == 1u));
    scope const s{.layout = {.prefix = "p"}, .lease = "1", .session = 10s, .ours = &ours};
    json::object const failed, succeeded{{"succeeded", true}};

    BOOST_TEST((sent[0].decode(succeeded, s)->vote == vote::granted));
    BOOST_TEST(!sent[0].decode(failed, s));
    BOOST_TEST(!sent[1].decode(failed, s));
    BOOST_TEST((sent[2].decode(failed, s)->vote == vote::denied));
    sent.pop_back();
    waiting.send_again(std::move(sent));

    BOOST_TEST(send() == 2u);
    BOOST_TEST((!sent[0].shared && !sent[1].shared));
    BOOST_TEST((sent[0].step == 0u && sent[1].step == 1u));
    BOOST_TEST((sent[0].decode(failed, s)->vote == vote::denied));
}

BOOST_FIXTURE_TEST_CASE(send_again_puts_operations_before_all_others, waiting_for_etcd)
{
    waiting.add(make({.what = commands::acquire{}}, 1));
    waiting.add(make({.what = commands::acquire{}}, 2));
    BOOST_TEST(send() == 2u);
    waiting.add(make({.what = commands::release{}}, 1));
    waiting.add(make({.what = commands::acquire{}}, 3));
    waiting.refuse({}, false, over);  // moves the operations into their queues

    waiting.send_again(std::move(sent), true);

    BOOST_TEST(send() == 1u);
    BOOST_TEST(keys_sent() == "1");
    BOOST_TEST((sent.front().operation == all[0]));
    BOOST_TEST(send() == 1u);
    BOOST_TEST(keys_sent() == "2");
    BOOST_TEST(send() == 2u);
    BOOST_TEST(keys_sent() == "31");
    BOOST_TEST(over.empty());
}

namespace {

struct keys_under_leases {
    clock::time_point const now = clock::now();
    stores::kit::expiries ours;

    stores::kit::leased add(std::string key, std::chrono::seconds ttl, std::chrono::seconds kept, std::string who = "v")
    {
        stores::kit::leased const l{stores::kit::leased::kind::lock, std::move(key), std::move(who)};
        ours.extend(l, now + ttl, ttl, now + kept);
        return l;
    }

    std::vector<std::string> outliving(std::chrono::seconds then, std::size_t most = 100) const
    {
        std::vector<std::string> keys;
        for (auto const& l : ours.outliving(now + then, most))
            keys.push_back(l.key);
        return keys;
    }
};

using names = std::vector<std::string>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(outliving_lists_the_keys_whose_leases_end_first, keys_under_leases)
{
    add("late", 60s, 9s);
    auto const first = add("first", 60s, 2s);
    add("second", 60s, 4s);
    add("brief", 2s, 3s);
    BOOST_TEST(outliving(5s) == (names{"first", "second"}), boost::test_tools::per_element());
    BOOST_TEST(outliving(5s, 1) == names{"first"}, boost::test_tools::per_element());

    ours.keep(first, now + 20s);
    BOOST_TEST(outliving(5s) == names{"second"}, boost::test_tools::per_element());
    add("brief", 60s, 30s);  // the extension may have left it under its lease
    BOOST_TEST(outliving(5s) == (names{"brief", "second"}), boost::test_tools::per_element());
    ours.forget({stores::kit::leased::kind::lock, "second", "v"});
    BOOST_TEST(outliving(5s) == names{"brief"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(kept_of_a_command_is_the_first_end_of_its_leases, keys_under_leases)
{
    add("a", 60s, 9s);
    add("b", 60s, 2s);
    std::vector<std::string> const keys{"a", "b"};
    node_command c{.what = commands::extend{}, .keys = keys, .value = "v", .ttl = 60s};
    BOOST_TEST((ours.kept(c) == now + 2s));

    node_reply unknown{.vote = vote::unknown};
    ours.note(c, unknown, now, now + 20s);
    BOOST_TEST((ours.kept(c) == now + 2s));
    node_reply granted{.vote = vote::granted};
    ours.note(c, granted, now, now + 20s);
    BOOST_TEST((ours.kept(c) == now + 20s));
    c.value = "other";
    BOOST_TEST((ours.kept(c) == clock::time_point::min()));
}

BOOST_FIXTURE_TEST_CASE(move_takes_a_key_with_two_values_twice, keys_under_leases)
{
    leases s("p", 0.01, false);
    s.begin("1", 6s, now);
    add("lock:stock", 60s, 1s, "first");
    add("lock:stock", 60s, 2s, "second");
    add("lock:other", 60s, 5s);
    stores::etcd::move m;
    auto const times = [&] {
        auto const text = m.next(s, 1, {.prefix = "p"}, ours);
        m.done(ours);
        std::size_t n = 0;
        for (auto at = text.find("ignore_value"); at != text.npos; at = text.find("ignore_value", at + 1))
            ++n;
        return n;
    };

    BOOST_TEST(times() == 2u);  // the session's key, and the first
    BOOST_TEST(!m.is_over());
    BOOST_TEST(times() == 2u);
    BOOST_TEST(m.is_over());
    BOOST_TEST(outliving(60s) == (names{"lock:other", "lock:stock", "lock:stock"}), boost::test_tools::per_element());
    BOOST_TEST(outliving(3s).empty());
}

BOOST_AUTO_TEST_SUITE_END()
