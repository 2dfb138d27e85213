#include "tools/redlock/locks/with_source.hpp"

#include "tools/redlock/locks/node_source.hpp"
#include "tools/redlock/locks/service_source.hpp"
#include "tools/redlock/locks/with_locks.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <fmt/format.h>

namespace redlock::cli {

namespace {

asio::awaitable<int> run_with_nodes(lock_manager& locks, std::string const& command,
                                    std::function<asio::awaitable<int>(lock_source&)> const& body)
{
    node_source source(locks, command);
    co_return co_await body(source);
}

}  // namespace

int with_source(settings const& s, std::string const& command,
                std::function<asio::awaitable<int>(lock_source&)> const& body)
{
    if (s.services.empty())
        return with_locks(s, [&](lock_manager& locks) { return run_with_nodes(locks, command, body); });
    asio::io_context context(1);
    service_source source(context.get_executor(), s, command);
    auto status = asio::co_spawn(context, body(source), asio::use_future);
    context.run();
    return status.get();
}

void must_have_nodes(command_line const& line, settings const& s, std::string_view option)
{
    if (!s.services.empty())
        line.refuse(fmt::format("{} needs the lock servers themselves, because {}, a service, tells neither tokens nor "
                                "who waits for whom: -u redis://HOST",
                                option, s.services.front().name()));
}

void must_suit_service(command_line const& line, settings const& s)
{
    if (!s.services.empty() && line.count("--owner") > 0)
        line.refuse(fmt::format("--owner is \"{}\", but {}, a service, is the owner of its locks: say --note instead",
                                s.locks.owner, s.services.front().name()));
}

}  // namespace redlock::cli
