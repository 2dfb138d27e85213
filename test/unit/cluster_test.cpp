// Slots of keys, the replies of members of several versions, and the routing of operations. The transports are
// scripted, and the test sets the time.

#include "runtime/manual_runtime.hpp"
#include "stores/redis/cluster_map.hpp"
#include "stores/redis/cluster_node.hpp"
#include "stores/redis/cluster_operation.hpp"
#include "stores/redis/server_record.hpp"
#include "support/asked_operation.hpp"
#include "support/redis_replies.hpp"
#include "support/scripted_transport.hpp"
#include "testing/command_parts.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::stores::redis;
using namespace redlock::test;
using namespace redlock::test::replies;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(cluster)

namespace {

net::url const asked = net::parse_url("redis-cluster://10.0.0.9:7009");

std::string owner_of(cluster_map const& m, std::uint16_t slot)
{
    auto const* const p = m.owner(slot);
    return p ? net::to_string(*p) : "nobody";
}

std::string const redis_6 =
    "07c37dfeb235213a872192d90877d0cd55635b91 127.0.0.1:30004@31004 slave e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca 0 "
    "1426238317239 4 connected\n"
    "67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1 127.0.0.1:30002@31002 master - 0 1426238316232 2 connected 5461-10922\n"
    "292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f 127.0.0.1:30003@31003 master - 0 1426238318243 3 connected 10923-16383\n"
    "e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca :30001@31001 myself,master - 0 0 1 connected 0-5000 5002-5460 "
    "[93-<-67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1]\n";

std::string const redis_7 = "a 10.0.0.1:6379@16379,lock1.example myself,master - 0 0 1 connected 0-8191\n"
                            "b fe80::1:6379@16379,,tls-port=0,shard-id=0 master,fail? - 1 1 7 connected 8192-16382\n"
                            "c :0@0 master,noaddr - 0 0 3 disconnected 16383\n"
                            "d 10.0.0.4:6379@16379 master - 0 0 4 connected\n";

}  // namespace

BOOST_AUTO_TEST_CASE(slot_of_a_key_is_the_slot_of_the_servers)
{
    BOOST_TEST(slot_of("123456789") == 0x31c3);
    BOOST_TEST(slot_of("foo") == 12182);
    BOOST_TEST(slot_of("") == 0);
    BOOST_TEST(slot_of("{user1000}.following") == slot_of("user1000"));
    BOOST_TEST(slot_of("foo{}{bar}") != slot_of("bar"));
    BOOST_TEST(slot_of("foo{{bar}}zap") == slot_of("{bar"));
    BOOST_TEST(slot_of("foo{bar}{zap}") == slot_of("bar"));
    BOOST_TEST(slot_of("foo{bar") != slot_of("bar"));
}

BOOST_AUTO_TEST_CASE(read_cluster_of_member_replies_gives_the_owner_of_each_slot)
{
    cluster_map m;
    BOOST_TEST(!read_cluster(text(redis_6), asked, m).error);
    BOOST_TEST(owner_of(m, 0) == "10.0.0.9:30001");  // the server does not know its own address
    BOOST_TEST(owner_of(m, 5000) == "10.0.0.9:30001");
    BOOST_TEST(owner_of(m, 5001) == "nobody");
    BOOST_TEST(owner_of(m, 5460) == "10.0.0.9:30001");
    BOOST_TEST(owner_of(m, 5461) == "127.0.0.1:30002");
    BOOST_TEST(owner_of(m, 16383) == "127.0.0.1:30003");
    BOOST_TEST(m.owners().size() == 3u);

    BOOST_TEST(
        !read_cluster({.type = stores::redis::resp::type::verbatim_string, .text = "txt:" + redis_7, .elements = {}},
                      asked, m)
             .error);
    BOOST_TEST(owner_of(m, 8191) == "10.0.0.1:6379");
    // A master that may have failed keeps its slots until another master gets them.
    BOOST_TEST(owner_of(m, 8192) == "[fe80::1]:6379");
    BOOST_TEST(owner_of(m, 16383) == "nobody");
    BOOST_TEST(m.owners().size() == 2u);
}

