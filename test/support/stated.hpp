#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace redlock::test {

/// Whether the page in $REDLOCK_STATED_IN contains @p figures, which the test has counted. True if it is not set.
inline bool stated(std::string const& figures)
{
    auto const* const page = std::getenv("REDLOCK_STATED_IN");
    if (!page || !*page)
        return true;
    std::ifstream file(page);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    if (text.find(figures) != std::string::npos)
        return true;
    std::printf("%s does not say \"%s\"\n", page, figures.c_str());
    return false;
}

/// Writes 1234567 as 1,234,567.
inline std::string grouped(unsigned long long n)
{
    auto digits = std::to_string(n);
    for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
        digits.insert(static_cast<std::size_t>(i), ",");
    return digits;
}

}  // namespace redlock::test
