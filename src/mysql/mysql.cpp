#include "mysql/address.hpp"
#include "mysql/session.hpp"
#include "sql/database_node.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace redlock {

store mysql(mysql_options options)
{
    try {
        my::check(options);
    } catch (std::invalid_argument const& e) {
        throw std::invalid_argument(std::string("redlock::mysql_options: ") + e.what());
    }
    auto make = [options = std::move(options)](std::string_view url, config const& settings, store_context const& context) {
        auto const where = std::make_shared<my::address const>(my::parse_address(url, options));
        auto make_session = [where, timeout = settings.connect_timeout](asio::any_io_executor e, std::size_t, sql::session::owner& o) {
            return std::make_shared<my::session>(std::move(e), where, timeout, o);
        };
        return sql::make_database_node({where->name, "mysql", where->options.connections, where->options.timeout, make_session}, settings, context);
    };
    return {.schemes = {"mysql", "mariadb"}, .make = std::move(make)};
}

}  // namespace redlock
