#include <redlock/detail/same_boost.hpp>

namespace redlock::inline v1::detail {

char const REDLOCK_DETAIL_BUILT_WITH(BOOST_VERSION) = 0;

}  // namespace redlock::detail
