#pragma once

#include "locks/acquire_request.hpp"
#include "locks/waiters.hpp"
#include "quorum/round.hpp"
#include "runtime/task.hpp"
#include "support/manager_test.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace redlock::test {

/// Sends @p r, and waits until it is decided and each node that can answer has answered.
inline void gather(virtual_world& w, quorum::round& r)
{
    bool decided = false;
    auto const wait = [](quorum::round& asked) -> runtime::task<bool> {
        co_await asked.gather();
        co_return true;
    };
    runtime::begin(wait(r), [&](std::exception_ptr const&, bool) { decided = true; });
    w.run_to([&] { return decided; });
    w.run_for(1ms);
}

/// A fixture for the parts of an acquisition: the state of a manager, and a second manager, which stands for another
/// process. Both are connected to three servers.
struct acquisition_parts {
    explicit acquisition_parts(manager_options const& settings = {}) : ours(w.manager(settings))
    {
        for (auto* const m : {ours.get(), other.get()}) {
            w.acquire(*m, "warm-up");
            w.run_for(1ms);
        }
    }

    lock_world w{3};
    std::unique_ptr<lock_manager> ours;
    std::unique_ptr<lock_manager> other = w.manager();
    std::shared_ptr<locks::manager_state> state = detail::access::state_of(*ours);

    locks::acquire_request request(resource_set names, acquire_options const& options = {})
    {
        return {*state, std::move(names), options};
    }

    locks::acquire_request request_of_any(resource_set names)
    {
        return {*state, detail::selection::any_of(std::move(names)), acquire_options()};
    }

    /// A round that asks for what @p r wants. It contends and watches, like the rounds after the first.
    std::shared_ptr<quorum::round> round_for(locks::acquire_request const& r)
    {
        quorum::round_command asked(state->quorum, commands::acquire{.any = r.wants_any(), .watch = true}, r.keys(),
                                    state->make_token(r.options), r.options.ttl, r.mode_on_nodes());
        asked.contend(state->quorum.contender, false);
        return quorum::make_round(state->quorum, std::move(asked));
    }

    void gather(quorum::round& r) { test::gather(w, r); }

    /// A round like @ref round_for that was not sent, and that each node answers with @p reply.
    std::shared_ptr<quorum::round> answered(locks::acquire_request const& r, node_reply const& reply)
    {
        auto asked = round_for(r);
        asked->started = w.now;
        for (auto& b : asked->ballots)
            b.complete(reply);
        return asked;
    }
};

/// A waiter in the queues of a manager, which only counts how often it is woken.
class counting_waiter final : public locks::waiter {
public:
    counting_waiter(acquisition_parts& in, locks::acquire_request const& r)
        : request_(r), place_(std::in_place, in.state->waiters, r.names(), *this)
    {
    }

    locks::waiters::place& place() { return *place_; }
    void leave() { place_.reset(); }

    void wake() override { ++woken; }
    bool stopped() const noexcept override { return false; }
    bool wants_several() const noexcept override { return request_.wants_several(); }
    bool takes_over() const noexcept override { return !request_.wants_several() && !request_.wants_any(); }
    bool wants_any() const noexcept override { return request_.wants_any(); }
    bool shares() const noexcept override { return request_.shares(); }
    std::string_view holds_up_to() const noexcept override { return {}; }
    bool awaits(core::watched, std::size_t, std::string_view) const override { return false; }
    void may_be_free(core::watched, std::size_t, std::string_view) override {}

    int woken = 0;

private:
    locks::acquire_request const& request_;
    std::optional<locks::waiters::place> place_;
};

}  // namespace redlock::test