// Certificates often have host names only. The place stays the address, because names appear and change.
BOOST_AUTO_TEST_CASE(target_of_a_member_over_tls_is_its_announced_host_name)
{
    cluster_map m;
    auto const way = [&](char const* at) { return net::to_string(m.target_of(read_redirection(at)->to)); };
    BOOST_REQUIRE(!read_cluster(text(redis_7), net::parse_url("rediss-cluster://seed"), m).error);
    BOOST_TEST(owner_of(m, 0) == "10.0.0.1:6379");
    BOOST_TEST(way("MOVED 0 10.0.0.1:6379") == "lock1.example:6379");
    BOOST_TEST(way("MOVED 0 fe80::1:6379") == "[fe80::1]:6379");  // it announces no name
    BOOST_TEST(way("MOVED 0 10.9.9.9:1") == "10.9.9.9:1");
    BOOST_TEST(net::to_string(m.place_of({"lock1.example", "6379"})) == "10.0.0.1:6379");
    BOOST_TEST(net::to_string(m.place_of({"10.0.0.1", "6379"})) == "10.0.0.1:6379");
    BOOST_REQUIRE(!read_cluster(text(redis_7), net::parse_url("redis-cluster://seed"), m).error);
    BOOST_TEST(way("MOVED 0 10.0.0.1:6379") == "10.0.0.1:6379");

    // One name for several members, such as a master and its replica, leads to any of them.
    BOOST_REQUIRE(!read_cluster(text("a 10.0.0.1:6379@1,any.example master - 0 0 1 connected 0-99\n"
                                     "b 10.0.0.2:6379@1,any.example slave a 0 0 1 connected\n"
                                     "c 10.0.0.2:6380@1,ANY.example,shard-id=7 master - 0 0 1 connected 101\n"),
                                net::parse_url("rediss-cluster://seed"), m)
                       .error);
    BOOST_TEST(way("MOVED 0 10.0.0.1:6379") == "10.0.0.1:6379");
    BOOST_TEST(way("MOVED 0 10.0.0.2:6379") == "10.0.0.2:6379");
    BOOST_TEST(way("MOVED 0 10.0.0.2:6380") == "any.example:6380");
}

BOOST_AUTO_TEST_CASE(target_of_a_member_behind_nat_is_its_mapped_address)
{
    auto const behind = net::parse_url("rediss-cluster://seed?map=10.0.0.1:6379=proxy:1,b.example:2=[::1]:2");
    BOOST_REQUIRE(behind.wrong.empty());
    cluster_map m;
    BOOST_REQUIRE(!read_cluster(text("a 10.0.0.1:6379@1,a.example master - 0 0 1 connected 0-99\n"
                                     "b 10.0.0.2:2@1,b.example slave a 0 0 1 connected\n"),
                                behind.of({"proxy", "3"}), m)
                       .error);
    BOOST_TEST(owner_of(m, 0) == "10.0.0.1:6379");
    BOOST_TEST(net::to_string(m.target_of({"10.0.0.1", "6379"})) == "proxy:1");
    BOOST_TEST(net::to_string(m.target_of({"10.0.0.2", "2"})) == "[::1]:2");
}

BOOST_AUTO_TEST_CASE(read_cluster_of_an_unusable_reply_fails_and_changes_nothing)
{
    cluster_map m;
    BOOST_REQUIRE(!read_cluster(text(redis_6), asked, m).error);
    auto const fails = [&](reply const& r, errc e) { return read_cluster(r, asked, m).error == e; };
    BOOST_TEST(fails(refused("ERR This instance has cluster support disabled"), errc::unsupported_server));
    BOOST_TEST(fails(refused("NOPERM this user has no permissions to run the 'cluster|nodes' command"),
                     errc::permission_denied));
    BOOST_TEST(fails(text(redis_6.substr(0, redis_6.size() - 9)), errc::unexpected_reply));
    for (auto const* words :
         {"", "OK", "a b c\n", "a h:1@2 master - 0 0 1 connected 5-x\n", "a h:1@2 master - 0 0 1 connected 16384\n",
          "a h:x@2 master - 0 0 1 connected 1\n", "a h;x:1@2 master - 0 0 1 connected 1\n"})
        BOOST_TEST(read_cluster(text(words), asked, m).error.failed(), words);
    BOOST_TEST(fails(text("a h:1@2 myself,master - 0 0 1 connected\n"), errc::wrong_cluster_node));
    BOOST_TEST(m.owners().size() == 3u);
}

