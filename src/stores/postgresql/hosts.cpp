#include "stores/postgresql/hosts.hpp"

#include <redlock/error.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::stores::postgresql {

namespace {

constexpr std::chrono::seconds retry_after{1};

}  // namespace

hosts::hosts(asio::any_io_executor e, probe_maker make_probe)
    : executor_(std::move(e)), make_probe_(std::move(make_probe))
{
}

hosts::~hosts() { close(); }

void hosts::find(std::vector<found> const& all, find_handler done)
{
    std::erase_if(hosts_, [&](auto& h) {
        bool const is_gone = !h->says && std::find(all.begin(), all.end(), h->where) == all.end();
        if (is_gone)
            h->probe->close();
        return is_gone;
    });
    for (auto const& f : all) {
        if (!host_at(f))
            probe(*hosts_.emplace_back(std::make_unique<host>(host{.where = f})));
    }
    find_handlers_.push_back(std::move(done));
    answer_soon();
}

void hosts::probe(host& h)
{
    h.probe = make_probe_(h.where, *this, [this, where = h.where](standing s) { told(where, std::move(s)); });
    h.probe->open();
}

void hosts::told(found const& where, standing s)
{
    auto* const h = host_at(where);
    if (!h)
        return;
    bool const is_news = s.timeline != 0 && (!h->says || h->says->timeline != s.timeline);
    h->says = std::move(s);
    if (is_news) {
        for (auto& look : std::exchange(followers_, {})) {
            if (look())
                followers_.push_back(std::move(look));
        }
    }
    answer_soon();
}

void hosts::down(kit::session& s, bool, node_reply why)
{
    auto* const h = host_of(s);
    if (!h)
        return;
    h->says.reset();
    h->trouble = std::move(why);
    auto& retry = h->retry.emplace(executor_, clock::now() + retry_after);
    retry.async_wait([weak = weak_from_this(), probe = h->probe](error_code ec) {
        if (auto const self = weak.lock(); !ec && self && self->host_of(*probe) && !probe->busy())
            probe->open();
    });
    answer_soon();
}

// Posted, because the caller may call @ref find or @ref close.
void hosts::answer_soon()
{
    if (find_handlers_.empty())
        return;
    asio::post(executor_, [weak = weak_from_this()] {
        if (auto const self = weak.lock())
            self->answer_if_known();
    });
}

void hosts::answer_if_known()
{
    if (std::any_of(hosts_.begin(), hosts_.end(), [](auto& h) { return !h->says && !h->trouble.error; }))
        return;
    auto const* const p = primary();
    auto const where = p ? std::optional(p->where) : std::nullopt;
    auto const why = p ? node_reply() : why_none();
    for (auto const& tell : std::exchange(find_handlers_, {}))
        tell(where ? &*where : nullptr, why);
}

hosts::host* hosts::host_of(kit::session const& probe)
{
    auto const h = std::find_if(hosts_.begin(), hosts_.end(), [&](auto& one) { return one->probe.get() == &probe; });
    return h != hosts_.end() ? h->get() : nullptr;
}

hosts::host* hosts::host_at(found const& where)
{
    auto const h = std::find_if(hosts_.begin(), hosts_.end(), [&](auto& one) { return one->where == where; });
    return h != hosts_.end() ? h->get() : nullptr;
}

// The first primary, unless a copy of the same database was promoted later.
hosts::host const* hosts::primary() const
{
    host const* best = nullptr;
    for (auto const& h : hosts_) {
        if (!h->says || h->says->timeline == 0)
            continue;
        if (!best || (h->says->system == best->says->system && h->says->timeline > best->says->timeline))
            best = h.get();
    }
    return best;
}

bool hosts::is_outdated(std::string const& system, std::int64_t timeline) const
{
    auto const is_later = [&](auto& h) { return h->says && h->says->system == system && h->says->timeline > timeline; };
    return std::any_of(hosts_.begin(), hosts_.end(), is_later);
}

// Errors that somebody can fix are more useful than "unreachable".
node_reply hosts::why_none() const
{
    node_reply why{.untouched = true, .error = errc::node_unreachable};
    for (auto const& h : hosts_) {
        auto const words = h->says ? std::string("it is a standby") : h->trouble.text;
        why.text += (why.text.empty() ? "" : "; ") + h->where.name + ": " + words;
        auto const error = h->says ? make_error_code(errc::node_read_only) : h->trouble.error;
        if (error && why.error == errc::node_unreachable)
            why.error = error;
    }
    return why;
}

// The node may be destroyed after the event loop, so nothing here may keep the executor.
void hosts::leave(void (kit::session::*how)())
{
    find_handlers_.clear();
    followers_.clear();
    make_probe_ = {};
    executor_ = {};
    for (auto const& h : std::exchange(hosts_, {}))
        ((*h->probe).*how)();
}

}  // namespace redlock::stores::postgresql
