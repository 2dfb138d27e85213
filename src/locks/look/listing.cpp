#include "core/glob.hpp"
#include "core/key.hpp"
#include "core/quorum.hpp"
#include "locks/check.hpp"
#include "locks/look/list_place.hpp"
#include "locks/look/lock_summary.hpp"
#include "locks/waiting_operation.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::inline v1::locks {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t pattern_max = 512;
constexpr std::size_t page_max = 1000;
constexpr std::size_t keys_max = 1000;  // that one page examines
constexpr std::size_t scans_max = 100;  // for one page: a server may have many keys that are no locks
constexpr std::size_t at_once = 64;     // inspections under way

/** One call of `lock_manager::async_list`.

    It scans one node after the other. A lock is in the list if no node that was scanned before has it. So the manager
    need not remember what it has listed.
*/
class listing final : public waiting_operation<listing> {
public:
    listing(std::shared_ptr<manager_state> s, std::string pattern, std::size_t page_size, std::string from,
            detail::list_handler handler)
        : waiting_operation(std::move(s)),
          done(std::move(handler)),
          pattern_(std::move(pattern)),
          page_size_(page_size),
          from_(std::move(from))
    {
    }

    static runtime::task<error_code> fill_page(std::shared_ptr<listing> self)
    {
        auto& state = *self->state_;
        state.operations.enter(*self);
        if (self->stopped())
            co_return asio::error::operation_aborted;
        auto const nodes = state.quorum.nodes.size();
        auto const place = list_place::read(self->from_, nodes);
        if (!place || self->pattern_.size() > pattern_max || self->page_size_ == 0 || self->page_size_ > page_max)
            co_return errc::invalid_argument;

        self->place_ = *place;
        for (std::size_t i = 0; i < nodes; ++i)
            self->page_.nodes.push_back(
                {.name = state.quorum.nodes[i].name(), .complete = !self->place_.failed.contains(i)});
        while (self->place_.node < nodes && !self->is_full()) {
            co_await scan(self);
            if (self->cancelled_)
                co_return asio::error::operation_aborted;
        }
        if (self->place_.node < nodes)
            self->page_.next = self->place_.text();
        co_return nodes - self->place_.failed.size() < core::majority(nodes) ? make_error_code(errc::no_quorum)
                                                                             : error_code();
    }

    void complete(error_code ec) { done(ec, std::move(page_)); }

    detail::list_handler done;

private:
    bool is_full() const { return page_.locks.size() >= page_size_ || examined_ >= keys_max || scans_ >= scans_max; }

    // Lists some keys of one node, and adds the locks that earlier nodes have not listed.
    static runtime::task<void> scan(std::shared_ptr<listing> self)
    {
        auto& state = *self->state_;
        auto const node = self->place_.node;
        if (self->place_.failed.contains(node)) {
            self->place_.next_node();
            co_return;
        }
        ++self->scans_;
        auto const prefix = state.settings.prefix + std::string(core::literal_head(self->pattern_));
        auto const limit = static_cast<std::uint32_t>(self->page_size_ - self->page_.locks.size());
        auto const scan = self->ask_only(
            node, {state.quorum, commands::scan{.limit = limit}, quorum::key_list{prefix}, self->place_.on_node, 0ms});
        co_await self->gather(*scan);
        if (self->cancelled_)
            co_return;
        auto const& reply = scan->ballots[node].reply;
        if (reply.vote != vote::granted || !reply.details) {
            self->fails(node, reply);
            co_return;
        }
        self->found_ = self->names_of_locks(reply.details->keys);
        self->examined_ += reply.details->keys.size();
        self->infos_.assign(self->found_.size(), std::nullopt);
        co_await inspect_found(self);
        for (auto& info : self->infos_) {
            if (info)
                self->page_.locks.push_back(std::move(*info));
        }
        if (reply.text.empty())
            self->place_.next_node();
        else
            self->place_.on_node = reply.text;
    }

    std::shared_ptr<quorum::round> ask_only(std::size_t node, quorum::round_command command) const
    {
        command.ask_only([node](std::size_t i) { return i == node; });
        return quorum::make_round(state_->quorum, std::move(command));
    }

