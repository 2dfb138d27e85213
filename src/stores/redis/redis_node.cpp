#include "stores/redis/redis_node.hpp"

#include "stores/redis/connection.hpp"
#include "stores/redis/queue.hpp"
#include "stores/redis/sender.hpp"
#include "stores/redis/shared_settings.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace redlock::stores::redis {

namespace {

/// A Redis server as a node: connects the queue with the connection.
class redis_node final : public server_node, connection::owner, public std::enable_shared_from_this<redis_node> {
public:
    redis_node(net::url const& server, manager_options const& c, std::shared_ptr<redis::group> g,
               std::shared_ptr<transport> t)
        : name_(server.name()),
          settings_(shared_settings(c)),
          is_chosen_(server.topology == net::topology::sentinel),
          log_(c.log),
          group_(std::move(g)),
          connection_(server, c, *this, std::move(t)),
          queue_(connection_, group_->runtime ? group_->sender : std::make_shared<redis::sender>())
    {
    }

    std::string const& name() const noexcept override { return name_; }
    bool ready() const noexcept override { return ready_.load(std::memory_order_relaxed); }
    bool notifies() const noexcept override { return ready() && notifies_.load(std::memory_order_relaxed); }
    bool may_still_execute(std::uint32_t n) const override { return connection_.may_still_execute(n); }

    bool can(node_command const&) const noexcept override { return true; }

    void start(asio::any_io_executor executor, node_events events) override
    {
        events_ = std::move(events);
        if (!group_->runtime)
            own_runtime_ = runtime::make_system_runtime(std::move(executor));
        auto const& runtime = own_runtime_ ? own_runtime_ : group_->runtime;
        connection_.start(runtime);
        queue_.start(std::shared_ptr<queue>(shared_from_this(), &queue_), runtime,
                     [this](std::string_view key) { changed(key); });
    }

    void submit(std::shared_ptr<node_operation> operation) override
    {
        if (operation->command().which() == node_command::kind::found) {
            founding_.push_back(std::move(operation));
            return found_soon();
        }
        queue_.submit(std::move(operation));
        connection_.open();
    }

    void note_old_set() override { connection_.note_old_set(); }

    void vouch(slot_set const& slots) override { connection_.look(&slots); }
    void move_to(std::string_view tag) override
    {
        connection_.move_to(tag);
        connection_.greet_again();
    }
    void observe(record_observer o) override { observer_ = std::move(o); }

    void ask(redis::request const& questions, std::function<void(batch const&)> look) override
    {
        auto const b = connection_.take_batch();
        b->request.append(questions);
        b->on_answer = std::move(look);
        connection_.send(b);
    }

    void close() override
    {
        ready_ = false;
        events_ = {};
        found_.clear();
        end_founding({.untouched = true, .error = errc::node_closed});
        queue_.close();
        connection_.close();
        own_runtime_.reset();  // its timer must not outlive the context
    }

    void abandon() override
    {
        ready_ = false;
        events_ = {};
        observer_ = {};
        found_.clear();
        founding_.clear();
        asked_to_found_.clear();
        queue_.abandon();
        connection_.abandon();
        if (own_runtime_ && own_runtime_->announce_abandonment())
            own_runtime_->abandon();
    }

private:
    node_reply check_server(introduction const& server) override
    {
        // If an access list hides the run id, the client cannot detect duplicates. The operator chose that.
        if (auto const other = server.run_id.empty() ? std::string() : group_->claim(name_, server.run_id);
            !other.empty())
            return {.error = errc::duplicate_node, .text = "it is the same server as " + other};
        queue_.adapt_to(server);
        notifies_ = queue_.tracks();
        if (!notifies_ && !std::exchange(logged_polling_, true))
            log(log_level::info, "it sends no notifications about changes, so waiters poll: " + server.no_tracking);
        return {};
    }

    void connected(server_identity const& server) override
    {
        ready_ = true;
        if (is_chosen_ && !std::exchange(logged_failover_, true))
            log(log_level::warning,
                "its replication is asynchronous, so a failover may lose locks: the new master grants nothing for "
                "max_ttl + 10 s, and a client that does not notice the failover keeps locking on the old master");
        events_.connected(server);
        queue_.flush_soon();
    }

    void learned(server_identity const& server) override
    {
        if (events_.learned)
            events_.learned(server);
    }

    void told(server_record const& record) override
    {
        note_settings(record.other_settings);
        if (observer_.told)
            observer_.told(record);
        is_founded_ = record.memory.began == core::beginning::founded;
    }

