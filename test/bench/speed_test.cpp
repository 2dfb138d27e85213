// The scenario `versus` with workers that have no lock, and its parts.

#include "versus/crew.hpp"
#include "versus/speed.hpp"

#include "bed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace redlock::bench;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(versus_speed)

namespace {

// Its first argument says how it behaves. A good one reports six cycles a second, and its arguments as a failure.
constexpr char stub[] = R"(behaviour=$1
shift
[ "$behaviour" = silent ] && exec sleep 1000
echo ready
while read -r _; do
    case $behaviour in
    dies) echo 'it gives up' >&2; exit 7 ;;
    garbles) echo 'no JSON' ;;
    mistypes) echo '{"seconds": "long"}' ;;
    forgets) echo '{"seconds": 1}' ;;
    hangs) exec sleep 1000 ;;
    *) echo "{\"seconds\": 0.5, \"us\": [1000, 2000, 3000], \"failures\": {\"$*\": 1}, \"violations\": 2}" ;;
    esac
done
)";

peer stub_that(std::string const& behaves, lock_servers servers = lock_servers::redis_quorum)
{
    return {.name = behaves, .title = behaves, .servers = servers, .command = {"/bin/sh", "-c", stub, "stub", behaves}};
}

std::string failure_of(peer const& p, std::chrono::milliseconds line_timeout = 60s)
{
    try {
        crew(p, {.urls = "u"}, 1, line_timeout).run(10ms);
    } catch (worker_failed const& e) {
        return e.what();
    }
    return {};
}

bool is_in(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

options quick()
{
    options o;
    o.server = redlock::testbed::server_program();
    o.rounds = 1;
    o.duration = 100ms;
    return o;
}

std::vector<result> measured_beside(std::vector<peer> peers, versus_cell const& c)
{
    auto o = quick();
    o.peers = std::move(peers);
    return measure_versus(c, o, [](auto&) {});
}

std::vector<std::string> names_of(std::vector<versus_cell> const& cells)
{
    std::vector<std::string> names;
    for (auto const& c : cells)
        names.push_back(c.name());
    return names;
}

}  // namespace

BOOST_AUTO_TEST_CASE(crew_run_adds_the_reports_of_its_workers)
{
    crew workers(stub_that("works"), {.urls = "u,v", .clients = 7, .hold = 3ms, .ttl = 9s}, 2);

    auto const s = workers.run(10ms);

    BOOST_TEST(workers.size() == 2u);
    BOOST_TEST(s.cycles == 6u);
    BOOST_TEST(s.rate() == 12);
    BOOST_TEST(s.violations == 4u);
    BOOST_TEST(s.cycle.summary().max == 3000);
    BOOST_TEST(
        (s.failures
         == std::map<std::string, std::uint64_t>{{"speed u,v 9000 4 each 3", 1}, {"speed u,v 9000 3 each:4 3", 1}}));
}

BOOST_AUTO_TEST_CASE(crew_run_twice_measures_twice)
{
    crew workers(stub_that("works"), {.urls = "u", .clients = 2, .one_key = true});

    workers.run(10ms);

    BOOST_TEST(workers.run(10ms).failures.contains("speed u 10000 2 one 0"));
}

BOOST_AUTO_TEST_CASE(crew_run_calls_back_before_it_reads_the_reports)
{
    int called = 0;
    crew workers(stub_that("dies"), {.urls = "u"});

    BOOST_CHECK_THROW(workers.run(10ms, [&] { ++called; }), worker_failed);

    BOOST_TEST(called == 1);
}

BOOST_AUTO_TEST_CASE(crew_whose_worker_fails_says_what_it_wrote)
{
    BOOST_TEST(failure_of(stub_that("dies")) == "a worker ended with status 7: it gives up");
    BOOST_TEST(failure_of(stub_that("garbles")) == "a worker wrote \"no JSON\" in place of its report");
    BOOST_TEST(failure_of(stub_that("mistypes"))
               == "the field \"seconds\" of a worker's report is \"long\", but must be a number");
    BOOST_TEST(failure_of(stub_that("forgets")) == "a worker's report has no field \"us\"");
    // On a busy machine, even the first line may be late.
    BOOST_TEST(is_in(failure_of(stub_that("hangs"), 100ms), "a worker has written no line for 0.1"));
    BOOST_TEST(is_in(failure_of(stub_that("silent"), 100ms), "a worker has written no line for 0.1 s"));
}

BOOST_AUTO_TEST_CASE(crew_of_a_missing_program_says_so)
{
    auto p = stub_that("works");
    p.command = {"/nonexistent/worker"};

    auto const failure = failure_of(p);

    BOOST_TEST(is_in(failure, "a worker ended with status 127: "), failure);
    BOOST_TEST(is_in(failure, "not found"), failure);
}

