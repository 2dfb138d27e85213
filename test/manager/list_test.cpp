#include "support/manager_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(lists)

namespace {

std::pair<error_code, lock_page> page_of(lock_world& w, lock_manager& locks, std::string pattern, list_options options)
{
    std::optional<std::pair<error_code, lock_page>> result;
    locks.async_list(std::move(pattern), options,
                     [&](error_code ec, lock_page page) { result.emplace(ec, std::move(page)); });
    w.run_to([&] { return result.has_value(); });
    return *result;
}

struct whole_list {
    std::vector<lock_info> locks{};
    std::size_t pages = 0, longest = 0;
    error_code ec{};

    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        std::ranges::transform(locks, std::back_inserter(all), &lock_info::resource);
        std::ranges::sort(all);
        return all;
    }
};

whole_list list_all(lock_world& w, lock_manager& locks, std::string const& pattern = "*", list_options options = {})
{
    whole_list all;
    std::string next;
    do {
        options.from = next;
        auto [ec, page] = page_of(w, locks, pattern, options);
        all.ec = ec;
        all.longest = std::max(all.longest, page.locks.size());
        std::ranges::move(page.locks, std::back_inserter(all.locks));
        next = page.next;
        ++all.pages;
    } while (!next.empty());
    return all;
}

void put(lock_world& w, std::size_t node, std::string const& name, std::string const& owner = "web-1")
{
    w[node].entries["lock:" + name] = {std::string(32, 'a') + ':' + owner, w.now + 1h};
}

using strings = std::vector<std::string>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(list_returns_each_lock_once_with_all_answers, manager_of<5>)
{
    for (std::size_t i = 0; i < 5; ++i)
        put(w, i, "all");
    for (std::size_t i = 2; i < 5; ++i)
        put(w, i, "three");
    put(w, 4, "left-behind");
    w[3].entries["other:key"] = {"value", w.now + 1h};
    w[3].entries["lock:stock:=fence"] = {"value", w.now + 1h};

    auto const all = list_all(w, *locks);

    BOOST_TEST(!all.ec);
    BOOST_TEST(all.names() == (strings{"all", "left-behind", "three"}), boost::test_tools::per_element());
    for (auto const& l : all.locks) {
        BOOST_TEST(l.nodes.size() == 5u);
        BOOST_TEST(l.locked == (l.resource != "left-behind"));
        BOOST_TEST(l.owner == (l.locked ? "web-1" : ""));
    }
}

BOOST_FIXTURE_TEST_CASE(list_in_pages_returns_all_locks_in_bounded_pages, manager_of<3>)
{
    strings expected;
    for (int i = 0; i < 500; ++i) {
        expected.push_back(fmt::format("job-{:03}", i));
        for (std::size_t node = 0; node < 3; ++node) {
            if (static_cast<std::size_t>(i) % 4 != node)
                put(w, node, expected.back());
        }
    }
    auto other = w.manager();

    for (std::size_t const size : {1u, 7u, 100u, 1000u}) {
        auto const all = list_all(w, size == 7 ? *other : *locks, "*", {.page_size = size});
        BOOST_TEST(!all.ec);
        BOOST_TEST(all.names() == expected, boost::test_tools::per_element());
        BOOST_TEST(all.longest <= size);
        BOOST_TEST(all.pages >= 500 / size);
    }
}

BOOST_FIXTURE_TEST_CASE(list_with_a_pattern_returns_the_names_that_match, manager_of<1>)
{
    for (auto const* name : {"jobs/1", "jobs/2", "jobs/10", "users/1", "j*s/3"})
        put(w, 0, name);
    auto const names = [&](char const* pattern) { return list_all(w, *locks, pattern).names(); };

    BOOST_TEST(names("jobs/*") == (strings{"jobs/1", "jobs/10", "jobs/2"}), boost::test_tools::per_element());
    BOOST_TEST(names("jobs/?") == (strings{"jobs/1", "jobs/2"}), boost::test_tools::per_element());
    BOOST_TEST(names("*[^1-9]") == (strings{"jobs/10"}), boost::test_tools::per_element());
    BOOST_TEST(names("j\\*s/3") == (strings{"j*s/3"}), boost::test_tools::per_element());
    BOOST_TEST(names("users/1") == (strings{"users/1"}), boost::test_tools::per_element());
    BOOST_TEST(names("").empty());
}

BOOST_FIXTURE_TEST_CASE(list_without_one_node_continues_on_the_others, manager_of<3>)
{
    for (std::size_t node = 0; node < 3; ++node) {
        put(w, node, "a");
        put(w, node, "b");
    }
    w[0].reachable = false;

    auto const [ec, page] = page_of(w, *locks, "*", {});
    BOOST_TEST(!ec);
    BOOST_TEST(page.locks.size() == 2u);
    BOOST_TEST(page.next == "");
    BOOST_TEST(!page.nodes[0].complete);
    BOOST_TEST(!!page.nodes[0].error);
    BOOST_TEST(page.nodes[1].complete);

    auto const small = list_all(w, *locks, "*", {.page_size = 1});
    BOOST_TEST(!small.ec);
    BOOST_TEST(small.names() == (strings{"a", "b"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(list_without_a_majority_returns_no_quorum_and_known_locks, manager_of<3>)
{
    put(w, 2, "a");
    w[0].reachable = w[1].reachable = false;

    auto const all = list_all(w, *locks);

    BOOST_TEST((all.ec == errc::no_quorum));
    BOOST_TEST(all.names() == (strings{"a"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(list_with_a_bad_argument_sends_nothing, manager_of<3>)
{
    auto const refused = [&](std::string pattern, list_options options) {
        return page_of(w, *locks, std::move(pattern), options).first == errc::invalid_argument;
    };
    BOOST_TEST(refused(std::string(513, 'a'), {}));
    BOOST_TEST(refused("*", {.page_size = 0}));
    BOOST_TEST(refused("*", {.page_size = 1001}));
    for (auto const* from : {"x", "3--", "0-3-", "0--1", "0--zz", "-", "99999999999999999999--"})
        BOOST_TEST(refused("*", {.from = from}));
    BOOST_TEST(w[0].requests.empty());
}

BOOST_FIXTURE_TEST_CASE(list_that_is_cancelled_completes_with_operation_aborted, manager_of<3>)
{
    for (int i = 0; i < 200; ++i)
        put(w, 0, std::to_string(i));
    for (int turns = 0; turns < 12; ++turns) {
        asio::cancellation_signal signal;
        std::optional<error_code> ended;
        locks->async_list("*", {.page_size = 1000},
                          asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, lock_page) { ended = ec; }));
        for (int i = 0; i < turns; ++i)
            w.run_for(100us);
        signal.emit(asio::cancellation_type::terminal);
        w.run_to([&] { return ended.has_value(); });
        BOOST_TEST((!*ended || *ended == asio::error::operation_aborted));
    }
}

BOOST_FIXTURE_TEST_CASE(list_of_an_abandoned_context_destroys_its_handler, manager_of<3>)
{
    for (int i = 0; i < 200; ++i)
        put(w, 0, std::to_string(i));
    auto const kept = std::make_shared<int>();
    locks->async_list("*", {.page_size = 1000}, [kept](error_code, lock_page) {});
    locks->async_watch("stock", [kept](error_code, lock_info) {});
    w.run_for(300us);
    BOOST_TEST(kept.use_count() == 3);
    locks.reset();
}

BOOST_AUTO_TEST_SUITE_END()