    void fails(std::size_t node, node_reply const& why)
    {
        place_.failed.insert(node);
        auto& n = page_.nodes[node];
        n.complete = false;
        n.error = why.error ? why.error : make_error_code(errc::unexpected_reply);
        n.message = why.text;
        place_.next_node();
    }

    std::vector<std::string> names_of_locks(std::vector<std::string> const& keys) const
    {
        auto const& prefix = state_->settings.prefix;
        std::set<std::string> names;
        for (std::string_view const key : keys) {
            if (!key.starts_with(prefix) || !core::matches(pattern_, key.substr(prefix.size())))
                continue;
            if (auto const name = key.substr(prefix.size()); check_resource(name, prefix).empty())
                names.emplace(name);
        }
        return {names.begin(), names.end()};
    }

    // Inspects all locks that were found, some at the same time.
    static runtime::task<void> inspect_found(std::shared_ptr<listing> self)
    {
        self->next_ = 0;
        try {
            for (std::size_t i = 0; i < std::min(at_once, self->found_.size()); ++i)
                runtime::begin(inspect_some(self), [self](std::exception_ptr failure, bool) { self->ended(failure); });
        } catch (...) {  // out of memory: the inspections that have begun end first
            self->failure_ = std::current_exception();
            self->next_ = self->found_.size();
        }
        while (self->under_way_ > 0)
            co_await self->sleep(clock::time_point::max());
        if (auto const failure = std::exchange(self->failure_, nullptr))
            std::rethrow_exception(failure);
    }

    // Inspects one lock after the other, until none is left.
    static runtime::task<bool> inspect_some(std::shared_ptr<listing> self)
    {
        ++self->under_way_;
        while (self->next_ < self->found_.size() && !self->cancelled_) {
            auto const i = self->next_++;
            auto const& name = self->found_[i];
            auto const earlier = self->first_listed();
            if (earlier < self->place_.node) {
                // Most locks are on all nodes, so one node usually knows enough.
                auto const known = self->ask_only(earlier, to_inspect(*self->state_, name));
                co_await self->gather(*known);
                if (self->cancelled_ || is_there(known->ballots[earlier].reply))
                    continue;
            }
            auto const answers = quorum::make_round(self->state_->quorum, to_inspect(*self->state_, name));
            co_await self->gather(*answers);
            if (self->cancelled_)
                break;
            auto info = summary_of(*answers, name);
            if (self->is_first_with(info))
                self->infos_[i] = std::move(info);
        }
        co_return true;
    }

    void ended(std::exception_ptr failure)
    {
        if (failure)
            failure_ = failure;
        if (--under_way_ == 0)
            wake();
    }

    // The first node that has listed its locks.
    std::size_t first_listed() const
    {
        std::size_t i = 0;
        while (place_.failed.contains(i))
            ++i;
        return i;
    }

    static bool is_there(node_reply const& r) { return r.vote == vote::granted || r.error == errc::wrong_type; }

    // Whether no node that was scanned before has the lock. If the nodes do not say where it is, the first node counts.
    bool is_first_with(lock_info const& info) const
    {
        for (std::size_t i = 0; i < info.nodes.size(); ++i) {
            auto const& n = info.nodes[i];
            if ((n.locked || n.error == errc::wrong_type) && !place_.failed.contains(i))
                return i >= place_.node;
        }
        return info.nodes[place_.node].error && place_.node == first_listed();
    }

    std::string const pattern_;
    std::size_t const page_size_;
    std::string const from_;
    lock_page page_;
    list_place place_;
    std::size_t examined_ = 0, scans_ = 0;

    std::vector<std::string> found_;               ///< names of locks from the latest scan
    std::vector<std::optional<lock_info>> infos_;  ///< by name: empty if the lock is not in the list
    std::size_t next_ = 0;                         ///< the first name that is not inspected yet
    std::size_t under_way_ = 0;
    std::exception_ptr failure_;
};

}  // namespace

void start_list(std::shared_ptr<manager_state> s, std::string pattern, std::size_t page_size, std::string from,
                detail::list_handler handler)
{
    listing::start(listing::fill_page, std::move(s), std::move(pattern), page_size, std::move(from),
                   std::move(handler));
}

}  // namespace redlock::locks