BOOST_AUTO_TEST_CASE(tag_of_each_owner_gives_a_key_in_its_own_slots)
{
    cluster_map m;
    BOOST_REQUIRE(!read_cluster(text(redis_6), asked, m).error);
    for (auto const& p : m.owners()) {
        auto const tag = m.tag_of(p);
        BOOST_TEST((*m.owner(slot_of("lock:=trial" + tag + ":0123")) == p));
    }
    BOOST_TEST(m.tag_of({"h", "1"}) == "");
}

BOOST_AUTO_TEST_CASE(read_redirection_of_moved_gives_the_slot_and_its_owner)
{
    auto const to = read_redirection("MOVED 3999 127.0.0.1:6381");
    BOOST_TEST_REQUIRE(to.has_value());
    BOOST_TEST(to->slot == 3999);
    BOOST_TEST(net::to_string(to->to) == "127.0.0.1:6381");
    BOOST_TEST(net::to_string(read_redirection("MOVED 0 ::1:7")->to) == "[::1]:7");
    BOOST_TEST(read_redirection("MOVED 0 :7")->to.host == "");
    for (auto const* words : {"", "MOVED", "MOVED 1", "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED 1 h:0", "MOVED 1 h",
                              "ASK 3999 127.0.0.1:6381", "CLUSTERDOWN The cluster is down",
                              "TRYAGAIN Multiple keys request during rehashing of slot"})
        BOOST_TEST(!read_redirection(words).has_value(), words);

    cluster_map m;
    m.set_owner(7, {"a", "1"});
    m.set_owner(7, {"b", "1"});
    BOOST_TEST(owner_of(m, 7) == "b:1");
    BOOST_TEST(m.owners().size() == 1u);
}

BOOST_AUTO_TEST_CASE(free_member_after_the_last_number_skips_members_that_stay)
{
    constexpr auto last = member_connection::member_max;
    auto const stays = [](std::uint32_t n) { return n == 1 || n == 3; };
    BOOST_TEST(member_connection::free_member(0, stays) == 2u);
    BOOST_TEST(member_connection::free_member(last, stays) == 2u);
    BOOST_TEST(member_connection::free_member(2, stays) == 4u);
    BOOST_TEST(member_connection::free_member(5, [](auto n) { return n != 5; }) == 5u);
    BOOST_TEST(member_connection::free_member(5, [](auto) { return true; }) == 0u);
}

BOOST_AUTO_TEST_CASE(mark_sent_to_different_members_gives_different_connections)
{
    auto const asker = std::make_shared<asked_operation>();
    auto const o =
        std::make_shared<cluster_operation>(asker, [](auto self, node_reply r) { self->finish(std::move(r)); });
    o->go_to(1);
    o->mark_sent(5);
    auto const first = asker->sent;
    o->go_to(2);
    o->mark_sent(5);

    BOOST_TEST(first != asker->sent);
    BOOST_TEST(o->sent_on() == 5u);
    BOOST_TEST(o->attempts == 2u);
    BOOST_TEST(!o->leaves_tombstone(5));
    asker->unanswered = asker->sent;
    BOOST_TEST(!o->leaves_tombstone(5));
    BOOST_TEST(o->leaves_tombstone(6));
    asker->unanswered = first;  // another member may execute it, and its keys may move here
    BOOST_TEST(o->leaves_tombstone(5));
    o->complete({.vote = vote::denied});
    BOOST_TEST((asker->reply.vote == vote::denied));
}

