#include "stores/redis/batch.hpp"
#include "stores/redis/server_record.hpp"

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <string_view>

using namespace redlock;
using namespace redlock::stores::redis;

BOOST_AUTO_TEST_SUITE(batches)

namespace {

void hand_in(batch& b, std::initializer_list<std::string_view> map, bool whole)
{
    b.take({.type = stores::redis::resp::type::map});
    for (auto const& text : map)
        b.take({.type = stores::redis::resp::type::blob_string, .depth = 1, .text = text});
    if (whole)
        b.end_reply();
}

}  // namespace

BOOST_AUTO_TEST_CASE(clear_after_an_incomplete_reply_leaves_nothing)
{
    batch b;
    hand_in(b, {"first", "reply"}, true);
    hand_in(b, {"appendfsync", "always"}, false);
    BOOST_TEST(!b.has(1));
    b.clear();
    hand_in(b, {"first", "reply"}, true);
    hand_in(b, {"appendfsync", "everysec", "no-appendfsync-on-rewrite", "no"}, true);
    BOOST_TEST(b.has(1));
    BOOST_TEST(b.replies[1].elements.size() == 4u);
    BOOST_TEST((read_log_policy(b.replies[1]) == log_policy::not_synced));
}

BOOST_AUTO_TEST_SUITE_END()
