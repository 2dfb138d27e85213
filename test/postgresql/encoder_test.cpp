// The statements that are sent to the server. No server is needed.

#include "stores/postgresql/encoder.hpp"
#include "stores/postgresql/schema.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(postgresql_encoder)

using namespace redlock::stores::postgresql;

BOOST_AUTO_TEST_CASE(prepared_name_differs_by_table_statement_and_version)
{
    constexpr std::size_t longest_name = 63;  // the server ignores further characters
    std::string const tables[] = {"redlock",
                                  "app.redlock",
                                  "app_redlock",
                                  std::string(40, 't'),
                                  std::string(39, 't') + "u",
                                  std::string(19, 's') + '.' + std::string(40, 't'),
                                  std::string(19, 's') + '.' + std::string(39, 't') + "u"};
    std::set<std::string> names;
    for (auto const& table : tables) {
        for (auto const& s : all_statements()) {
            auto const name = prepared_name(s, table);
            BOOST_TEST(name.size() <= longest_name, name);
            BOOST_TEST(name.find(":" + std::string(schema_version) + ".") != name.npos, name);
            names.insert(name);
        }
    }
    BOOST_TEST(names.size() == std::size(tables) * all_statements().size());
}

BOOST_AUTO_TEST_SUITE_END()
