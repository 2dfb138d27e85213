#include <redlock/mysql.hpp>

#include "stores/kit/database_node.hpp"
#include "stores/kit/database_options.hpp"
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

namespace redlock::inline v1 {

store mysql(mysql_options options)
{
    stores::kit::check_defaults(options, &stores::mysql::check, "mysql_options");
    auto make = [options = std::move(options)](std::string_view url, manager_options const& settings,
                                               store_context const& context) {
        auto parsed = stores::mysql::parse_address(url, options);
        parsed.read_only = settings.read_only;
        parsed.max_ttl = settings.max_ttl;
        parsed.credentials = settings.credentials;
        auto const where = std::make_shared<stores::mysql::address const>(std::move(parsed));
        auto make_session = [where, timeout = settings.connect_timeout](asio::any_io_executor e, std::size_t,
                                                                        stores::kit::session::owner& o) {
            return std::make_shared<stores::mysql::session>(std::move(e), where, timeout, o);
        };
        return stores::kit::make_database_node(
            {where->name, "mysql", where->options.connections, where->options.timeout, make_session}, settings,
            context);
    };
    return {.schemes = {"mysql", "mariadb"}, .make = std::move(make)};
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