    void founding_ended(bool says_again) override
    {
        bool const granted = asks_to_found_.only_asks ? says_again : is_founded_;
        end(std::exchange(asked_to_found_, {}), {.vote = granted ? vote::granted : vote::denied});
        if (!founding_.empty())
            found_soon();
    }

    void record_has_moved() override
    {
        if (observer_.moved)
            observer_.moved();
    }

    void disconnected() override
    {
        end_founding({.error = errc::connection_lost});
        if (ready_.exchange(false))
            changed({});  // pushes that were on their way are lost
        queue_.disconnected();
    }

    // The node must not complete an operation from within submit.
    void found_soon()
    {
        auto const& runtime = own_runtime_ ? own_runtime_ : group_->runtime;
        runtime->set(found_, runtime->now());
    }

    // An answer counts only for the operations that came before the question.
    void found()
    {
        if (!connection_.up())
            return end_founding({.untouched = true, .error = errc::node_unreachable});
        if (!asked_to_found_.empty() || founding_.empty())
            return;
        auto const what = [](auto const& o) { return o->command().template as<commands::found>(); };
        asks_to_found_ = what(founding_.front());
        auto const later = std::ranges::stable_partition(founding_, [&](auto& o) { return what(o) == asks_to_found_; });
        try {
            asked_to_found_.assign(founding_.begin(), later.begin());
            founding_.erase(founding_.begin(), later.begin());
            connection_.found(asks_to_found_);
        } catch (...) {  // out of memory: no answer will come
            end_founding({.untouched = true, .error = errc::node_unreachable});
        }
    }

    void end_founding(node_reply const& r)
    {
        auto const asked = std::exchange(asked_to_found_, {}), others = std::exchange(founding_, {});
        end(asked, r);
        end(others, r);
    }

    static void end(std::vector<std::shared_ptr<node_operation>> const& all, node_reply const& r)
    {
        for (auto const& o : all)
            o->complete(r);
    }

    // All nodes see the same clients, so the manager logs each difference once.
    void note_settings(std::vector<std::string> const& others)
    {
        for (auto const& other : others) {
            for (auto const& difference : differences(settings_, other)) {
                if (group_->logs_first(difference))
                    log(log_level::warning,
                        difference + "; see docs/guarantees.md, \"What all clients must have alike\"");
            }
        }
    }

    void answered(batch& b) override { queue_.answered(b); }

    void push_arrived(std::string_view key) override { queue_.push_arrived(key); }

    void changed(std::string_view key) override
    {
        if (events_.changed)
            events_.changed(key);
    }

    void log(log_level level, std::string const& what) const override
    {
        if (log_)
            log_(level, name_ + ": " + what);
    }

    std::string const name_;
    std::string const settings_;
    bool const is_chosen_;  ///< Sentinels choose the master
    std::function<void(log_level, std::string_view)> const log_;
    std::shared_ptr<redis::group> const group_;
    std::shared_ptr<runtime::runtime> own_runtime_;
    std::atomic<bool> ready_{false};
    std::atomic<bool> notifies_{false};
    bool logged_polling_ = false;
    bool logged_failover_ = false;
    node_events events_;
    record_observer observer_;
    std::vector<std::shared_ptr<node_operation>> founding_;        ///< to be sent when the server has answered others
    std::vector<std::shared_ptr<node_operation>> asked_to_found_;  ///< to be completed when the server has answered
    commands::found asks_to_found_;                                ///< the command of these
    runtime::alarm found_{[this] { found(); }};
    bool is_founded_ = false;  ///< by the latest record
    connection connection_;
    queue queue_;
};

}  // namespace

group::group(std::shared_ptr<runtime::runtime> r) : sender(std::make_shared<redis::sender>()), runtime(std::move(r)) {}

std::string group::claim(std::string const& name, std::string const& run_id)
{
    auto const [known, fresh] = names_.emplace(run_id, name);
    if (!fresh && known->second != name)
        return known->second;
    std::erase_if(names_, [&](auto& other) { return other.second == name && other.first != run_id; });
    return {};
}

std::shared_ptr<server_node> make_redis_node(net::url const& server, manager_options const& c, std::shared_ptr<group> g,
                                             std::shared_ptr<transport> over)
{
    return std::make_shared<redis_node>(server, c, std::move(g), std::move(over));
}

}  // namespace redlock::stores::redis
