#include "stores/kit/lease_node.hpp"

#include "runtime/as_result.hpp"

#include <redlock/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <utility>

namespace redlock::stores::kit {

namespace {

constexpr std::chrono::seconds flush_every{1};

}  // namespace

std::function<void(log_level, std::string_view)> logger(manager_options const& c, std::string name)
{
    return [to = c.log, name = std::move(name)](log_level level, std::string_view what) {
        if (to)
            to(level, fmt::format("{}: {}", name, what));
    };
}

lease_node::lease_node(lease_settings s, std::function<std::unique_ptr<driver>(driver::owner&)> const& make_driver)
    : settings_(std::move(s)), members_(settings_.members, settings_.seed), driver_(make_driver(*this))
{
}

bool lease_node::can(node_command const& c) const noexcept
{
    return !c.wants_any() && !c.is_shared() && c.which() != node_command::kind::replace
           && c.keys.size() <= settings_.keys_max;
}

// Each command has the condition that its connection is the current one. So only commands of this connection can still
// have an effect.
bool lease_node::may_still_execute(std::uint32_t connection) const
{
    return !ready() || connection == members_.connection();
}

void lease_node::start(asio::any_io_executor executor, node_events events)
{
    executor_ = std::move(executor);
    events_ = std::move(events);
    timers_.emplace(timers{timer(executor_), timer(executor_)});
    deletions_ = std::make_shared<deletions>(executor_, expiries_, [this](operation o) {
        driver_->add(std::move(o));
        flush_soon();
    });
}

void lease_node::submit(operation o)
{
    driver_->add(std::move(o));
    flush_soon();
    if (!std::exchange(begun_, true)) {
        asio::co_spawn(executor_, serve(shared_from_this()), asio::detached);
        asio::co_spawn(executor_, run_every_second(shared_from_this()), asio::detached);
    }
}

void lease_node::close()
{
    auto const self = shared_from_this();
    closed_ = true;
    finished over;
    driver_->close(ready() && expiries_->locks().empty(), over);
    drop_references();
    complete(std::move(over));
}

void lease_node::abandon()
{
    closed_ = true;
    driver_->abandon();
    drop_references();
}

void lease_node::drop_references()
{
    ready_ = false;
    events_ = {};
    timers_.reset();
    if (deletions_)
        deletions_->stop();
    deletions_.reset();
    expiries_->clear();
    executor_ = {};
}

// Connections

asio::awaitable<void> lease_node::serve(std::shared_ptr<lease_node> self)
{
    for (auto& n = *self; !n.closed_;) {
        auto why = co_await n.driver_->visit(n.members_.present());
        if (n.closed_)
            co_return;
        n.members_.leave();
        n.down(std::move(why));
        if (n.closed_)
            co_return;
        n.timers_->pause.expires_after(n.members_.pause());
        co_await n.timers_->pause.async_wait(runtime::as_result);
    }
}

node_reply lease_node::check_server(std::string const& id, std::int64_t change)
{
    history_.note_connection(id, change, clock::now());
    auto const other = settings_.context.claim(settings_.name, fmt::format("{}:{}", settings_.kind, id));
    if (other.empty())
        return {};
    auto words = fmt::format("it is the same {} as {}", settings_.servers, other);
    return {.untouched = true, .error = errc::duplicate_node, .text = std::move(words)};
}

void lease_node::up(std::string_view words)
{
    members_.up();
    trouble_ = {};
    ready_ = true;
    settings_.log(log_level::info, words);
    flush_soon();
    if (events_.connected)
        events_.connected(history_.identity());
}

void lease_node::down(node_reply why)
{
    bool const was_ready = ready_.exchange(false);
    driver_->disconnected(why);
    if (was_ready) {
        settings_.log(log_level::warning, "connection lost: " + why.text);
        trouble_ = {};
        tell({});  // notifications that were on their way are lost
    } else if (members_.all_failed()) {
        if (trouble_.error != why.error)
            settings_.log(log_level::warning, why.error.message() + ": " + why.text);
        trouble_ = {.untouched = true, .error = why.error, .text = std::move(why.text)};
    }
    refuse_all_ = true;
    flush_soon();
}

void lease_node::lost(std::string_view what)
{
    auto const keys = expiries_->locks();
    settings_.log(log_level::warning,
                  fmt::format("the {} has ended, and all locks with it; there were {}", what, keys.size()));
    expiries_->clear();
    if (ready())
        members_.stay();  // the server works; only the session has ended
    for (auto const& key : keys)
        tell(key);
}

// Sending

void lease_node::flush_soon()
{
    if (closed_ || std::exchange(flush_due_, true))
        return;
    asio::post(executor_, [weak = weak_from_this()] {
        if (auto const self = weak.lock(); self && !self->closed_) {
            self->flush_due_ = false;
            self->flush();
        }
    });
}

void lease_node::flush()
{
    if (ready())
        return driver_->send();
    finished over;
    driver_->refuse(trouble_, std::exchange(refuse_all_, false), over);
    complete(std::move(over));
}

void lease_node::note(node_command const& c, node_reply& r, clock::time_point sent, clock::time_point kept)
{
    expiries_->note(c, r, sent, kept);
    if (deletions_)
        deletions_->plan();
}

void lease_node::tell(std::string const& name)
{
    if (events_.changed)
        events_.changed(name);
}

// Runs once a second.
asio::awaitable<void> lease_node::run_every_second(std::shared_ptr<lease_node> self)
{
    for (auto& n = *self; !n.closed_;) {
        n.refuse_all_ = !n.ready();
        if (n.ready())
            n.driver_->tidy();
        else
            n.flush();
        if (n.closed_)
            co_return;
        n.timers_->look.expires_after(flush_every);
        co_await n.timers_->look.async_wait(runtime::as_result);
    }
}

}  // namespace redlock::stores::kit
