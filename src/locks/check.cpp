#include "locks/check.hpp"

#include "core/fencing.hpp"
#include "core/key.hpp"
#include "events/shown_name.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds ttl_min{20};
constexpr milliseconds ttl_max{24 * 60 * 60 * 1000};
constexpr milliseconds timeout_max{60'000};
constexpr milliseconds duration_max = std::chrono::hours(24) * 36'525;  // 100 years: cannot overflow a time
constexpr std::size_t nodes_max = 99;
// A server does nothing else during one call. A call with 256 taken names takes 0.7 ms if they have 24 bytes each, and
// 2.3 ms if they have 500. Therefore the total size of the names has no limit of its own.
constexpr std::size_t any_max = 64;  // up to 0.2 ms, if all are taken and the server notes the client as waiting
constexpr std::size_t prefix_max = 256;

std::string check_between(std::string_view field, milliseconds value, milliseconds low, milliseconds high)
{
    if (value >= low && value <= high)
        return {};
    return fmt::format("{} is {} ms, but must be {} to {} ms", field, value.count(), low.count(), high.count());
}

// Checks a duration that has no limit of its own.
std::string check_duration(std::string_view field, milliseconds value, milliseconds low = milliseconds(0))
{
    return check_between(field, value, low, duration_max);
}

bool is_known(mode m) noexcept { return m == mode::exclusive || m == mode::shared || m == mode::upgradeable; }

}  // namespace

std::string check_wait(milliseconds wait)
{
    if (wait == wait_forever)
        return {};
    auto wrong = check_duration("wait", wait);
    return wrong.empty() ? wrong : wrong + ", or wait_forever";
}

std::string check(manager_options const& c)
{
    if (c.nodes.empty())
        return "nodes is empty; name at least one, such as \"redis://localhost\"";
    if (c.nodes.size() > nodes_max)
        return fmt::format("nodes has {} entries, but must have 1 to {}", c.nodes.size(), nodes_max);
    if (c.prefix.size() > prefix_max)
        return fmt::format("prefix has {} bytes, but must have 0 to {}", c.prefix.size(), prefix_max);
    if (auto const mark = core::mark_in(c.prefix); !mark.empty())
        return fmt::format("prefix holds \"{}\", which marks other keys than locks", mark);
    if (c.owner.size() > owner_max)
        return fmt::format("owner has {} bytes, but must have 0 to {}", c.owner.size(), owner_max);
    if (auto wrong = check_between("node_timeout", c.node_timeout, milliseconds(1), timeout_max); !wrong.empty())
        return wrong;
    if (auto wrong = check_between("connect_timeout", c.connect_timeout, milliseconds(1), timeout_max); !wrong.empty())
        return wrong;
    if (!(c.drift_factor >= 0.0 && c.drift_factor <= 0.5))  // also refuses NaN
        return fmt::format("drift_factor is {}, but must be 0 to 0.5", c.drift_factor);
    if (auto wrong = check_between("max_ttl", c.max_ttl, ttl_min, ttl_max); !wrong.empty())
        return wrong;
    if (c.max_handovers > 1'000'000)
        return fmt::format("max_handovers is {}, but must be at most 1000000", c.max_handovers);
    if (c.node_timeout >= c.max_ttl)
        return fmt::format("node_timeout is {} ms, but must be below max_ttl, which is {} ms", c.node_timeout.count(),
                           c.max_ttl.count());
    if (!c.record && c.restart_guard != restart_guard::off && !c.read_only)
        return "record is false, but without a record nobody notices that a server has forgotten locks; set it, or set "
               "restart_guard to off, which accepts two holders after a restart";
    if (c.tls.certificate_file.empty() != c.tls.private_key_file.empty())
        return fmt::format("tls.{} is empty, but must be given together with tls.{}",
                           c.tls.certificate_file.empty() ? "certificate_file" : "private_key_file",
                           c.tls.certificate_file.empty() ? "private_key_file" : "certificate_file");
    return {};
}

