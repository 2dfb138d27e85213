#include "tools/redlock/args/open_files.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace redlock::cli {

std::size_t raise_open_files(std::size_t wanted)
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    auto const want = std::min<rlim_t>(wanted, limit.rlim_max);
    if (limit.rlim_cur < want) {
        auto const before = limit.rlim_cur;
        limit.rlim_cur = want;
        if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
            limit.rlim_cur = before;
    }
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, static_cast<std::size_t>(-1)));
}

}  // namespace redlock::cli
