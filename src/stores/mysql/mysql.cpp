#include <redlock/mysql.hpp>

#include "stores/kit/database_options.hpp"
#include "stores/kit/database_store.hpp"
#include "stores/kit/steps.hpp"
#include "stores/mysql/address.hpp"
#include "stores/mysql/encoder.hpp"
#include "stores/mysql/schema.hpp"
#include "stores/mysql/session.hpp"

#include <redlock/lock.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::stores::mysql {

namespace {

kit::database database_at(std::shared_ptr<address const> const& where, manager_options const& settings)
{
    auto make_session = [where, timeout = settings.connect_timeout](asio::any_io_executor e, std::size_t,
                                                                    kit::session::owner& o) {
        return std::make_shared<session>(std::move(e), where, timeout, o);
    };
    return {where->name, "mysql", where->options.connections, where->options.timeout, make_session};
}

}  // namespace

}  // namespace redlock::stores::mysql

namespace redlock::inline v1 {

store mysql(mysql_options options)
{
    stores::kit::check_defaults(options, &stores::mysql::check, "mysql_options");
    return stores::kit::database_store({"mysql", "mariadb"}, std::move(options), &stores::mysql::parse_address,
                                       &stores::mysql::database_at);
}

sql_statement owns(mysql_options const& where, lock_handle const& held, std::string_view prefix)
{
    std::vector<std::string> keys;
    for (auto const& resource : held.resources())
        keys.push_back(std::string(prefix) + resource);
    if (keys.empty())
        keys.emplace_back();  // no lock has the empty key
    return {.text = stores::kit::for_table("CALL redlock_owns(UNHEX(?), UNHEX(?))", where.table),
            .parameters = {stores::kit::in_hex(stores::mysql::joined({keys.begin(), keys.end()})),
                           stores::kit::in_hex(held.token())}};
}

}  // namespace redlock