BOOST_AUTO_TEST_CASE(measure_versus_compares_each_peer_with_redlock)
{
    auto const results = measured_beside({stub_that("works")}, {.clients = 2});

    BOOST_REQUIRE(results.size() == 3u);
    BOOST_TEST(results[0].variant == "redlock");
    BOOST_TEST(results[1].variant == "redlock with fencing");
    auto const& r = results[2];
    BOOST_TEST(r.scenario == "versus: 1 node, 2 clients, a key each");
    BOOST_TEST(r.variant == "works");
    BOOST_TEST(r.cycles_per_second == 6);
    BOOST_TEST(r.floor_cycles_per_second.has_value());
    BOOST_TEST(r.cycle_us.max == 3000);
    BOOST_TEST(!r.more.contains("worker_processes"));  // there was one
}

BOOST_AUTO_TEST_CASE(measure_versus_on_one_key_says_how_many_clients_took_part)
{
    auto const results = measured_beside({stub_that("works")}, {.clients = 2, .one_key = true});

    BOOST_REQUIRE(results.size() == 3u);
    // The stub has six cycles of two milliseconds a second.
    BOOST_TEST(results[2].more.at("clients_served_at_a_time") == 0.012, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(results[0].more.contains("clients_served_at_a_time"));
}

BOOST_AUTO_TEST_CASE(measure_versus_after_a_failed_peer_measures_the_others)
{
    auto missing = stub_that("is missing");
    missing.missing = "not installed";

    auto const results = measured_beside({stub_that("dies"), missing, stub_that("works", lock_servers::one_redis)}, {});

    BOOST_REQUIRE(results.size() == 4u);
    BOOST_TEST(results[2].variant == "dies");
    BOOST_TEST(results[2].rounds == 0u);
    BOOST_TEST(results[2].failures.at("a worker ended with status 7: it gives up") == 1u);
    BOOST_TEST(!results[2].ratio_to_floor.has_value());
    BOOST_TEST(results[3].variant == "works");
    BOOST_TEST(results[3].cycles_per_second == 6);
}

BOOST_AUTO_TEST_CASE(measure_versus_with_a_stopped_node_leaves_out_locks_of_one_server)
{
    auto const results = measured_beside({stub_that("works"), stub_that("stays", lock_servers::one_redis)},
                                         {.nodes = 3, .clients = 2, .stopped = true});

    BOOST_REQUIRE(results.size() == 3u);
    BOOST_TEST(results[2].variant == "works");
    BOOST_TEST(results[2].nodes == 3u);
    BOOST_TEST(results[0].violations == 0u);
}

BOOST_AUTO_TEST_CASE(versus_cells_have_the_same_clients_on_one_and_several_nodes)
{
    BOOST_TEST(names_of(versus_cells({}))
                   == (std::vector<std::string>{
                       "versus: 1 node, 1 client, a key each", "versus: 1 node, 256 clients, a key each",
                       "versus: 1 node, 32 clients, one key, hold 1 ms",
                       "versus: 1 node, 32 clients, one key, hold 0 ms", "versus: 5 nodes, 1 client, a key each",
                       "versus: 5 nodes, 256 clients, a key each", "versus: 5 nodes, 32 clients, one key, hold 1 ms",
                       "versus: 5 nodes, one of them stopped, 1 client, a key each",
                       "versus: 5 nodes 1 ms away, 1 client, a key each"}),
               boost::test_tools::per_element());
    options few;
    few.count = 1;
    few.clients = 4;
    BOOST_TEST(names_of(versus_cells(few))
                   == (std::vector<std::string>{"versus: 1 node, 4 clients, a key each",
                                                "versus: 1 node, 4 clients, one key, hold 1 ms",
                                                "versus: 1 node, 4 clients, one key, hold 0 ms"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(find_rivals_without_a_folder_finds_none)
{
    std::map<std::string, std::string> machine;

    describe(find_rivals({}), machine);

    BOOST_TEST(is_in(machine.at("peers"), "--peers"));
}

BOOST_AUTO_TEST_CASE(find_rivals_returns_the_named_ones_and_why_they_are_missing)
{
    redlock::testbed::temporary_folder empty;
    options o;
    o.workers = empty.path;
    o.peer_names = {"redis-py", "boost-redis"};
    std::map<std::string, std::string> machine;

    auto const found = find_rivals(o);
    describe(found, machine);

    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].name == "redis-py");
    BOOST_TEST(machine.at("peer boost-redis").starts_with("left out: "));
    o.peer_names = {"redis-py", "rediss"};
    BOOST_CHECK_EXCEPTION(find_rivals(o), std::runtime_error, [](auto& e) {
        return std::string(e.what()).starts_with("--peer is \"rediss\", but must be one of node-redlock-5, ");
    });
}

BOOST_AUTO_TEST_SUITE_END()
