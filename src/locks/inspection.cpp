#include "core/key.hpp"
#include "locks/check.hpp"
#include "locks/waiting_operation.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace redlock::inline v0::locks {

namespace {

using namespace std::chrono_literals;

mode mode_of(std::string_view value) noexcept { return value == core::shared_word ? mode::shared : mode::exclusive; }

/// One call of `lock_manager::async_inspect`.
class inspection final : public waiting_operation<inspection> {
public:
    inspection(std::shared_ptr<manager_state> s, std::string resource,
               detail::completion<void(error_code, lock_info)> handler)
        : waiting_operation(std::move(s)), done(std::move(handler)), resource_(std::move(resource))
    {
    }

    static runtime::task<error_code> ask_nodes(std::shared_ptr<inspection> self)
    {
        auto& state = *self->state_;
        state.operations.enter(*self);
        if (self->stopped())
            co_return asio::error::operation_aborted;
        if (!locks::check_resource(self->resource_, state.settings.prefix).empty())
            co_return errc::invalid_argument;

        auto const key = state.settings.prefix + self->resource_;
        auto const answers = detail::make_recycled<quorum::round>(state.quorum, node_command::kind::inspect,
                                                                  quorum::key_list{key}, std::string(), 0ms);
        co_await self->gather(*answers);

        if (self->cancelled_)
            co_return asio::error::operation_aborted;
        self->summarise(*answers);
        auto const known =
            std::count_if(self->info.nodes.begin(), self->info.nodes.end(), [](auto& n) { return !n.error; });
        co_return static_cast<std::size_t>(known) < core::majority(self->info.nodes.size())
            ? make_error_code(errc::no_quorum)
            : error_code();
    }

    void complete(error_code ec) { done(ec, std::move(info)); }

    detail::completion<void(error_code, lock_info)> done;

    lock_info info;

private:
    void summarise(quorum::round const& answers)
    {
        info.resource = resource_;
        std::map<std::string, std::vector<std::chrono::milliseconds>> holders;
        for (auto const& b : answers.ballots) {
            auto const& r = b.reply;
            bool const locked = r.vote == vote::granted;
            info.nodes.push_back({state_->quorum.nodes[b.node].name(), r.error, locked, mode_of(r.text),
                                  locked ? std::string(core::owner_in(r.text)) : std::string(),
                                  locked ? r.remaining : 0ms});
            if (locked)
                holders[r.text].push_back(r.remaining.count() < 0 ? std::chrono::milliseconds::max() : r.remaining);
        }
        auto const needed = core::majority(info.nodes.size());
        for (auto& [value, remaining] : holders) {
            if (remaining.size() < needed)
                continue;
            // The lock keeps its majority until fewer than a majority of its keys are left.
            std::sort(remaining.begin(), remaining.end(), std::greater<>());
            info.locked = true;
            info.mode = mode_of(value);
            info.owner = core::owner_in(value);
            info.remaining = remaining[needed - 1];
        }
    }

    std::string const resource_;
};

}  // namespace

void start_inspect(std::shared_ptr<manager_state> s, std::string resource, detail::inspect_handler handler)
{
    if (s->abandoned())
        return handler(asio::error::operation_aborted, lock_info());
    auto i = std::make_shared<inspection>(s, std::move(resource), std::move(handler));
    i->done.on_cancel(i);
    s->operations.run(i, inspection::ask_nodes(i));
}

}  // namespace redlock::locks