std::string check_resource(std::string_view resource, std::string_view prefix)
{
    if (resource.empty())
        return fmt::format("resource is empty, but must have 1 to {} bytes", core::name_max);
    if (resource.size() > core::name_max)
        return fmt::format("resource has {} bytes, but must have 1 to {}", resource.size(), core::name_max);
    if (resource.find('=') == resource.npos && prefix.find('=') == prefix.npos)
        return {};  // each mark contains one
    if (auto const mark = core::mark_in(std::string(prefix).append(resource)); !mark.empty())
        return fmt::format("resource, behind the prefix, holds \"{}\", which marks other keys than locks", mark);
    return {};
}

std::string check_ttl(milliseconds ttl, manager_options const& c)
{
    if (ttl < ttl_min || ttl > c.max_ttl)
        return fmt::format("ttl is {} ms, but must be {} ms to max_ttl, which is {} ms", ttl.count(), ttl_min.count(),
                           c.max_ttl.count());
    if (c.node_timeout >= ttl)
        return fmt::format("ttl is {} ms, but must be above node_timeout, which is {} ms", ttl.count(),
                           c.node_timeout.count());
    return {};
}

namespace {

std::string check_resources(detail::selection const& wanted, std::string_view prefix)
{
    auto const& resources = wanted.resources;
    auto const most = wanted.any ? any_max : core::names_max;
    if (resources.size() == 0 || resources.size() > most)
        return fmt::format("{} resources are named, but 1 to {} can be {}", resources.size(), most,
                           wanted.any ? "chosen from" : "locked together");
    for (auto const& resource : resources) {
        if (auto wrong = check_resource(resource, prefix); !wrong.empty())
            return resources.size() == 1 ? wrong
                                         : fmt::format("{} (number {} of {}, sorted)", wrong,
                                                       &resource - &*resources.begin() + 1, resources.size());
    }
    return {};
}

std::string name_of(mode m)
{
    switch (m) {
    case mode::exclusive:
        return "exclusive";
    case mode::shared:
        return "shared";
    case mode::upgradeable:
        return "upgradeable";
    }
    return std::to_string(static_cast<int>(m));
}

// If a text is too long, the message does not tell its size: the call has copied only its beginning (`call_options`).
std::string check_size(std::string_view field, std::string_view text, std::size_t least, std::size_t most)
{
    if (text.size() > most)
        return fmt::format("{} has more than {} bytes, but must have {} to {}", field, most, least, most);
    if (text.size() < least)
        return fmt::format("{} has {} bytes, but must have {} to {}", field, text.size(), least, most);
    return {};
}

// Others parse the text as a part of the lock's value, and show it on their terminals.
std::string check_text(std::string_view field, std::string_view text, std::size_t most)
{
    if (auto wrong = check_size(field, text, 0, most); !wrong.empty())
        return wrong;
    for (std::size_t at = 0; at < text.size();) {
        auto const size = events::printable_size(text.substr(at));
        if (size == 0)
            return fmt::format("{} has the byte 0x{:02x} at index {}, but must be UTF-8 without control characters",
                               field, static_cast<unsigned char>(text[at]), at);
        at += size;
    }
    return {};
}

}  // namespace

std::string check(detail::selection const& wanted, acquire_options const& o, manager_options const& c)
{
    auto const& resources = wanted.resources;
    if (auto wrong = check_resources(wanted, c.prefix); !wrong.empty())
        return wrong;
    if (!is_known(o.mode))
        return fmt::format("mode is {}, but must be exclusive, shared or upgradeable", name_of(o.mode));
    if (o.mode == mode::exclusive && o.passes_writers)
        return "passes_writers is true, but mode is exclusive; only a reader can pass waiting writers";
    if (o.mode != mode::exclusive && wanted.any)
        return fmt::format(
            "mode is {}, but any one of several resources is locked exclusively; to share one, acquire it by its name",
            name_of(o.mode));
    if (!o.new_token.empty())
        return "new_token is set, but only async_resume takes one";
    if (wanted.once && o.wait != milliseconds(0))
        return fmt::format("wait is {}, but must be 0, because async_try_acquire tries once; to wait, call "
                           "async_acquire",
                           o.wait == wait_forever ? "wait_forever" : fmt::format("{} ms", o.wait.count()));
    if (o.mode != mode::exclusive && resources.size() > 1)
        return fmt::format("mode is {}, but {} resources are named; share one of them, or lock all of them exclusively",
                           name_of(o.mode), resources.size());
    return check(o, c);
}

