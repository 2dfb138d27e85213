#include "cli/stores.hpp"

#ifdef REDLOCK_HAS_ETCD
#include <redlock/etcd.hpp>
#endif
#ifdef REDLOCK_HAS_MYSQL
#include <redlock/mysql.hpp>
#endif
#ifdef REDLOCK_HAS_POSTGRESQL
#include <redlock/postgresql.hpp>
#endif
#ifdef REDLOCK_HAS_ZOOKEEPER
#include <redlock/zookeeper.hpp>
#endif

namespace redlock::cli {

std::vector<store> known_stores()
{
    return {
#ifdef REDLOCK_HAS_ETCD
        etcd(),
#endif
#ifdef REDLOCK_HAS_MYSQL
        mysql(),
#endif
#ifdef REDLOCK_HAS_POSTGRESQL
        postgresql(),
#endif
#ifdef REDLOCK_HAS_ZOOKEEPER
        zookeeper(),
#endif
    };
}

}  // namespace redlock::cli
