#include <redlock/postgresql.hpp>

#include "stores/kit/database_node.hpp"
#include "stores/kit/database_options.hpp"
#include "stores/kit/steps.hpp"
#include "stores/postgresql/address.hpp"
#include "stores/postgresql/hosts.hpp"
#include "stores/postgresql/schema.hpp"
#include "stores/postgresql/session.hpp"

#include <redlock/lock.hpp>

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace redlock::inline v1 {

namespace {

// Three times the interval in which hosts are asked.
constexpr std::chrono::milliseconds heard_within{3000};

std::shared_ptr<stores::postgresql::hosts> make_hosts(asio::any_io_executor executor,
                                                      std::shared_ptr<stores::postgresql::address const> where,
                                                      std::chrono::milliseconds timeout)
{
    auto make_probe = [executor, where, timeout](stores::postgresql::found const& host, stores::kit::session::owner& o,
                                                 stores::postgresql::hosts::report tell) {
        auto const one = std::make_shared<stores::postgresql::address const>(stores::postgresql::only(*where, host));
        return std::make_shared<stores::postgresql::session>(executor, one, timeout, std::move(tell), o);
    };
    return std::make_shared<stores::postgresql::hosts>(std::move(executor), std::move(make_probe));
}

}  // namespace

store postgresql(postgresql_options options)
{
    stores::kit::check_defaults(options, &stores::postgresql::check, "postgresql_options");
    auto make = [options = std::move(options)](std::string_view url, manager_options const& settings,
                                               store_context const& context) {
        auto parsed = stores::postgresql::parse_address(url, options);
        parsed.read_only = settings.read_only;
        parsed.max_ttl = settings.max_ttl;
        parsed.credentials = settings.credentials;
        auto const where = std::make_shared<stores::postgresql::address const>(std::move(parsed));
        // Made by the first session, because the node knows its executor only then.
        auto const all = std::make_shared<std::shared_ptr<stores::postgresql::hosts>>();
        auto make_session = [where, timeout = settings.connect_timeout, all](asio::any_io_executor e, std::size_t i,
                                                                             stores::kit::session::owner& o) {
            if (!*all)
                *all = make_hosts(e, where, timeout);
            return std::make_shared<stores::postgresql::session>(std::move(e), where, *all, timeout, i == 0, o);
        };
        auto const& o = where->options;
        return stores::kit::make_database_node(
            {where->name, "postgresql", o.connections, o.timeout, make_session, heard_within}, settings, context);
    };
    return {.schemes = {"postgresql", "postgres"}, .make = std::move(make)};
}

sql_statement owns(postgresql_options const& where, lock_handle const& held, std::string_view prefix)
{
    std::string keys;
    for (auto const& resource : held.resources())
        keys += (keys.empty() ? "" : ",")
                + fmt::format(R"("\\x{}")", stores::kit::in_hex(std::string(prefix) + resource));
    if (keys.empty())
        keys = "\"\"";  // no lock has the empty key
    return {
        .text = stores::kit::for_table("SELECT redlock_owns($1::bytea[], $2::bytea)",
                                       where.schema.empty() ? where.table : stores::postgresql::full_table_of(where)),
        .parameters = {"{" + keys + "}", "\\x" + stores::kit::in_hex(held.token())}};
}

}  // namespace redlock
