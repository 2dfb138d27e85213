// Bodies that are temporaries. A line with "warns" has a closure that g++ 12 destroys twice.

#include <redlock.hpp>
#include <redlock/elect.hpp>
#include <redlock/lock_scope.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <memory>
#include <string>

namespace asio = boost::asio;
using asio::awaitable;
using redlock::elected;
using redlock::lock;

struct job {
    std::string name;

    awaitable<void> operator()(lock&) const { co_return; }
};

job make_job() { return {}; }

// clang-format off
awaitable<void> every_form(redlock::lock_manager& l, redlock::lock_scope scope, std::string s,
                           redlock::acquire_options o)
{
    redlock::resource_set const two = redlock::slots("x", 2);
    co_await l.with_lock("x", o, [s](lock&) -> awaitable<void> { co_return; });                              // warns
    co_await l.with_lock("x", [s](lock&) -> awaitable<void> { co_return; });                                 // warns
    co_await l.with_lock({"x", "y"}, {.note = "n"}, [s](lock&) -> awaitable<void> { co_return; });     // warns
    co_await l.with_any_lock(two, o, [s](lock&) -> awaitable<void> { co_return; });                          // warns
    co_await l.with_any_lock(two, [s](lock&) -> awaitable<void> { co_return; });                             // warns
    co_await scope.with_lock("x", o, [s](lock&) -> awaitable<void> { co_return; });                          // warns
    co_await scope.with_lock("x", [s](lock&) -> awaitable<void> { co_return; });                             // warns
    co_await l.with_lock("x", o, [s](lock&) -> awaitable<void> { co_return; }, asio::use_awaitable);         // warns
    co_await l.with_lock("x", [s](lock&) -> awaitable<void> { co_return; }, asio::as_tuple(asio::deferred)); // warns
    co_await l.with_any_lock("x", o, [s](lock&) -> awaitable<void> { co_return; }, asio::deferred);          // warns
    co_await l.with_any_lock("x", [s](lock&) -> awaitable<void> { co_return; }, asio::deferred);             // warns
    co_await scope.with_lock("x", o, [s](lock&) -> awaitable<void> { co_return; }, asio::deferred);          // warns
    co_await scope.with_lock("x", [s](lock&) -> awaitable<void> { co_return; }, asio::deferred);             // warns
    co_await l.with_lock("x", o, job{s});                                                                    // warns
    co_await redlock::elect(l, "x", {}, [s](lock&) -> awaitable<elected> { co_return elected::done; });      // warns

    co_await l.with_lock("x", o, [&s](lock&) -> awaitable<void> { co_return; });
    co_await l.with_lock("x", [](lock&) -> awaitable<void> { co_return; });
    co_await l.with_lock("x", o, [p = s.data()](lock&) -> awaitable<int> { co_return *p; });
    co_await redlock::elect(l, "x", {}, [&](lock&) -> awaitable<elected> { co_return elected::done; });
    l.with_lock("x", o, [s](lock&) -> awaitable<void> { co_return; }, asio::detached);
    l.with_lock("x", [s](lock&) -> awaitable<void> { co_return; }, [](std::exception_ptr) {});

    auto named = [s](lock&) -> awaitable<void> { co_return; };
    auto const constant = named;
    co_await l.with_lock("x", o, named);
    co_await l.with_lock("x", named);
    co_await l.with_any_lock("x", o, constant);
    co_await scope.with_lock("x", named);
    co_await l.with_lock("x", o, named, asio::use_awaitable);
    auto lead = [s](lock&) -> awaitable<elected> { co_return elected::done; };
    co_await redlock::elect(l, "x", {}, lead);

    auto owner = [p = std::make_unique<int>(1)](lock&) -> awaitable<int> { co_return *p; };
    co_await l.with_lock("x", o, std::ref(owner));

    std::function<awaitable<void>(lock&)> any = named;
    co_await l.with_lock("x", o, std::move(any));
    auto const made = make_job();
    co_await l.with_lock("x", o, made);
}
