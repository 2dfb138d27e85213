#include <redlock/lock_manager.hpp>

#include "locks/check.hpp"
#include "locks/manager_state.hpp"
#include "events/event_log.hpp"
#include "runtime/manual_runtime.hpp"
#include "stores/make_node.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace redlock::inline v1 {

namespace {

[[noreturn]] void refuse(std::string const& wrong)
{
    throw std::invalid_argument("redlock::manager_options: " + wrong);
}

}  // namespace

namespace locks {

namespace {

std::shared_ptr<runtime::runtime> make_runtime(asio::any_io_executor executor, manager_options const& settings)
{
    return settings.test_clock ? runtime::make_manual_runtime(std::move(executor), settings.test_clock)
                               : runtime::make_system_runtime(std::move(executor));
}

}  // namespace

std::shared_ptr<manager_state> make_manager_state(asio::any_io_executor executor, manager_options settings)
{
    return make_manager_state(std::move(executor), std::move(settings), {});
}

std::shared_ptr<manager_state> make_manager_state(asio::any_io_executor executor, manager_options settings,
                                                  std::vector<std::shared_ptr<node>> given)
{
    auto const named = settings.nodes;
    for (auto const& n : given) {
        if (!n)
            refuse("one of the nodes given as objects is null");
        settings.nodes.push_back(n->name());
    }
    if (auto const wrong = check(settings); !wrong.empty())
        refuse(wrong);
    auto runtime = make_runtime(executor, settings);
    auto log = std::make_shared<events::event_log>(runtime, std::exchange(settings.log, nullptr), settings.observer);
    settings.log = log->as_function();
    settings.nodes = named;
    if (settings.read_only) {
        settings.fencing = settings.record = false;
        settings.restart_guard = restart_guard::off;  // an inspection needs no votes
        settings.allow_eviction = true;
    }
    auto nodes = stores::make_nodes(settings, runtime);
    for (auto& n : given) {
        if (std::any_of(nodes.begin(), nodes.end(),
                        [&](auto& other) { return other == n || other->name() == n->name(); }))
            refuse("the node \"" + n->name() + "\" is given twice; one server has one vote");
        nodes.push_back(std::move(n));
    }
    return manager_state::make(std::move(executor), std::move(runtime), std::move(settings), std::move(nodes),
                               std::move(log));
}

void shut_down_in_background(std::shared_ptr<manager_state> s) noexcept
{
    if (!s->abandoned())
        s->shut_down_in_background();
}

stats stats_of(manager_state const& s) { return s.stats(); }

asio::any_io_executor executor_of(std::shared_ptr<manager_state> const& s) noexcept
{
    if (s->abandoned())
        return detail::nowhere();
    return s->user_executor();
}

namespace {

/// One call of `lock_manager::async_shutdown`. Cancellation ends only the wait, not the shutdown.
class shutdown_wait final : public runtime::shared_operation<shutdown_wait> {
public:
    shutdown_wait(std::shared_ptr<manager_state> s, shutdown_options options, detail::error_handler handler)
        : shared_operation(s->strand()), state_(std::move(s)), options_(options), done_(std::move(handler))
    {
    }

    void start()
    {
        if (done_)
            done_.on_cancel(this->weak_from_this());
        asio::dispatch(state_->strand(), [self = shared_from_this()] {
            self->state_->shut_down([self](std::size_t keys_left) { self->ended(keys_left); });
        });
    }

    void cancel(asio::cancellation_type) override { complete(asio::error::operation_aborted); }
    void abandon() override {}

private:
    void ended(std::size_t keys_left)
    {
        complete(keys_left > 0 && options_.keys_left_is_error ? make_error_code(errc::keys_left) : error_code());
    }

    void complete(error_code ec)
    {
        if (done_)
            done_(ec);
    }

    std::shared_ptr<manager_state> const state_;
    shutdown_options const options_;
    detail::error_handler done_;
};

}  // namespace

void start_shutdown(std::shared_ptr<manager_state> s, shutdown_options options, detail::error_handler handler)
{
    if (s->abandoned()) {
        if (handler)
            handler(error_code());
        return;
    }
    std::make_shared<shutdown_wait>(std::move(s), options, std::move(handler))->start();
}

}  // namespace locks
}  // namespace redlock
