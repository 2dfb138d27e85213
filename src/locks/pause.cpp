#include "locks/pause.hpp"

#include "core/validity.hpp"
#include "locks/waiting_operation.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::inline v1::locks {

namespace {

using std::chrono::milliseconds;

class pause final : public waiting_operation<pause> {
public:
    pause(std::shared_ptr<manager_state> s, core::pause_range range, std::function<void(milliseconds)> begun,
          detail::error_handler handler)
        : waiting_operation(std::move(s)), done(std::move(handler)), range_(range), begun_(std::move(begun))
    {
    }

    static runtime::task<error_code> run(std::shared_ptr<pause> self)
    {
        auto& p = *self;
        auto& state = *p.state_;
        state.operations.enter(p);
        if (p.stopped())
            co_return asio::error::operation_aborted;
        auto const [least, most] = p.range_;
        auto const length = least
                            + std::chrono::floor<milliseconds>(core::part_of(most - least, state.runtime.random()[0]));
        if (p.begun_)
            p.begun_(length);
        co_await p.sleep(core::later(state.now(), length));
        co_return p.cancelled_ ? make_error_code(asio::error::operation_aborted) : error_code();
    }

    void complete(error_code ec) { done(ec); }

    detail::error_handler done;

private:
    core::pause_range const range_;
    std::function<void(milliseconds)> const begun_;
};

}  // namespace

void start_pause(std::shared_ptr<manager_state> s, core::pause_range range, std::function<void(milliseconds)> begun,
                 detail::error_handler handler)
{
    pause::start(pause::run, std::move(s), range, std::move(begun), std::move(handler));
}

}  // namespace redlock::locks
