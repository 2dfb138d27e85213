#include "stores/redis/queue.hpp"

#include "core/key.hpp"
#include "runtime/prefetch.hpp"
#include "stores/redis/awaited_keys.hpp"
#include "stores/redis/decoder.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <span>
#include <utility>

namespace redlock::stores::redis {

namespace {

constexpr std::size_t tidy_min = 64;

// An empty key in the list means all keys.
bool contains(std::vector<std::string> const& changed, std::string const& key)
{
    return std::any_of(changed.begin(), changed.end(), [&](auto& k) { return k.empty() || k == key; });
}

// Thousands of operations do not fit into the processor's cache. While the queue handles entry @p i, the processor
// loads later ones: first the operation, then the command that it refers to.
template <class Entries>
void prefetch_after(std::size_t i, Entries const& all)
{
    constexpr std::size_t ahead = 4;
    if (i + 2 * ahead < all.size())
        runtime::prefetch(all[i + 2 * ahead].operation.get());
    if (i + ahead < all.size())
        runtime::prefetch(&all[i + ahead].operation->command());
}

node_reply too_late() { return {.untouched = true, .error = errc::node_unreachable}; }

// The reply to an operation that is not sent, because this process is out of memory. The text needs none.
node_reply not_sent() { return {.untouched = true, .error = errc::node_unreachable, .text = "no memory"}; }

node_reply copy_of(node_reply const& r) noexcept
try {
    return r;
} catch (std::bad_alloc const&) {
    return not_sent();
}

bool is_vote(node_command const& c)
{
    using kind = node_command::kind;
    return c.which() == kind::acquire || c.which() == kind::raise || c.prolongs();
}

}  // namespace

queue::queue(connection& c, std::shared_ptr<sender> s) : connection_(c), sender_(std::move(s)), tidy_at_(tidy_min) {}

void queue::start(std::weak_ptr<queue> self, std::shared_ptr<runtime::runtime> r,
                  std::function<void(std::string_view)> changed)
{
    self_ = std::move(self);
    runtime_ = std::move(r);
    changed_ = std::move(changed);
}

void queue::adapt_to(introduction const& server)
{
    manner_ = {.by = server.by, .checks_type = server.checks_type};
    tracks_ = server.no_tracking.empty();
}

void queue::submit(std::shared_ptr<node_operation> o)
{
    waiting_.push_back({std::move(o)});
    if (connection_.up() || connection_.trouble().error)
        flush_soon();
    else if (waiting_.size() > tidy_at_)
        tidy(waiting_, runtime_->now());
}

void queue::disconnected()
{
    refuse_all_ = true;
    if (connection_.trouble().error)
        flush_soon();
}

void queue::flush_soon()
{
    if (flush_due_)
        return;
    try {
        sender_->add(self_, runtime_);
        flush_due_ = true;
    } catch (std::bad_alloc const&) {  // the queue waits for the answer to the next heartbeat
    }
}

// Sending, together with the other nodes

bool queue::begin_sending(clock::time_point now)
try {
    flush_due_ = false;
    if (!connection_.up()) {
        if (connection_.trouble().error)
            refuse_waiting(now);
        return false;
    }
    if (connection_.silent(now)) {
        if (waiting_.size() > tidy_at_)
            tidy(waiting_, now);
        return false;
    }
    if (!kept_.empty()) {
        kept_.reserve(kept_.size() + waiting_.size());
        std::ranges::move(waiting_, std::back_inserter(kept_));
        waiting_ = std::exchange(kept_, {});
    }
    batch_ = connection_.take_batch();
    batch_->entries.reserve(waiting_.size());
    taken_.clear();
    taken_.swap(waiting_);  // a completion handler may submit operations
    has_votes_ = false;
    return true;
} catch (std::bad_alloc const&) {  // the queue waits for the answer to the next heartbeat
    return false;
}

bool queue::send(std::size_t i, clock::time_point now, encoder& e)
{
    if (i >= taken_.size())
        return false;
    prefetch_after(i, taken_);
    auto& o = *taken_[i].operation;
    if (o.command().which() == node_command::kind::connect)
        o.complete({.vote = vote::granted});
    else if (o.withdrawn() || now > o.not_after)
        o.complete(too_late());
    else
        add(std::move(taken_[i]), e);
    return true;
}

void queue::add(queued q, encoder& e)
{
    auto& o = *q.operation;
    auto const& c = o.command();
    auto how = manner_;
    how.tombstone = o.leaves_tombstone(connection_.number());
    auto const* const script = script_for(c, how);
    bool const upgrades = c.which() == node_command::kind::upgrade;
    how.tracks = tracks_ && c.watches() && (upgrades || script == &contend_script);  // the keys exist
    bool const native = c.which() == node_command::kind::release && !script;
    bool const loaded = how.load_script = q.load_script && script;
    auto const begin = batch_->request.commands() + (loaded ? 1 : 0);
    auto const answer = begin + (how.tracks && upgrades ? 2 * tracking_commands : 0);
    auto const tracked_from = !how.tracks ? 0
                              : upgrades  ? answer - 1
                                          : answer + commands_for(c) + tracking_commands - 1;
    try {
        batch_->request.append(e.encode(c, how));
    } catch (std::bad_alloc const&) {
        return o.complete(not_sent());
    }
    has_votes_ = has_votes_ || is_vote(c);
    o.mark_sent(connection_.number());
    batch_->entries.push_back({std::move(q.operation), answer, loaded, native, how.checks_type, tracked_from});
}

void queue::end_sending()
{
    taken_.clear();
    auto const b = std::exchange(batch_, {});
    if (b->entries.empty())
        return connection_.give_back(b);
    try {
        if (has_votes_)
            connection_.ask_for_word(*b);
    } catch (std::bad_alloc const&) {  // the request is incomplete
        for (auto& e : std::exchange(b->entries, {}))
            e.operation->complete(not_sent());
        return connection_.give_back(b);
    }
    connection_.send(b);
}

// Replies

void queue::answered(batch& b)
{
    bool const is_whole = b.has(b.request.commands() - 1);  // if not, the connection has ended
    bool const trusted = connection_.trusts(b);
    bool asks_again = false;
    std::vector<std::string> to_track;
    for (std::size_t i = 0; i < b.entries.size(); ++i) {
        prefetch_after(i, b.entries);
        auto& e = b.entries[i];
        auto const& c = e.operation->command();
        auto const replies = commands_for(c);
        if (!b.has(e.answer + replies - 1)) {
            e.operation->complete({.error = errc::connection_lost});
            continue;
        }
        node_reply r;
        std::vector<std::string> changed;
        try {
            r = decode(c, {&b.replies[e.answer], replies}, connection_.secret(), e.checks_type);
            if (r.untouched && try_again(e, r.error))
                continue;
            if (!trusted && r.vote == vote::granted && is_vote(c)) {
                r = is_whole
                        ? node_reply{.error = errc::quarantined, .text = "it has lost its record, and perhaps locks"}
                        : node_reply{.error = errc::connection_lost};
                asks_again = true;
            }
            asks_again = asks_again || r.error == errc::node_read_only || r.error == errc::wrong_cluster_node;
            bool const asked_at_once = e.tracked_from != 0;
            auto const at_once = asked_at_once ? tracking_of(e, b) : tracking::done;
            auto awaited = awaited_keys(c, r);
            r.watched = tracks_ && !awaited.empty() && at_once != tracking::refused;
            for (auto& key : awaited) {
                bool const is_asked = asked_at_once && (c.which() == node_command::kind::upgrade || key == c.key());
                if (contains(e.changed, key) || (is_asked && at_once == tracking::gone))
                    changed.push_back(std::move(key));
                else if (!is_asked && r.watched)
                    to_track.push_back(std::move(key));
            }
        } catch (std::bad_alloc const&) {
            r = {.error = errc::connection_lost};  // the answer is unknown
        }
        e.operation->complete(std::move(r));
        std::ranges::for_each(changed, [this](auto& key) { tell(key); });
    }
    if (!to_track.empty() && is_whole && tracks_ && connection_.up())
        track(to_track);
    if (asks_again && is_whole)
        connection_.look();
    if (!waiting_.empty() && connection_.up())
        flush_soon();
}

// Whether the server tracks the key of an operation that was sent together with @ref redis::track.
queue::tracking queue::tracking_of(batch::entry const& e, batch const& b)
{
    return b.has(e.tracked_from) ? tracking_of(b.replies[e.tracked_from - 1], b.replies[e.tracked_from])
                                 : tracking::refused;
}

// Other errors pass: a key that has moved to another server, or a server that is busy.
queue::tracking queue::tracking_of(reply const& asked, reply const& left)
{
    if (asked.is_error() && decode_error(asked.text, {}).error == errc::permission_denied)
        tracks_ = false;
    if (asked.is_error() || left.is_error())
        return tracking::refused;
    return left.text == "-2" ? tracking::gone : tracking::done;
}

// Makes the server track the keys for which the callers of denied operations wait. A key that has changed since the
// denial does not exist, or it is taken again, and the next change matters.
void queue::track(std::vector<std::string> const& keys)
try {
    auto const b = connection_.take_batch();
    for (auto const& key : keys)
        redis::track(b->request, key);
    b->on_answer = [this, self = self_, keys](batch const& answer) {
        if (auto const alive = self.lock(); alive && answer.has(answer.request.commands() - 1))
            tracked(keys, answer);
    };
    connection_.send(b);
} catch (std::bad_alloc const&) {
    std::ranges::for_each(keys, [this](auto& key) { tell(key); });
}

void queue::tracked(std::vector<std::string> const& keys, batch const& answer)
{
    redis::request forget;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        auto const* const replies = &answer.replies[tracking_commands * i];
        auto const is = tracking_of(replies[0], replies[1]);
        auto const of = core::what_changed(keys[i]).first;
        if (is == tracking::gone && (of == core::watched::place || of == core::watched::handovers))
            untrack(forget, keys[i]);
        if (is != tracking::done)
            tell(keys[i]);
    }
    if (forget.commands() == 0 || closed_ || !connection_.up())
        return;
    auto const b = connection_.take_batch();
    b->request.append(forget);
    connection_.send(b);
}