namespace {

auto const noon = redlock::clock::time_point(100h);

// The times of slots, by this answer. New slots do not vote for 70 s.
slot_times times(std::string ranges, std::string age)
{
    record_question const q(net::parse_url("redis://s"), {.nodes = {}});
    server_record r;
    BOOST_TEST(
        !q.read(list(stores::redis::resp::type::array, {"f00d", "r", std::move(age), "0", std::move(ranges), "abc"}),
                "", r)
             .error);
    slot_times t;
    t.told(r, 70s, noon);
    return t;
}

slot_set only(std::size_t slot)
{
    slot_set s;
    s.set(slot);
    return s;
}

auto const at_once = redlock::clock::time_point::min();

}  // namespace

BOOST_AUTO_TEST_CASE(votes_from_of_a_slot_that_moved_here_late_is_max_ttl_later)
{
    auto t = times("0-5:0 7-7:90000 8-9:95000", "100000");
    BOOST_TEST((t.votes_from(5) == at_once));
    BOOST_TEST(!t.votes_from(6));
    BOOST_TEST((t.votes_from(7) == noon + 60s));
    BOOST_TEST((t.votes_from(9) == noon + 65s));
    BOOST_TEST((t.all_vote_from() == noon + 65s));
    t.forget(5);
    BOOST_TEST(!t.votes_from(5));
}