std::string check(acquire_options const& o, manager_options const& c)
{
    if (auto wrong = check_ttl(o.ttl, c); !wrong.empty())
        return wrong;
    if (auto wrong = check_wait(o.wait); !wrong.empty())
        return wrong;
    if (o.renew != renewal::none && o.renew != renewal::automatic && o.renew != renewal::unset)
        return fmt::format("renew is {}, but must be none, automatic or unset", static_cast<int>(o.renew));
    if (auto wrong = check_size("group", o.group, 0, group_max); !wrong.empty())
        return wrong;
    if (auto wrong = check_text("note", o.note, note_max); !wrong.empty())
        return wrong;
    if (auto wrong = check_text("owner", o.owner, owner_max); !wrong.empty())
        return wrong;
    if (o.max_hold == milliseconds(0))
        return {};
    auto wrong = check_duration("max_hold", o.max_hold, ttl_min);
    return wrong.empty() ? wrong : wrong + ", or 0: no limit";
}

acquire_options lock_of(elect_options const& o)
{
    return {.ttl = o.ttl, .wait = o.wait, .max_hold = o.max_hold, .group = o.group, .note = o.note};
}

std::string check(elect_options const& o, manager_options const& c)
{
    if (auto wrong = check(lock_of(o), c); !wrong.empty())
        return wrong;
    if (auto wrong = check_between("pause_max", o.pause_max, milliseconds(1), ttl_max); !wrong.empty())
        return wrong;
    if (o.pause_min < milliseconds(1) || o.pause_min > o.pause_max)
        return fmt::format("pause_min is {} ms, but must be 1 ms to pause_max, which is {} ms", o.pause_min.count(),
                           o.pause_max.count());
    if (auto wrong = check_duration("stable", o.stable); !wrong.empty())
        return wrong;
    if (o.at_least < milliseconds(0) || o.at_least > o.ttl)
        return fmt::format("at_least is {} ms, but must be 0 to ttl, which is {} ms, because the key stays for at most "
                           "that time",
                           o.at_least.count(), o.ttl.count());
    return {};
}

namespace {

std::string check_token(std::string_view field, std::string_view token)
{
    if (auto wrong = check_size(field, token, 1, token_max); !wrong.empty())
        return wrong;
    if (token == core::shared_word)
        return fmt::format("{} is \"{}\", which marks a shared lock and is not a token", field, core::shared_word);
    return {};
}

}  // namespace

std::string check(lock_ticket const& t, manager_options const& c)
{
    if (auto wrong = check_resources(t.resources, c.prefix); !wrong.empty())
        return wrong;
    if (!is_known(t.mode))
        return fmt::format("ticket.mode is {}, but must be exclusive or shared", name_of(t.mode));
    if (t.mode == mode::upgradeable)
        return "ticket.mode is upgradeable, but must be exclusive or shared: the right to an upgrade ends with its "
               "process";
    if (t.mode == mode::shared && t.resources.size() > 1)
        return fmt::format("ticket.mode is shared, but {} resources are named; one is shared at a time",
                           t.resources.size());
    if (auto wrong = check_token("ticket.token", t.token); !wrong.empty())
        return wrong;
    if (t.fencing_token >= core::fence_end)
        return fmt::format("ticket.fencing_token is {}, but must be below {}", t.fencing_token, core::fence_end);
    return {};
}

std::string check(lock_ticket const& t, acquire_options const& o, manager_options const& c)
{
    if (auto wrong = check(t, c); !wrong.empty())
        return wrong;
    if (o.mode != mode::exclusive && o.mode != t.mode)
        return fmt::format("mode is {}, but the ticket's mode is {}; leave mode out", name_of(o.mode), name_of(t.mode));
    if (o.new_token.empty())
        return check(o, c);
    if (o.new_token == t.token)
        return "new_token is the ticket's token, but must be another one";
    auto wrong = check_token("new_token", o.new_token);
    return wrong.empty() ? check(o, c) : wrong;
}

}  // namespace redlock::locks
