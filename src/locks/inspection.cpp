#include "core/key.hpp"
#include "locks/check.hpp"
#include "locks/waiting_operation.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::inline v0::locks {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t clients_max = 64;

mode mode_of(std::string_view value) noexcept { return value == core::shared_word ? mode::shared : mode::exclusive; }

std::optional<std::chrono::system_clock::time_point> time_of(core::holder const& by)
{
    using std::chrono::milliseconds, std::chrono::system_clock;
    // Another client may have written any number.
    constexpr auto latest = std::chrono::floor<milliseconds>(system_clock::duration::max()).count();
    if (by.since == 0 || by.since > static_cast<std::uint64_t>(latest))
        return std::nullopt;
    return system_clock::time_point(milliseconds(by.since));
}

/// The readers and waiting clients that the nodes list, each once.
class clients {
public:
    void add(key_details const& of)
    {
        knows_readers_ = knows_readers_ || of.knows_readers;
        knows_waiters_ = knows_waiters_ || of.knows_waiters;
        for (auto const& r : of.readers) {
            auto& known = readers_[r.value];
            known.remaining = known.nodes++ == 0 ? r.remaining : std::max(known.remaining, r.remaining);
        }
        for (auto const& w : of.waiters) {
            auto& known = waiters_[w.contender];
            known.shares = w.shares;
            if (known.note.empty())
                known.note = w.note;
        }
    }

    void move_to(lock_info& info)
    {
        info.knows_readers = knows_readers_;
        info.knows_waiters = knows_waiters_;
        for (auto& [value, r] : readers_) {
            auto const by = core::holder_in(value);
            r.owner = by.owner;
            r.note = by.note;
            r.since = time_of(by);
            r.value = value;
            if (info.readers.size() < clients_max)
                info.readers.push_back(std::move(r));
        }
        for (auto& [contender, w] : waiters_) {
            w.owner = core::owner_of_contender(contender);
            w.id = contender;
            if (info.waiters.size() < clients_max)
                info.waiters.push_back(std::move(w));
        }
    }

private:
    bool knows_readers_ = false, knows_waiters_ = false;
    std::map<std::string, reader_info> readers_;
    std::map<std::string, waiting_info> waiters_;
};

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
        clients others;
        for (auto const& b : answers.ballots) {
            auto const& r = b.reply;
            bool const locked = r.vote == vote::granted;
            auto& node = info.nodes.emplace_back(
                node_lock_info{.name = state_->quorum.nodes[b.node].name(), .error = r.error, .locked = locked});
            if (locked) {
                auto const by = core::holder_in(r.text);
                node.mode = mode_of(r.text);
                node.owner = by.owner;
                node.note = by.note;
                node.remaining = r.remaining;
                node.value = r.text;
            }
            if (r.details)
                others.add(*r.details);
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
            auto const by = core::holder_in(value);
            info.owner = by.owner;
            info.note = by.note;
            info.since = time_of(by);
            info.remaining = remaining[needed - 1];
        }
        others.move_to(info);
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
