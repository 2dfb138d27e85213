// Wrong addresses of stores. These tests need no server.

#include "stores/store.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(addresses)

namespace {

std::string refusal_of(std::string const& url)
{
    try {
        lock_manager(asio::system_executor(), {.nodes = {url}, .stores = {this_store::make()}});
    } catch (std::invalid_argument const& e) {
        return e.what();
    }
    return "taken";
}

}  // namespace

BOOST_AUTO_TEST_CASE(lock_manager_with_a_wrong_address_names_the_way_out_and_no_secret)
{
    for (auto const& [words, urls] : wrong_addresses) {
        for (auto const& url : urls) {
            auto const said = refusal_of(url);
            BOOST_TEST(said != "taken", url);
            BOOST_TEST(said.find(words) != said.npos, url << ": " << said);
            BOOST_TEST(said.find("geheim") == said.npos, said);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
