#include <redlock/postgresql.hpp>

#include "stores/kit/database_options.hpp"
#include "stores/kit/database_store.hpp"
#include "stores/kit/steps.hpp"
#include "stores/postgresql/address.hpp"
#include "stores/postgresql/hosts.hpp"
#include "stores/postgresql/schema.hpp"
#include "stores/postgresql/session.hpp"

#include <redlock/lock.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores::postgresql {

namespace {

// Three times the interval in which hosts are asked.
constexpr std::chrono::milliseconds heard_within{3000};

std::shared_ptr<hosts> make_hosts(asio::any_io_executor executor, std::shared_ptr<address const> where,
                                  std::chrono::milliseconds timeout)
{
    auto make_probe = [executor, where, timeout](found const& host, kit::session::owner& o, hosts::report tell) {
        auto const one = std::make_shared<address const>(only(*where, host));
        return std::make_shared<session>(executor, one, timeout, std::move(tell), o);
    };
    return std::make_shared<hosts>(std::move(executor), std::move(make_probe));
}

kit::database database_at(std::shared_ptr<address const> const& where, manager_options const& settings)
{
    // Made by the first session, because the node knows its executor only then.
    auto const all = std::make_shared<std::shared_ptr<hosts>>();
    auto make_session = [where, timeout = settings.connect_timeout, all](asio::any_io_executor e, std::size_t i,
                                                                         kit::session::owner& o) {
        if (!*all)
            *all = make_hosts(e, where, timeout);
        return std::make_shared<session>(std::move(e), where, *all, timeout, i == 0, o);
    };
    auto const& o = where->options;
    return {where->name, "postgresql", o.connections, o.timeout, make_session, heard_within};
}

}  // namespace

}  // namespace redlock::stores::postgresql

namespace redlock::inline v1 {

store postgresql(postgresql_options options)
{
    stores::kit::check_defaults(options, &stores::postgresql::check, "postgresql_options");
    return stores::kit::database_store({"postgresql", "postgres"}, std::move(options),
                                       &stores::postgresql::parse_address, &stores::postgresql::database_at);
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
