// The implementation of Boost.Redis, compiled once.
#include <boost/redis/src.hpp>
