#include "locks/check.hpp"
#include "locks/look/lock_summary.hpp"
#include "locks/asking_operation.hpp"

#include <boost/asio/error.hpp>

#include <memory>
#include <string>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

/// One call of `lock_manager::async_inspect`.
class inspection final : public asking_operation<inspection> {
public:
    inspection(std::shared_ptr<manager_state> s, std::string resource, detail::inspect_handler handler)
        : asking_operation(std::move(s)), done(std::move(handler)), resource_(std::move(resource))
    {
    }

    static runtime::task<error_code> ask_nodes(std::shared_ptr<inspection> self)
    {
        auto& state = *self->state_;
        state.operations.enter(*self);
        if (self->stopped())
            co_return asio::error::operation_aborted;
        if (!check_resource(self->resource_, state.settings.prefix).empty())
            co_return errc::invalid_argument;
        auto const answers = quorum::make_round(state.quorum, to_inspect(state, self->resource_));
        co_await self->gather(*answers);
        if (self->cancelled_)
            co_return asio::error::operation_aborted;
        self->info_ = summary_of(*answers, self->resource_);
        co_return is_known(self->info_) ? error_code() : make_error_code(errc::no_quorum);
    }

    void complete(error_code ec) { done(ec, std::move(info_)); }

    detail::inspect_handler done;

private:
    std::string const resource_;
    lock_info info_;
};

}  // namespace

void start_inspect(std::shared_ptr<manager_state> s, std::string resource, detail::inspect_handler handler)
{
    inspection::start(inspection::ask_nodes, std::move(s), std::move(resource), std::move(handler));
}

}  // namespace redlock::locks
