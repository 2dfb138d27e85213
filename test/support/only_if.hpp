#pragma once

#include <boost/test/unit_test.hpp>

#include <string>

namespace redlock::test {

/// Of test cases and suites that make no sense without @p is_here. They are left out, and @p why_not says what is missing.
inline auto only_if(bool is_here, std::string const& why_not)
{
    return boost::unit_test::precondition([=](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result can(is_here);
        can.message() << "skipped: " << why_not;
        return can;
    });
}

}  // namespace redlock::test
