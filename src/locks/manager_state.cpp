#include "locks/manager_state.hpp"

#include "core/key.hpp"

#include <fmt/format.h>

#include <unistd.h>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

std::string default_owner()
{
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    return fmt::format("{}:{}", host, ::getpid());
}

}  // namespace

// Begins the shutdown after the manager was destroyed. If the execution context ends first, drops the state.
struct manager_state::deferred_shutdown {
    explicit deferred_shutdown(manager_state& s) noexcept : of(&s) {}
    deferred_shutdown(deferred_shutdown&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
    ~deferred_shutdown()
    {
        if (of)
            auto const gone = std::move(of->kept_until_shutdown_);
    }

    void operator()()
    {
        auto const self = std::move(std::exchange(of, nullptr)->kept_until_shutdown_);
        self->shut_down({});
    }

    manager_state* of;
};

std::shared_ptr<manager_state> manager_state::make(asio::any_io_executor user_executor,
                                                   std::shared_ptr<runtime::runtime> runtime, manager_options settings,
                                                   std::vector<std::shared_ptr<node>> nodes,
                                                   std::shared_ptr<events::event_log> log)
{
    if (!log)
        log = std::make_shared<events::event_log>(runtime, settings.log, settings.observer);
    auto s = std::make_shared<manager_state>(user_executor, std::move(runtime), std::move(settings), std::move(nodes),
                                             std::move(log));
    s->quorum.nodes.start(std::shared_ptr<quorum::node_set>(s, &s->quorum.nodes),
                          [state = s.get()](std::size_t node, std::string_view key) { state->changed(node, key); });
    s->deferred_shutdown_ = s->strand().prepare(deferred_shutdown(*s));
    runtime::context_guard::watch(user_executor, s, s->strand());
    return s;
}

manager_state::manager_state(asio::any_io_executor executor, std::shared_ptr<runtime::runtime> r, manager_options c,
                             std::vector<std::shared_ptr<node>> nodes, std::shared_ptr<events::event_log> l)
    : runtime_(std::move(r)),
      log_(std::move(l)),
      user_executor_(std::move(executor)),
      runtime(*runtime_),
      settings(std::move(c)),
      owner(settings.owner.empty() ? default_owner() : settings.owner),
      log(*log_),
      proposals(settings, runtime, log),
      quorum{.runtime = runtime,
             .settings = settings,
             .count = count,
             .contender = std::make_shared<std::string const>(core::make_contender(runtime.random()[0], owner)),
             .nodes = {std::move(nodes), settings, runtime, log, count},
             .admission = redlock::quorum::admission(runtime)},
      cleaner(
          quorum, log, [this] { shutdown.proceed(); },
          [this](std::size_t node, std::string const& key) {
              auto const resource = std::string_view(key).substr(settings.prefix.size());
              if (waiters.size() != 0)
                  waiters.deleted(node, resource);
              watchers.changed(resource);
          }),
      waiters(settings.max_handovers),
      preferences(*quorum.contender),
      held_locks(waiters, cleaner, log, [this] { shutdown.proceed(); }),
      operations(runtime.strand(), [this] { shutdown.proceed(); }),
      renewals(runtime, log),
      shutdown(quorum, operations, held_locks, cleaner, log, alive_)
{
    runtime.after_long_stalls([to = std::weak_ptr(log_)] {
        if (auto const alive = to.lock())
            alive->tell_stall(runtime::runtime::long_stall);
    });
}

manager_state::~manager_state() = default;

std::string manager_state::make_token(acquire_options const& o)
{
    auto const [high, low] = runtime.random();
    return core::make_token(o.request != 0 ? o.request : high, low,
                            {.owner = o.owner.empty() ? std::string_view(owner) : o.owner,
                             .note = o.note,
                             .since = runtime.wall_clock() / 1000});
}

stats manager_state::stats() const
{
    redlock::stats s;
    count.tell(s);
    s.loop_lag = runtime.lateness();
    s.held = held_locks.size();
    s.waiting = waiters.size();
    s.running = operations.size();
    s.cleaning = cleaner.pending();
    s.founded = quorum.nodes.has_founded();
    s.nodes = quorum.nodes.stats();
    return s;
}

// A node notifies that a key has changed. An empty key: the node may have missed changes.
void manager_state::changed(std::size_t node, std::string_view key)
{
    if (key.empty()) {
        watchers.all_changed();
        return waiters.all_changed(node);
    }
    auto const [of, lock] = core::what_changed(key);
    if (!lock.starts_with(settings.prefix))
        return;
    auto const resource = lock.substr(settings.prefix.size());
    watchers.changed(resource);
    waiters.changed(of, node, resource);
    held_locks.changed(of, node, resource);
}

void manager_state::shut_down(std::function<void(std::size_t)> done)
{
    if (shutdown.open())
        alive_ = shared_from_this();
    shutdown.begin(std::move(done));
}

void manager_state::shut_down_in_background() noexcept
{
    kept_until_shutdown_ = shared_from_this();
    strand().execute(std::move(deferred_shutdown_));
}

void manager_state::abandon()
{
    if (!runtime.announce_abandonment())
        return;
    auto const keep = shared_from_this();
    alive_ = {};
    shutdown.abandon();
    quorum.admission.abandon();  // first, so that nothing is admitted any more
    operations.abandon();
    watchers.abandon();
    held_locks.abandon();
    log_->calls()->abandon();
    quorum.nodes.abandon();
    cleaner.stop();
    runtime.abandon();
    user_executor_ = {};
}

}  // namespace redlock::locks
