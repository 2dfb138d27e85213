#include "manager/engine.hpp"

#include "core/key.hpp"
#include "core/validity.hpp"
#include "manager/acquisition.hpp"
#include "manager/context_guard.hpp"
#include "manager/held_lock.hpp"
#include "manager/round.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace redlock::detail {

namespace {

std::string default_owner()
{
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    return fmt::format("{}:{}", host, ::getpid());
}

}  // namespace

// Begins the shutdown when the manager is gone, or lets go of the engine if the execution context goes first.
struct engine::last_will {
    explicit last_will(engine& e) noexcept : of(&e) {}
    last_will(last_will&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
    ~last_will()
    {
        if (of)
            auto const gone = std::move(of->last_self_);
    }

    void operator()()
    {
        auto const self = std::move(std::exchange(of, nullptr)->last_self_);
        self->shut_down({});
    }

    engine* of;
};

std::shared_ptr<engine> engine::make(asio::any_io_executor user_executor, std::unique_ptr<detail::runtime> runtime,
                                     config settings, std::vector<std::shared_ptr<node>> nodes, std::shared_ptr<user_log> log)
{
    if (!log)
        log = std::make_shared<user_log>(runtime->strand(), settings.log);
    auto e = std::make_shared<engine>(user_executor, std::move(runtime), std::move(settings), std::move(nodes), std::move(log));
    for (std::size_t i = 0; i < e->nodes_.size(); ++i) {
        e->nodes_[i]->listen([weak = std::weak_ptr(e), i](std::string_view key) {
            if (auto const self = weak.lock())
                self->changed(i, key);
        });
        e->nodes_[i]->start(e->strand_);
    }
    e->last_will_ = e->strand_.prepare(last_will(*e));
    context_guard::watch(user_executor, e, e->strand_);
    return e;
}

engine::engine(asio::any_io_executor user_executor, std::unique_ptr<detail::runtime> runtime, config settings,
               std::vector<std::shared_ptr<node>> nodes, std::shared_ptr<user_log> log)
    : settings_(std::move(settings)),
      log_(std::move(log)),
      user_executor_(std::move(user_executor)),
      runtime_(std::move(runtime)),
      strand_(runtime_->strand()),
      nodes_(std::move(nodes)),
      owner_(settings_.owner.empty() ? default_owner() : settings_.owner),
      closing_deadline_([this] { close(); }),
      janitor_(*this),
      renewals_(*this),
      node_counters_(nodes_.size()),
      ages_(nodes_.size()),
      quorum_(std::max(settings_.fencing ? settings_.fence_quorum : 0, core::majority(nodes_.size()))),
      fence_clock_(settings_.fencing ? static_cast<std::uint8_t>(runtime_->random()[0]) : std::uint8_t(0), settings_.max_ttl / 2),
      contender_(core::make_token(runtime_->random()[0], 0, {}).substr(0, 16))
{
}

engine::~engine() = default;

std::string engine::make_token()
{
    auto const [high, low] = runtime_->random();
    return core::make_token(high, low, owner_);
}

void engine::outbid(std::uint64_t counter, std::string const& resource)
{
    auto const wall_clock = runtime_->wall_clock();
    if (fence_clock_.learn(counter, wall_clock) || std::exchange(told_of_clock_, true))
        return;
    log(log_level::warning,
        "fencing: the tokens of \"{}\" are {} s ahead of this clock: it is wrong, or was once elsewhere. Each lock there takes a "
        "second round trip",
        resource, (counter - wall_clock) / 1'000'000);
}

clock::duration engine::key_lifetime(std::chrono::milliseconds ttl) const
{
    return ttl + core::drift(ttl, settings_.drift_factor);
}

void engine::set(core::alarm<clock::time_point>& alarm, clock::time_point at)
{
    schedule_.set(alarm, at);
    // Waking up early and finding nothing to do is cheaper than setting the timer for every alarm.
    if (at >= wake_at_)
        return;
    wake_at_ = at;
    runtime_->wake_at(at, [weak = weak_from_this()] {
        if (auto self = weak.lock())
            self->ring();
    });
}

void engine::ring()
{
    wake_at_ = clock::time_point::max();
    schedule_.ring_until(now());
    if (auto const next = schedule_.next(); next && *next < wake_at_) {
        wake_at_ = *next;
        runtime_->wake_at(*next, [weak = weak_from_this()] {
            if (auto self = weak.lock())
                self->ring();
        });
    }
}

void engine::enter(operation& s)
{
    if (s.is_linked())
        return;
    running_.push_back(s);
    bump<std::size_t>(count.running, 1);
}

void engine::leave(operation& s)
{
    if (!s.is_linked())
        return;
    running_.erase(running_.iterator_to(s));
    bump<std::size_t>(count.running, -1);
    finish_if_clean();
}

// Contenders

engine::place_in_queue::place_in_queue(engine& e, acquisition& a)
    : engine_(e), who_(a), queue_(&e.contenders_[a.resource]), place_(queue_->insert(queue_->end(), &a))
{
    if (queue_->size() == 1) {  // nobody has asked yet
        auto const ready = std::count_if(e.nodes_.begin(), e.nodes_.end(), [](auto& n) { return n->ready(); });
        queue_->met = static_cast<std::size_t>(ready) >= e.quorum_ ? errc::contended : errc::no_quorum;
    }
    bump<std::size_t>(e.count.waiting, 1);
}

engine::place_in_queue::~place_in_queue()
{
    bump<std::size_t>(engine_.count.waiting, -1);
    bool const was_first = first();
    queue_->erase(place_);
    if (queue_->empty())
        engine_.contenders_.erase(who_.resource);
    else if (was_first)
        queue_->front()->wake();
}

bool engine::place_in_queue::first() const
{
    return queue_->front() == &who_;
}

void engine::place_in_queue::step_back()
{
    bool const was_first = first();
    queue_->splice(queue_->end(), *queue_, place_);
    if (was_first && !first())
        queue_->front()->wake();
}

void engine::place_in_queue::met(error_code outcome, std::shared_ptr<round> asked)
{
    // A validity that was too short is its own affair: others may ask for longer.
    queue_->met = outcome == errc::validity_exhausted ? make_error_code(errc::contended) : outcome;
    queue_->asked = std::move(asked);
}

error_code engine::place_in_queue::met() const
{
    return queue_->met;
}

std::shared_ptr<round> const& engine::place_in_queue::asked() const
{
    return queue_->asked;
}

// A node has told that a key has changed, or, without a key, that it may have missed changes.
void engine::changed(std::size_t node, std::string_view key)
{
    if (key.empty()) {
        for (auto& [resource, queue] : contenders_)
            queue.front()->may_be_free(node);
        return;
    }
    // Either the key of a lock, or that of a turn; never both.
    for (auto const lock : {key, core::lock_of_turn_key(key)}) {
        if (lock.empty() || !lock.starts_with(settings_.prefix))
            continue;
        auto const queue = contenders_.find(std::string(lock.substr(settings_.prefix.size())));
        if (queue != contenders_.end() && queue->second.front()->awaits_turn(node) == (lock.size() != key.size()))
            queue->second.front()->may_be_free(node);
    }
}

// Locks

void engine::add(std::shared_ptr<held_lock> held)
{
    auto& h = *held;
    locks_.push_back(h);
    h.kept = std::move(held);
    bump<std::size_t>(count.held, 1);
    try {
        // The key is the lock's own; one that the servers forgot may still be there under the same name.
        held_.erase(h.resource);
        held_.emplace(h.resource, &h);
        h.keep();
    } catch (...) {
        set_free(h);
        remove(h);
        throw;
    }
    bump(count.acquired);
}

void engine::set_free(held_lock& held)
{
    bump<std::size_t>(count.held, -1);
    if (auto it = held_.find(held.resource); it != held_.end() && it->second == &held) {
        held_.erase(it);
        auto const queue = contenders_.find(held.resource);
        bool follows = queue != contenders_.end()
                       && std::any_of(queue->second.begin(), queue->second.end(), [](auto* a) { return !a->stopped(); });
        auto const t = turns_.find(held.resource);
        bool const shared = t != turns_.end() && t->second.others_until == clock::time_point::min();
        if (shared && !(follows && t->second.turn.pass())) {
            follows = false;
            t->second.others_until = now() + t->second.courtesy;
        }
        if (follows)
            held.grant()->hands_on = false;  // it is the next one's to end
        if (queue != contenders_.end())
            queue->second.front()->wake();
    }
}

void engine::remove(held_lock& held)
{
    locks_.erase(locks_.iterator_to(held));
    held.kept.reset();
}

void engine::give_away(held_lock& held) noexcept
{
    auto const keep = held.shared_from_this();
    if (!held.let_go())
        return;
    try {
        janitor_.clean_up(held.grant(), held.longest_ttl());
        finish_if_clean();
    } catch (...) {  // out of memory: the key stays until its ttl is over
    }
}

std::optional<clock::time_point> engine::held_until(std::string const& resource) const
{
    auto const it = held_.find(resource);
    if (it == held_.end() || !it->second->held())
        return std::nullopt;
    return it->second->valid_until();
}

// Turns at locks that other processes want, too

void engine::wanted(std::string const& resource, clock::duration round_trip, bool in_vain)
{
    auto const known = turns_.find(resource);
    if (known != turns_.end() && known->second.others_until == clock::time_point::min())
        return;  // it goes on
    auto courtesy = core::courtesy(round_trip, random());
    if (known != turns_.end() && in_vain)  // they are farther away
        courtesy = std::max(courtesy, std::min<clock::duration>(2 * known->second.courtesy, core::courtesy_max));
    auto const queue = contenders_.find(resource);
    auto const waiting = queue != contenders_.end() ? queue->second.size() - 1 : 0;  // not counting who has it now
    if (turns_.size() >= forget_turns_at_) {
        std::erase_if(turns_, [now = now()](auto& t) { return t.second.forgotten_at <= now; });
        forget_turns_at_ = std::max<std::size_t>(1024, 2 * turns_.size());
    }
    turns_.insert_or_assign(resource, shared_turn{.turn = {waiting, settings_.max_handovers},
                                                  .courtesy = courtesy,
                                                  .forgotten_at = now() + turn_life});
}

bool engine::others_queue(std::string const& resource) const
{
    auto const queue = contenders_.find(resource);
    return queue != contenders_.end() && queue->second.size() > 1;
}

std::optional<clock::time_point> engine::turn_of_others_until(std::string const& resource)
{
    auto const t = turns_.find(resource);
    if (t == turns_.end() || t->second.others_until == clock::time_point::min())
        return std::nullopt;
    auto const until = t->second.others_until;
    return now() < until ? std::optional(until) : std::nullopt;
}

void engine::cleaned(bool confirmed)
{
    if (confirmed)
        bump(count.cleaned);
    count.cleaning.store(janitor_.pending(), std::memory_order_relaxed);
    finish_if_clean();
}

// The end

void engine::shut_down(std::function<void(error_code)> done)
{
    if (phase_ == phase::closed) {
        if (done)
            done(error_code());
        return;
    }
    if (done)
        closing_.push_back(std::move(done));
    if (phase_ == phase::closing)
        return;

    phase_ = phase::closing;
    self_ = shared_from_this();
    // They may leave as they stop, so each goes behind the others first. To stop twice does no harm.
    for (auto left = running_.size(); left > 0 && !running_.empty(); --left) {
        auto& o = running_.front();
        running_.splice(running_.end(), running_, running_.begin());
        o.stop();
    }
    end_holds();
    finish_if_clean();
}

void engine::shut_down_in_background() noexcept
{
    last_self_ = shared_from_this();
    strand_.execute(std::move(last_will_));
}

// Who holds a lock is told to stop. Until they have, or it is over, nobody else may have it.
void engine::end_holds() noexcept
{
    for (auto it = locks_.begin(); it != locks_.end();) {
        auto const held = (it++)->kept;
        held->told_to_stop();
    }
}

void engine::finish_if_clean()
{
    if (phase_ != phase::closing || !locks_.empty())
        return;
    if (!std::exchange(draining_, true))
        set(closing_deadline_, now() + settings_.connect_timeout + settings_.node_timeout);
    // Not at once: we may be called from within a node that is handing out answers.
    if (janitor_.pending() == 0 && running_.empty())
        set(closing_deadline_, now());
}

void engine::close()
{
    auto const keep = std::exchange(self_, {});
    auto const ec = janitor_.pending() > 0 ? make_error_code(errc::no_quorum) : error_code();
    if (ec)
        log(log_level::warning, "{} keys could not be released; they expire by themselves", janitor_.pending());
    phase_ = phase::closed;
    for (auto& n : nodes_)
        n->close();
    janitor_.stop();
    schedule_.clear();
    runtime_->stop();
    auto const tell = [keep, ec] {
        for (auto& done : std::exchange(keep->closing_, {}))
            done(ec);
    };
    try {
        log_->end(tell);
    } catch (...) {  // out of memory
        tell();
    }
}

void engine::abandon()
{
    if (abandoned_.exchange(true, std::memory_order_acq_rel))  // in a fork, too, a context that goes takes its timers with it
        return;
    auto const keep = shared_from_this();
    auto const self = std::exchange(self_, {});
    phase_ = phase::closed;
    while (!running_.empty()) {
        auto& s = running_.front();
        running_.pop_front();
        s.drop();
    }
    while (!locks_.empty()) {
        auto const held = std::exchange(locks_.front().kept, nullptr);
        locks_.pop_front();
        held->drop();
    }
    held_.clear();
    closing_.clear();
    log_->drop();
    for (auto& n : nodes_)
        n->abandon();
    janitor_.stop();
    schedule_.clear();
    strand_.abandon();
    runtime_->abandon();
    user_executor_ = {};
}

// Statistics

void engine::observe(ballot const& b)
{
    auto& c = node_counters_[b.node];
    auto const what = b.command().what;
    if (what == node_command::kind::acquire || what == node_command::kind::extend)
        bump(b.cast() == vote::granted ? c.granted : b.cast() == vote::denied ? c.denied : c.unknown);
    if (b.reply.healed)
        bump(count.healed);
    if (b.reply.error) {
        std::lock_guard guard(trouble_mutex_);
        c.last_error = b.reply.error;
        c.last_message = b.reply.text;
    }
}

std::pair<error_code, std::string> engine::trouble_of(std::size_t i) const
{
    auto const& c = node_counters_[i];
    std::lock_guard guard(trouble_mutex_);
    return c.last_error ? std::pair(c.last_error, c.last_message) : std::pair(make_error_code(errc::node_unreachable), std::string());
}

// On a new connection there may be another life of its server.
void engine::get_to_know(ballot const& b)
{
    auto& c = node_counters_[b.node];
    if (b.sent_on() != 0 && b.sent_on() != c.last_connection) {
        c.last_connection = b.sent_on();
        bump(c.connections);
        judge_life(b.node);
    } else if (b.command().what == node_command::kind::connect && b.reply.vote == vote::granted) {
        judge_life(b.node);
    }
}

void engine::judge_life(std::size_t node)
{
    auto const life = nodes_[node]->life();
    auto& age = ages_[node];
    if (!age.known || age.began != life.began || age.restarted != life.restarted)  // not a mere reconnection
        node_counters_[node].trusted = node_counters_[node].told = false;
    age = {true, life.durable, life.restarted, life.began};
    auto const t = now();
    auto const known = static_cast<std::size_t>(std::count_if(ages_.begin(), ages_.end(), [](auto& a) { return a.known; }));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto& c = node_counters_[i];
        if (c.trusted || !ages_[i].known)
            continue;
        auto const until = core::quarantined_until<clock::time_point>(ages_, i, settings_.restart_guard, settings_.max_ttl, t);
        bool const certain = ages_[i].restarted || known >= core::majority(nodes_.size());
        if (until != never && certain && !std::exchange(c.told, true))
            log(log_level::warning, "{}: it has restarted and may have forgotten locks; it votes in {} ms", nodes_[i]->name(),
                (until - t) / std::chrono::milliseconds(1));
        c.quarantined_until = until;
        c.trusted = until == never;
        bool const young = !ages_[i].durable && ages_[i].began + settings_.max_ttl > t;
        if (c.trusted && young && settings_.restart_guard == restart_guard::automatic && !taken_for_new_.exchange(true))
            log(log_level::info, "the nodes are younger than max_ttl, {} ms, as a whole, and taken for newly started",
                settings_.max_ttl.count());
    }
}

