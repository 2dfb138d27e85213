#include "core/check.hpp"
#include "core/key.hpp"
#include "manager/engine.hpp"
#include "manager/round.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace redlock::detail {

namespace {

using namespace std::chrono_literals;

/// One call of `lock_manager::async_inspect`.
class inspection final : public shared_operation<inspection> {
public:
    inspection(std::shared_ptr<engine> e, std::string resource, completion<void(error_code, lock_info)> handler)
        : shared_operation(e->strand()), done(std::move(handler)), engine_(std::move(e)), resource_(std::move(resource))
    {
    }

    static flow<error_code> ask_nodes(std::shared_ptr<inspection> self)
    {
        auto& e = *self->engine_;
        e.enter(*self);
        if (self->cancelled_ || !e.open())
            co_return asio::error::operation_aborted;
        if (!core::check_resource(self->resource_, e.settings().prefix).empty())
            co_return errc::invalid_argument;

        auto const key = e.settings().prefix + self->resource_;
        auto const answers = make_recycled<round>(e, node_command::kind::inspect, key, std::string(), 0ms);
        self->round_ = answers;
        co_await answers->gather();

        if (self->cancelled_)
            co_return asio::error::operation_aborted;
        self->summarise(*answers);
        auto const known = std::count_if(self->info.nodes.begin(), self->info.nodes.end(), [](auto& n) { return !n.error; });
        co_return static_cast<std::size_t>(known) < core::majority(self->info.nodes.size()) ? make_error_code(errc::no_quorum)
                                                                                             : error_code();
    }

    void complete(error_code ec) { done(ec, std::move(info)); }

    void cancel(asio::cancellation_type) override
    {
        cancelled_ = true;
        if (round_)
            round_->abandon();
    }

    void drop() override
    {
        if (round_)
            round_->drop();
    }

    completion<void(error_code, lock_info)> done;

    lock_info info;

private:
    void summarise(round const& answers)
    {
        info.resource = resource_;
        std::map<std::string, std::vector<std::chrono::milliseconds>> holders;
        for (auto const& b : answers.ballots) {
            auto const& r = b.reply;
            bool const locked = r.vote == vote::granted;
            info.nodes.push_back({engine_->nodes()[b.node]->name(), r.error, locked,
                                  locked ? std::string(core::owner_in(r.text)) : std::string(), locked ? r.remaining : 0ms});
            if (locked)
                holders[r.text].push_back(r.remaining.count() < 0 ? std::chrono::milliseconds::max() : r.remaining);
        }
        auto const needed = core::majority(info.nodes.size());
        for (auto& [value, remaining] : holders) {
            if (remaining.size() < needed)
                continue;
            // It keeps its majority until so many keys have gone that fewer than a majority are left.
            std::sort(remaining.begin(), remaining.end(), std::greater<>());
            info.locked = true;
            info.owner = core::owner_in(value);
            info.remaining = remaining[needed - 1];
        }
    }

    std::shared_ptr<engine> const engine_;
    std::string const resource_;
    bool cancelled_ = false;
    std::shared_ptr<round> round_;
};

}  // namespace

void start_inspect(std::shared_ptr<engine> e, std::string resource, inspect_handler handler)
{
    if (e->abandoned())
        return handler(asio::error::operation_aborted, lock_info());
    auto i = std::make_shared<inspection>(e, std::move(resource), std::move(handler));
    i->done.on_cancel(i);
    run_operation(*e, i, inspection::ask_nodes(i));
}

}  // namespace redlock::detail