BOOST_AUTO_TEST_CASE(ask_of_a_member_names_the_vouched_slots)
{
    auto where = net::parse_url("redis://s");
    where.topology = net::topology::member;
    where.tag = "{3}";
    record_question q(where, {.nodes = {}});
    auto vouched = only(16'383);
    for (auto const s : {5u, 6u, 7u, 9u})
        vouched.set(s);
    stores::redis::request r;
    q.ask(r, {.word = "beef", .vouched = &vouched});
    q.move_to("{7}");
    q.ask(r, {.word = "beef"});
    auto const calls = take_commands(r.bytes());
    BOOST_TEST(calls.at(0).at(3) == "lock::=record{3}");
    BOOST_TEST(calls.at(0).at(4) == "lock::=clients{3}");
    BOOST_TEST(calls.at(0).back() == "c5-7 9-9 16383-16383");
    BOOST_TEST(calls.at(1).at(3) == "lock::=record{7}");
    BOOST_TEST(calls.at(1).back() == "c");
}

namespace {

// A transport to a master. It stores requests about the cluster separately.
struct member_transport final : scripted_transport {
    void send(std::shared_ptr<batch> const& b) override
    {
        auto const payload = b->request.bytes();
        auto const has = [&](std::string_view words) { return payload.find(words) != payload.npos; };
        if (kept && has(record_script.sha1))
            looks.push_back(b);
        else if (kept && has("CLUSTER") && told_apart)
            views.push_back(b);
        else
            scripted_transport::send(b);
    }

    bool told_apart = false;  ///< this is a transport to a master, not to the seed
    std::vector<std::shared_ptr<batch>> looks, views;
};

// Two masters, a:1 and b:1, each with half of the slots.
struct two_masters {
    two_masters()
    {
        auto const connected = [this](server_identity const& s) {
            BOOST_TEST(s.durable);
            ++connections;
        };
        node->start(context.get_executor(), {.connected = connected, .changed = [](std::string_view) {}});
    }
    ~two_masters() { node->close(); }

    static std::string nodes(std::string const& first = "a:1", std::string const& second = "b:1")
    {
        return "x " + first + "@2 master - 0 0 1 connected 0-8191\ny " + second
               + "@2 master - 0 0 2 connected 8192-16383\n";
    }

    /// Advances the clock; the masters then report the slots that they own.
    void pass(clock::duration d = {})
    {
        clock->advance(context, d);
        bool more = true;
        while (std::exchange(more, false)) {
            for (auto const& [where, transport] : transports) {
                for (auto const& b : std::exchange(transport->looks, {})) {
                    for (auto& answer : server(as_member(where)).answers(b->request))
                        b->put(std::move(answer));
                    transport->told->answered(b);
                    more = true;
                }
            }
            clock->advance(context, {});
        }
    }

    /// One second later all members are asked for their view, and one reports this about a:1 and b:1.
    void members_report(std::string const& flags_of_a, std::string const& slots_of_a, std::string const& slots_of_b)
    {
        pass(1s);
        answer_keep_alive();
        seed().says({text("x a:1@2 " + flags_of_a + " - 0 0 1 connected" + slots_of_a
                          + "\ny b:1@2 master - 0 0 2 connected" + slots_of_b + '\n')});
        pass();
    }

    /// Both masters answer the keep-alive requests.
    void answer_keep_alive()
    {
        for (auto const* where : {"a:1", "b:1"}) {
            if (to(where).asked)
                to(where).says(server(version()).answers(to(where).asked->request));
        }
    }

    /// If a:1 was asked for its own view of the slots, it answers this. Returns whether it was asked.
    bool asked_a(std::string const& view)
    {
        auto const asked = std::exchange(transports.at("a:1")->views, {});
        for (auto const& b : asked) {
            b->put(text(view));
            to("a:1").told->answered(b);
        }
        pass();
        return !asked.empty();
    }

    node_reply vote_of(std::string const& key, std::string const& where, reply answer,
                       node_command::kind what = node_command::kind::acquire)
    {
        auto const o = put({.what = testing::command_of(what), .ttl = 5s}, {key});
        BOOST_TEST_REQUIRE(sent_to(where, *o));
        to(where).says({std::move(answer)});
        return o->reply;
    }
    scripted_transport& seed() { return *transports["seed"]; }
    scripted_transport& to(std::string const& where) { return *transports.at(where); }

    version as_member(std::string const& where)
    {
        version v{.set_get = false};
        v.mode = "cluster";
        v.answer = [this, where](command const& c) -> std::optional<reply> {
            if (c[0] == "EVALSHA" && c[1] == record_script.sha1) {
                vouched[where] = c.back().substr(1);
                return list(stores::redis::resp::type::array,
                            {"f00d", "p", std::to_string(ages[where] + (clock->now() - begin) / 1ms), "0", slots[where],
                             where});
            }
            if (c[0] == "INFO" && c[1] == "server")
                return reply{.type = stores::redis::resp::type::verbatim_string,
                             .text = "txt:redis_version:7.0.15\r\nrun_id:" + where + "\r\nuptime_in_seconds:42\r\n",
                             .elements = {}};
            return std::nullopt;
        };
        return v;
    }

    void greet(std::string const& where) { to(where).says(server(as_member(where)).answers(to(where).asked->request)); }

    std::shared_ptr<asked_operation> put(node_command c, std::vector<std::string> keys)
    {
        auto o = std::make_shared<asked_operation>(c, std::move(keys));
        node->submit(o);
        pass();
        return o;
    }
    std::shared_ptr<asked_operation> acquire(std::string key)
    {
        return put({.what = commands::acquire{}, .ttl = 5s}, {std::move(key)});
    }

    // Both masters are connected, and have been masters for long enough.
    void connect(long age_of_b = 70'000)
    {
        ages["b:1"] = age_of_b;
        auto const o = put({}, {});
        seed().says({list(stores::redis::resp::type::map, {"server", "redis"}), text(nodes())});
        pass();
        greet("a:1");
        BOOST_TEST(o->answers == 0);
        greet("b:1");
        pass();
        BOOST_TEST((o->reply.vote == vote::granted));
        BOOST_TEST(node->ready());
    }

    bool sent_to(std::string const& where, asked_operation const& o)
    {
        auto const& b = to(where).asked;
        return b && b->entries.size() == 1 && &b->entries[0].operation->command() == &o.command();
    }

    asio::io_context context;
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    redlock::clock::time_point const begin = clock->now();
    std::map<std::string, std::shared_ptr<member_transport>> transports;
    /// As the masters record them.
    std::map<std::string, std::string> slots{{"a:1", "0-8191:0"}, {"b:1", "8192-16383:0"}};
    std::map<std::string, long> ages{{"a:1", 70'000}, {"b:1", 70'000}};  ///< of the records, in milliseconds
    std::map<std::string, std::string> vouched;                          ///< the latest slots that each master was told
    std::shared_ptr<redlock::node> node = make_cluster_node(
        net::parse_url("redis-cluster://s"), {.nodes = {}, .node_timeout = 10s, .max_ttl = 60s},
        std::make_shared<stores::redis::group>(runtime::make_manual_runtime(context.get_executor(), clock)),
        [this](net::url const& u) {
            bool const is_master = u.topology == net::topology::member;
            auto const t = transports[is_master ? u.host + ':' + u.port : "seed"] =
                std::make_shared<member_transport>();
            t->told_apart = is_master;
            return t;
        });
    int connections = 0;
    std::string const in_a = "bar", in_b = "foo";  // slots 5061 and 12182
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(submit_goes_to_the_master_that_has_the_slot, two_masters)
{
    connect();
    BOOST_TEST(connections == 2);
    auto const a = acquire(in_a), b = acquire(in_b);
    BOOST_TEST(sent_to("a:1", *a));
    BOOST_TEST(sent_to("b:1", *b));
    BOOST_TEST(a->sent != b->sent);
    to("a:1").says({word("OK")});
    to("b:1").says({nothing()});
    BOOST_TEST((a->reply.vote == vote::granted));
    BOOST_TEST((b->reply.vote == vote::denied));
    BOOST_TEST(!node->may_still_execute(a->sent));
}

BOOST_FIXTURE_TEST_CASE(submit_after_moved_goes_to_the_new_master, two_masters)
{
    connect();
    slots["b:1"] = "5061-5061:0 8192-16383:0";
    auto const first = acquire(in_a);
    auto const before = first->sent;
    to("a:1").says({refused("MOVED 5061 b:1")});
    pass();
    BOOST_TEST(sent_to("b:1", *first));
    BOOST_TEST(first->sent != before);
    to("b:1").says({word("OK")});
    BOOST_TEST((first->reply.vote == vote::granted));
    BOOST_TEST(first->answers == 1);
    auto const next = acquire(in_a);
    BOOST_TEST(sent_to("b:1", *next));

    to("b:1").says({refused("MOVED 5061 a:1")});  // each of the two masters redirects to the other one
    for (int i = 0; i < 3; ++i) {
        pass();
        to(i % 2 == 0 ? "a:1" : "b:1").says({refused(i % 2 == 0 ? "MOVED 5061 b:1" : "MOVED 5061 a:1")});
    }
    pass();
    BOOST_TEST(next->answers == 0);
    to("b:1").says({refused("MOVED 5061 a:1")});
    BOOST_TEST((next->reply.error == errc::wrong_cluster_node));
}

BOOST_FIXTURE_TEST_CASE(submit_after_ask_tryagain_or_clusterdown_is_not_redirected, two_masters)
{
    connect();
    for (auto const* words : {"ASK 5061 b:1", "TRYAGAIN Multiple keys request during rehashing of slot",
                              "CLUSTERDOWN The cluster is down"}) {
        auto const o = acquire(in_a);
        to("a:1").says({refused(words)});
        pass();
        BOOST_TEST((o->reply.error == errc::wrong_cluster_node));
        BOOST_TEST(o->reply.untouched);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_on_a_new_master_does_not_count_for_max_ttl, two_masters)
{
    connect(10'000);
    BOOST_TEST((vote_of(in_a, "a:1", word("OK")).vote == vote::granted));
    auto const young = vote_of(in_b, "b:1", word("OK"));
    BOOST_TEST((young.vote == vote::unknown));
    BOOST_TEST((young.error == errc::quarantined));
    BOOST_TEST(!young.untouched);
    BOOST_TEST((vote_of(in_b, "b:1", number(1), node_command::kind::extend).error == errc::quarantined));
    BOOST_TEST((vote_of(in_b, "b:1", nothing()).vote == vote::denied));
    BOOST_TEST((vote_of(in_b, "b:1", number(1), node_command::kind::release).vote == vote::granted));
    // 10 s + 61 s: max_ttl, and 10 s for clients that have not learned of the new master.
    for (int i = 0; i < 61; ++i) {
        pass(1s);
        answer_keep_alive();
    }
    BOOST_TEST((vote_of(in_b, "b:1", word("OK")).vote == vote::granted));
}

BOOST_FIXTURE_TEST_CASE(acquire_in_slot_of_failed_master_waits_for_max_ttl, two_masters)
{
    connect();
    members_report("master,fail", " 0-5060 5062-8191", " 5061 8192-16383");
    BOOST_TEST(!asked_a(nodes()));  // a failed master is not asked
    slots["b:1"] = "5061-5061:70000 8192-16383:0";

    auto const young = vote_of(in_a, "b:1", word("OK"));
    BOOST_TEST((young.error == errc::quarantined));
    BOOST_TEST(vouched["b:1"] == "");
    BOOST_TEST((vote_of(in_b, "b:1", word("OK")).vote == vote::granted));
    for (int i = 0; i < 68; ++i) {
        pass(1s);
        answer_keep_alive();
    }
    BOOST_TEST((vote_of(in_a, "b:1", word("OK")).error == errc::quarantined));
    pass(1s);
    answer_keep_alive();
    BOOST_TEST((vote_of(in_a, "b:1", word("OK")).vote == vote::granted));
}

BOOST_FIXTURE_TEST_CASE(acquire_in_slot_that_a_living_master_has_left_succeeds, two_masters)
{
    connect();
    members_report("master", " 0-5060 5062-8191", " 5061 8192-16383");
    BOOST_TEST(asked_a(nodes()));  // a:1 has not learned of the move yet
    BOOST_TEST(vouched["b:1"] == "");
    members_report("master", " 0-5060 5062-8191", " 5061 8192-16383");
    slots["b:1"] = "5061-5061:0 8192-16383:0";
    BOOST_TEST(asked_a("x a:1@2 myself,master - 0 0 1 connected 0-5060 5062-8191\ny b:1@2 master - 0 0 2 connected "
                       "5061 8192-16383\n"));

    BOOST_TEST(vouched["b:1"] == "5061-5061");
    BOOST_TEST((vote_of(in_a, "b:1", word("OK")).vote == vote::granted));
}

BOOST_FIXTURE_TEST_CASE(acquire_in_slot_that_a_living_master_redirects_succeeds, two_masters)
{
    connect();
    slots["b:1"] = "5061-5061:0 8192-16383:0";
    auto const o = acquire(in_a);
    to("a:1").says({refused("MOVED 5061 b:1")});
    pass();
    BOOST_TEST(vouched["b:1"] == "5061-5061");
    to("b:1").says({word("OK")});
    BOOST_TEST((o->reply.vote == vote::granted));
}

BOOST_FIXTURE_TEST_CASE(acquire_in_slot_of_a_master_that_failed_recently_waits, two_masters)
{
    connect();
    members_report("master,fail", " 0-8191", " 8192-16383");
    members_report("master", " 0-8191", " 8192-16383");  // a:1 was paused, and works again
    slots["b:1"] = "5061-5061:70000 8192-16383:0";
    auto const o = acquire(in_a);
    to("a:1").says({refused("MOVED 5061 b:1")});
    pass();
    BOOST_TEST(vouched["b:1"] == "");
    to("b:1").says({word("OK")});
    BOOST_TEST((o->reply.error == errc::quarantined));
}

BOOST_FIXTURE_TEST_CASE(acquire_in_slot_that_its_master_does_not_give_up_waits, two_masters)
{
    connect();
    for (int i = 0; i < 3; ++i) {
        members_report("master", " 0-5060 5062-8191", " 5061 8192-16383");
        auto const o = acquire(in_a);
        BOOST_TEST(sent_to("a:1", *o));
        to("a:1").says({nothing()});
        BOOST_TEST(asked_a(nodes()));
    }
    members_report("master", " 0-5060 5062-8191", " 5061 8192-16383");
    BOOST_TEST(!asked_a(nodes()));
    slots["b:1"] = "5061-5061:70000 8192-16383:0";
    BOOST_TEST((vote_of(in_a, "b:1", word("OK")).error == errc::quarantined));
    BOOST_TEST(vouched["b:1"] == "");
}

BOOST_FIXTURE_TEST_CASE(acquire_in_slot_vouched_for_by_another_manager_succeeds, two_masters)
{
    connect();
    members_report("master,fail", " 0-5060 5062-8191", " 5061 8192-16383");
    slots["b:1"] = "5061-5061:70000 8192-16383:0";
    BOOST_TEST((vote_of(in_a, "b:1", word("OK")).error == errc::quarantined));
    slots["b:1"] = "5061-5061:0 8192-16383:0";
    pass(1s);
    answer_keep_alive();
    BOOST_TEST((vote_of(in_a, "b:1", word("OK")).error == errc::quarantined));  // this asks the master again
    pass();
    BOOST_TEST((vote_of(in_a, "b:1", word("OK")).vote == vote::granted));
}

BOOST_FIXTURE_TEST_CASE(acquire_of_keys_in_different_slots_is_refused_and_not_sent, two_masters)
{
    connect();
    auto const apart = put({.what = commands::acquire{}, .ttl = 5s}, {in_a, in_b});
    BOOST_TEST((apart->reply.error == errc::unsupported));
    BOOST_TEST(apart->reply.untouched);
    BOOST_TEST(apart->sent == 0u);
    auto const together = put({.what = commands::acquire{}, .ttl = 5s}, {"{foo}1", "{foo}2"});
    BOOST_TEST(sent_to("b:1", *together));
}

BOOST_FIXTURE_TEST_CASE(submit_after_a_master_was_replaced_goes_to_the_new_one, two_masters)
{
    connect();
    pass(1s);
    seed().says({text(nodes("c:1"))});
    pass();
    BOOST_TEST(to("c:1").opened == 0);  // no operation has needed this master
    auto const o = acquire(in_a);
    BOOST_TEST(to("c:1").opened == 1);
    ages["c:1"] = 70'000;
    greet("c:1");
    pass();
    BOOST_TEST(sent_to("c:1", *o));
}

BOOST_FIXTURE_TEST_CASE(found_does_not_ask_a_former_master_that_has_ended, two_masters)
{
    connect();
    pass(1s);
    seed().says({text(nodes("c:1"))});  // a:1 has no slots any more, and stays connected
    acquire(in_a);
    ages["c:1"] = 70'000;
    greet("c:1");
    pass();
    to("a:1").ends();
    auto const o = put({.what = commands::found{.only_asks = true}}, {});
    BOOST_TEST(o->answers == 1);
    BOOST_TEST((o->reply.vote == vote::denied && !o->reply.error), o->reply.error.message());  // they are not new
}

BOOST_FIXTURE_TEST_CASE(submit_without_a_master_or_a_seed_fails_with_the_reason, two_masters)
{
    auto const waits = acquire(in_a);
    seed().ends("nobody listens");
    pass();
    BOOST_TEST((waits->reply.error == errc::node_unreachable));
    BOOST_TEST(waits->reply.text == "no member tells of the cluster: s:6379: nobody listens");
    auto const release = put({.what = commands::release{}}, {in_a});
    BOOST_TEST(release->answers == 0);

    pass(1s);
    seed().says(
        {list(stores::redis::resp::type::map, {"server", "redis"}), text("x a:1@2 master - 0 0 1 connected 0-5060\n")});
    pass();
    BOOST_TEST((release->reply.error == errc::wrong_cluster_node));
    BOOST_TEST(release->reply.text == "no master has its slot, 5061");
}

BOOST_AUTO_TEST_SUITE_END()