clock::time_point engine::quarantine_over() const
{
    std::vector<clock::time_point> ends;
    for (auto& c : node_counters_)
        ends.push_back(c.quarantined_until);
    std::sort(ends.begin(), ends.end());
    return ends[quorum_ - 1];
}

void engine::count_outcome(error_code ec)
{
    if (ec == errc::contended)
        bump(count.contended);
    else if (ec == errc::no_quorum)
        bump(count.no_quorum);
    else if (ec == errc::validity_exhausted)
        bump(count.validity_exhausted);
    else if (ec == errc::quarantined)
        bump(count.quarantined);
    else if (ec == asio::error::operation_aborted)
        bump(count.cancelled);
}

stats engine::stats() const
{
    redlock::stats s;
    auto const read = [](auto const& counter) { return counter.load(std::memory_order_relaxed); };
    s.acquired = read(count.acquired);
    s.rounds = read(count.rounds);
    s.second_rounds = read(count.second_rounds);
    s.contended = read(count.contended);
    s.no_quorum = read(count.no_quorum);
    s.validity_exhausted = read(count.validity_exhausted);
    s.quarantined = read(count.quarantined);
    s.cancelled = read(count.cancelled);
    s.released = read(count.released);
    s.lost = read(count.lost);
    s.renewals = read(count.renewals);
    s.renewals_failed = read(count.renewals_failed);
    s.healed = read(count.healed);
    s.cleaned = read(count.cleaned);
    s.held = read(count.held);
    s.waiting = read(count.waiting);
    s.running = read(count.running);
    s.cleaning = read(count.cleaning);
    s.taken_for_new = read(taken_for_new_);
    auto const t = now();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto const& c = node_counters_[i];
        auto const until = read(c.quarantined_until);
        std::lock_guard guard(trouble_mutex_);
        s.nodes.push_back({nodes_[i]->name(), nodes_[i]->ready(), nodes_[i]->tells(), read(c.granted), read(c.denied), read(c.unknown),
                           read(c.connections), c.last_error, c.last_message, time_left(until, t)});
    }
    return s;
}

}  // namespace redlock::detail