void queue::tell(std::string const& key)
{
    if (changed_)
        changed_(key);
}

// Sends the operation again in another way, if that avoids the error. The server changed nothing, so this is safe.
bool queue::try_again(batch::entry& e, error_code refusal)
{
    bool const forbidden = refusal == errc::permission_denied && e.native;
    bool const forgotten = refusal == errc::script_missing && !e.script_loaded;
    if (forbidden)
        manner_.by = deletion::script;  // the access list is older than the command
    if (!(forbidden || forgotten) || closed_)
        return false;
    waiting_.emplace_back();  // nothing is lost if this throws
    waiting_.back() = {std::move(e.operation), forgotten};
    return true;
}

void queue::push_arrived(std::string_view key)
{
    auto const lock = core::what_changed(key).second;
    for (auto const& b : connection_.in_flight()) {
        b->each_about(lock, [&](batch::entry& e) {
            if (e.tracked_from == 0 || !b->has(e.tracked_from))
                return;
            if (std::find(e.changed.begin(), e.changed.end(), key) == e.changed.end())
                e.changed.emplace_back(key);
        });
    }
}

// Operations that are not sent

// The server cannot be reached, for a known reason. Only releases wait for it to come back.
void queue::refuse_waiting(clock::time_point now)
{
    std::vector<queued> kept;
    kept.reserve(kept_.size() + waiting_.size());
    auto const why = connection_.trouble();  // nothing is lost if memory ran out until here
    auto refused = std::exchange(waiting_, {});
    kept.swap(kept_);
    bool const also_kept = std::exchange(refuse_all_, false);
    auto const refuse = [&](queued& q) {
        if (q.operation->command().which() == node_command::kind::release && now <= q.operation->not_after)
            kept_.push_back(std::move(q));
        else
            q.operation->complete(copy_of(why));
    };
    for (auto& q : kept) {
        if (also_kept)
            refuse(q);
        else
            kept_.push_back(std::move(q));
    }
    std::ranges::for_each(refused, refuse);
}

// Drops withdrawn and late operations, so that a queue for an unreachable server does not grow.
void queue::tidy(std::vector<queued>& all, clock::time_point now)
{
    std::vector<queued> old;
    old.reserve(all.size());  // nothing is lost if this throws
    old.swap(all);
    for (auto& q : old) {
        if (q.operation->withdrawn() || now > q.operation->not_after)
            q.operation->complete(too_late());
        else
            all.push_back(std::move(q));
    }
    tidy_at_ = std::max(tidy_min, 2 * all.size());
}

void queue::close()
{
    closed_ = true;
    auto all = std::exchange(kept_, {});
    std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(all));
    auto const in_flight = connection_.in_flight();
    for (auto& q : all)
        q.operation->complete({.untouched = true, .error = errc::node_closed});
    for (auto& b : in_flight) {
        for (auto& e : std::exchange(b->entries, {}))
            e.operation->complete({.error = errc::connection_lost});
    }
    changed_ = {};
    runtime_.reset();
}

void queue::abandon()
{
    closed_ = true;
    waiting_.clear();
    kept_.clear();
    taken_.clear();
    changed_ = {};
    runtime_.reset();
}

}  // namespace redlock::stores::redis
