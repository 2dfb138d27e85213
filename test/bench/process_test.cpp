#include "support/only_if.hpp"
#include "bed/postgres_server.hpp"
#include "bed/process.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

BOOST_AUTO_TEST_SUITE(processes)

using redlock::testbed::process;

BOOST_AUTO_TEST_CASE(write_reaches_a_child_that_answers_line_by_line)
{
    process child({"sh", "-c", "while read -r line; do echo \"<$line>\"; done"}, {.piped = true, .fed = true});
    BOOST_TEST(child.write("first\n"));
    BOOST_TEST(child.read('\n') == "<first>");
    BOOST_TEST(child.write("second\nthird\n"));
    BOOST_TEST(child.read('\n') == "<second>");
    BOOST_TEST(child.read('\n') == "<third>");
    child.close_input();
    BOOST_TEST(child.wait().code() == 0);
}

BOOST_AUTO_TEST_CASE(write_to_a_child_that_has_ended_returns_false)
{
    process child({"true"}, {.fed = true});
    child.wait();
    BOOST_TEST(!child.write("nobody reads this\n"));
}

// A script ignores SIGINT and SIGQUIT in what it starts in the background, and nohup(1) ignores SIGHUP.
BOOST_AUTO_TEST_CASE(signal_ends_a_child_although_the_parent_ignores_it)
{
    for (int const number : {SIGHUP, SIGINT, SIGQUIT}) {
        auto* const before = ::signal(number, SIG_IGN);
        process child({"sh", "-c", "ulimit -c 0; echo; exec sleep 10"}, {.piped = true});
        ::signal(number, before);
        child.read('\n');
        child.signal(number);
        BOOST_TEST(child.wait().in_words() == "was ended by signal " + std::to_string(number));
    }
}

BOOST_AUTO_TEST_CASE(forked_process_with_a_database_leaves_no_folder,
                     *redlock::test::only_if(!redlock::testbed::postgres_programs().empty(), "no PostgreSQL"))
{
    namespace files = std::filesystem;
    redlock::testbed::temporary_folder const folder;
    files::permissions(folder.path, files::perms::all);
    process child([&] {
        ::setenv("TMPDIR", folder.path.c_str(), 1);
        return redlock::testbed::postgres_server().ask("select 7") == "7" ? 0 : 2;
    });
    BOOST_TEST(child.wait().code() == 0);
    BOOST_TEST(files::is_empty(folder.path));
}

BOOST_AUTO_TEST_SUITE_END()
