#include "postgresql/address.hpp"
#include "postgresql/session.hpp"
#include "sql/database_node.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace redlock {

store postgresql(postgresql_options options)
{
    try {
        pg::check(options);
    } catch (std::invalid_argument const& e) {
        throw std::invalid_argument(std::string("redlock::postgresql_options: ") + e.what());
    }
    auto make = [options = std::move(options)](std::string_view url, config const& settings, store_context const& context) {
        auto const where = std::make_shared<pg::address const>(pg::parse_address(url, options));
        auto make_session = [where, timeout = settings.connect_timeout](asio::any_io_executor e, std::size_t i, sql::session::owner& o) {
            return std::make_shared<pg::session>(std::move(e), where, timeout, i == 0, o);
        };
        return sql::make_database_node({where->name, "postgresql", where->options.connections, where->options.timeout, make_session}, settings, context);
    };
    return {.schemes = {"postgresql", "postgres"}, .make = std::move(make)};
}

}  // namespace redlock
