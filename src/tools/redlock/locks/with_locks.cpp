#include "tools/redlock/locks/with_locks.hpp"

#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/server_place.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace redlock::cli {

namespace {

asio::awaitable<int> run_and_stop(lock_manager& locks, std::function<asio::awaitable<int>(lock_manager&)> const& body)
{
    std::exception_ptr thrown;
    int status = failed;
    try {
        status = co_await body(locks);
    } catch (...) {
        thrown = std::current_exception();
    }
    co_await locks.async_shutdown(runtime::as_result);
    if (thrown)
        std::rethrow_exception(thrown);
    co_return status;
}

}  // namespace

lock_manager manager_of(asio::any_io_executor executor, settings const& s)
{
    try {
        return lock_manager(std::move(executor), s.locks);
    } catch (std::invalid_argument const& e) {
        throw early_exit(wrong_configuration, std::string("redlock: ") + e.what());
    }
}

void must_outlive_processes(settings const& s, std::string_view command)
{
    for (auto const& n : named_nodes(s.locks)) {
        if (n.ends_with_session)
            throw early_exit(wrong_configuration,
                             fmt::format("redlock {}: {} ends its locks with the session of the process that "
                                         "acquired them; use redlock run or redlock hold",
                                         command, n.name));
    }
}

int with_locks(settings const& s, std::function<asio::awaitable<int>(lock_manager&)> const& body)
{
    asio::io_context context(1);
    auto locks = manager_of(context.get_executor(), s);
    auto status = asio::co_spawn(context, run_and_stop(locks, body), asio::use_future);
    context.run();
    return status.get();
}

}  // namespace redlock::cli
