#include "two_managers.hpp"

#include "interrupt.hpp"

#include <utility>

namespace redlock::bench {

using namespace std::chrono_literals;

two_managers::two_managers(manager_options const& c) : holder_(context_, c), waiter_(context_, c)
{
    for (auto* const m : {&holder_, &waiter_})
        release(acquire(*m, "bench:connects"));
}

two_managers::~two_managers()
{
    int left = 2;
    for (auto* const m : {&holder_, &waiter_})
        m->async_shutdown([&](error_code) { --left; });
    context_.restart();
    while (left > 0)
        context_.run_one_for(100ms);
}

void two_managers::run_until(std::function<bool()> const& done)
{
    context_.restart();
    while (!done()) {
        throw_if_interrupted();
        context_.run_one_for(100ms);
    }
}

void two_managers::run_for(std::chrono::milliseconds duration)
{
    auto const end = std::chrono::steady_clock::now() + duration;
    run_until([&] { return std::chrono::steady_clock::now() >= end; });
}

lock two_managers::acquire(lock_manager& by, resource_set const& names, acquire_options const& options)
{
    lock held;
    bool done = false;
    by.async_acquire(names, options, [&](error_code ec, lock l) {
        if (ec)
            throw system_error(ec, "cannot lock");
        held = std::move(l);
        done = true;
    });
    run_until([&] { return done; });
    return held;
}

void two_managers::release(lock held)
{
    bool done = false;
    held.async_release([&](error_code) { done = true; });
    run_until([&] { return done && holder_.stats().cleaning + waiter_.stats().cleaning == 0; });
}

std::vector<std::unique_ptr<testbed::plain_client>> connect_to_all(fleet const& servers)
{
    std::vector<std::unique_ptr<testbed::plain_client>> all;
    for (auto const& a : servers.addresses())
        all.push_back(std::make_unique<testbed::plain_client>(testbed::plain_client::connected{connect_to(a)}));
    return all;
}

}  // namespace redlock::bench
