#pragma once

#include <boost/test/unit_test.hpp>

#include <string>

namespace redlock::test {

/// Skips a test case or a suite unless @p is_here. @p why_not names what is missing.
inline auto only_if(bool is_here, std::string const& why_not)
{
    return boost::unit_test::precondition([=](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result can(is_here);
        can.message() << "skipped: " << why_not;
        return can;
    });
}

}  // namespace redlock::test
