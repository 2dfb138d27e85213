// One address means one place, whatever the search_path of the role.

#include "stores/databases/failures.hpp"
#include "stores/postgresql/schema.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

// A server on which the role app has a schema of its own, which its search_path names first.
struct two_schemas : event_loop {
    two_schemas()
    {
        BOOST_TEST(s.ask("CREATE ROLE app LOGIN SUPERUSER; CREATE SCHEMA app AUTHORIZATION app; CREATE ROLE web LOGIN "
                         "SUPERUSER")
                   == "");
    }

    // Makes the tables of the schema app as a client does that finds them by its search_path.
    void make_tables_in_app()
    {
        std::string text(stores::postgresql::schema());
        constexpr std::string_view path = "search_path = public;";
        BOOST_TEST(s.ask(text.replace(text.find(path), path.size(), "search_path = app;")).find("error")
                   == std::string::npos);
    }

    std::string schemas() const
    {
        return s.ask("SELECT string_agg(nspname, ',' ORDER BY nspname) FROM pg_class JOIN pg_namespace n ON n.oid = "
                     "relnamespace WHERE relname = 'redlock'");
    }

    node_report refusal(std::string const& url)
    {
        auto trouble = trouble_of(r.attempt(on(url)));
        BOOST_TEST((trouble.error == errc::unsupported_server), trouble.message);
        return trouble;
    }

    postgres_server s{{"fsync=off"}};
};

bool says(node_report const& n, std::string const& words)
{
    BOOST_TEST_INFO(n.message);
    return n.message.find(words) != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(places, two_schemas, *only_with_server())

BOOST_AUTO_TEST_CASE(acquire_by_roles_with_other_search_paths_has_one_holder)
{
    for (auto const* const parameters : {"", "?options=-csearch_path%3Dapp", "?notify=off&prepare=off"}) {
        lock_manager first(r.context, on(address_of(s, "app", parameters))),
            second(r.context, on(address_of(s, "web")));
        auto held = hold(r, first, "stock", {.ttl = 60s});
        BOOST_TEST((r.acquire(second, "stock").ec == errc::contended));
        BOOST_TEST(schemas() == "public");
        BOOST_TEST(!r.release(held));
        BOOST_TEST(!r.release(hold(r, second, "stock", {.ttl = 60s})));
        r.shutdown(first);
        r.shutdown(second);
    }
    s.ask("ALTER ROLE web SET search_path = app");
    BOOST_TEST(!r.attempt(on(address_of(s, "web"))).ec);
    BOOST_TEST(schemas() == "public");
}

BOOST_AUTO_TEST_CASE(acquire_beside_tables_in_another_schema_names_the_schema)
{
    make_tables_in_app();
    for (auto const* const role : {"app", "web"}) {
        auto const why = refusal(address_of(s, role));
        BOOST_TEST(says(why, "schema=NAME"));
        BOOST_TEST(says(why, "app"));
    }
    BOOST_TEST(schemas() == "app");

    for (auto const* const parameters : {"?schema=app", "?table=app.redlock"}) {
        lock_manager first(r.context, on(address_of(s, "app", parameters)));
        lock_manager second(r.context, on(address_of(s, "web", parameters)));
        BOOST_TEST(first.stats().nodes[0].name.ends_with("/postgres?table=app.redlock"));
        auto held = hold(r, first, "stock", {.ttl = 60s});
        BOOST_TEST((r.acquire(second, "stock").ec == errc::contended));
        BOOST_TEST(!r.extend(held, 60s));
        BOOST_TEST(!r.release(held));
        r.shutdown(first);
        r.shutdown(second);
    }
    BOOST_TEST(schemas() == "app");
    auto const shared = refusal(address_of(s, "web", "?schema=app&notify=off&prepare=off"));
    BOOST_TEST(says(shared, "ALTER ROLE"));
}

BOOST_AUTO_TEST_CASE(acquire_with_tables_in_two_schemas_warns_or_refuses)
{
    BOOST_TEST(!r.attempt(on(address_of(s, "web"))).ec);
    make_tables_in_app();
    BOOST_TEST(
        says(refusal(address_of(s, "app")), "the search_path of this role leads to the tables redlock in another"));
    std::string lines;
    auto settings = on(address_of(s, "web"));
    settings.log = [&](log_level level, std::string_view line) { lines += level == log_level::warning ? line : ""; };
    BOOST_TEST(!r.attempt(settings).ec);
    BOOST_TEST(lines.find("in other schemas, too: app") != std::string::npos, lines);
    lines.clear();
    settings.nodes = {address_of(s, "web", "?schema=app")};
    BOOST_TEST(!r.attempt(settings).ec);
    BOOST_TEST(lines.find("schemas") == std::string::npos, lines);
}

BOOST_AUTO_TEST_CASE(acquire_with_the_schema_public_named_uses_it)
{
    make_tables_in_app();
    check_locks(r, on(address_of(s, "app", "?schema=public")));
    BOOST_TEST(schemas() == "app,public");
    lock_manager locks(r.context, on(address_of(s, "web", "?schema=public")));
    auto held = hold(r, locks, "stock", {.ttl = 60s});
    auto const check = owns(postgresql_options{.schema = "public"}, held);
    BOOST_TEST(check.text.find("public.redlock_owns") != std::string::npos);
    BOOST_TEST(!r.release(held));
    r.shutdown(locks);
}

// The server cuts the names of prepared statements at 63 characters.
BOOST_AUTO_TEST_CASE(acquire_with_the_longest_schema_and_table_succeeds)
{
    auto const schema = std::string(19, 's'), table = std::string(40, 't');
    s.ask("CREATE SCHEMA " + schema);
    check_locks(r, on(address_of(s, "web", "?schema=" + schema + "&table=" + table)));
    BOOST_CHECK_THROW(lock_manager(r.context, on(address_of(s, "web", "?schema=" + schema + "s&table=" + table))),
                      std::invalid_argument);
}

// A reserved word is a name after the dot.
BOOST_AUTO_TEST_CASE(acquire_with_a_reserved_word_as_table_succeeds)
{
    for (auto const* const table : {"user", "order", "app.end"})
        BOOST_TEST(!r.attempt(on(address_of(s, "web", fmt::format("?table={}", table)))).ec, table);
}

BOOST_AUTO_TEST_CASE(manager_with_a_wrong_schema_throws)
{
    for (auto const* const wrong : {"?schema=", "?schema=A", "?schema=a.b", "?schema=a&table=b.c"})
        BOOST_CHECK_THROW(lock_manager(r.context, on(address_of(s, "web", wrong))), std::invalid_argument);
    lock_manager locks(r.context, on(address_of(s, "web", "?schema=public&table=redlock")));
    BOOST_TEST(locks.stats().nodes[0].name.ends_with("/postgres"));
}

BOOST_AUTO_TEST_SUITE_END()
