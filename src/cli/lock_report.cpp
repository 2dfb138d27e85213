#include "cli/lock_report.hpp"

#include "cli/output.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unistd.h>

namespace redlock::cli {

namespace {

std::string words_for(lock_answer const& a)
{
    auto const all = a.waiting->size(), shared = a.sharing();
    if (all == 0)
        return "nobody waits for it\n";
    auto const who = fmt::format("{} process{} wait{} for it", all, all == 1 ? "" : "es", all == 1 ? "s" : "");
    return shared == 0 ? who + '\n'
                       : fmt::format("{}: {} to have it alone, {} to share it\n", who, all - shared, shared);
}

std::string ttl_of(reader_view const& r) { return r.ttl.count() < 0 ? "over" : in_words(r.ttl); }

}  // namespace

std::string sentence_of(lock_view const& l, std::string const& prefix)
{
    auto const name = printable(prefix + l.key);
    auto const on = fmt::format("on {} of {} nodes", l.votes, l.nodes.size());
    auto const who = holder_of(l.has, l.owner) + purpose_of(l.about);
    auto const ttl = l.ttl ? "ttl " + in_words(*l.ttl) : std::string("without an end");
    switch (l.state) {
    case lock_state::free:
        return fmt::format("{} is free", name);
    case lock_state::held:
    case lock_state::foreign:
        return fmt::format("{} is held by {} {}, {}", name, who, on, ttl);
    case lock_state::shared:
        return fmt::format("{} is shared {}, {}", name, on, ttl);
    case lock_state::partial:
        return fmt::format("{} is held by nobody: {} is {}, which is no majority, {}", name, who, on, ttl);
    case lock_state::unknown:
        return l.is_there() ? fmt::format("{}: {} is {}, and too few nodes answer to tell whether it is held, {}", name,
                                          who, on, ttl)
                            : fmt::format("{}: too few nodes answer to tell whether it is held", name);
    }
    return {};
}

std::string text_of(lock_answer const& a, settings const& s, bool tokens)
{
    auto text = sentence_of(a.lock, s.locks.prefix) + '\n';
    if (a.waiting)
        text += words_for(a);
    bool const bold = s.has_color(STDOUT_FILENO);
    table nodes({"NODE", "STATE", "HOLDER", "SINCE", "TTL", "FOR", tokens ? "TOKEN" : ""});
    for (auto const& n : a.lock.nodes) {
        bool const is_there = n.state > lock_state::free;
        auto const by = words_in(n.value);
        nodes.add({printable(n.name),
                   is_there || n.error.empty() ? std::string(to_string(n.state)) : "unknown: " + printable(n.error),
                   holder_of(n.state, n.owner), since_of(by), ttl_of(n.state, n.ttl), printable(by.note),
                   tokens ? printable(n.value) : ""});
    }
    text += '\n' + nodes.text(bold);
    table readers({"READER", "SINCE", "TTL", "NODES", "FOR", tokens ? "TOKEN" : ""});
    for (auto const& r : a.readers) {
        auto const by = words_in(r.value);
        readers.add({holder_of(lock_state::held, r.owner), since_of(by), ttl_of(r),
                     fmt::format("{}/{}", r.votes, a.lock.nodes.size()), printable(by.note),
                     tokens ? printable(r.value) : ""});
    }
    if (!a.readers.empty())
        text += '\n' + readers.text(bold);
    if (!a.waiting || a.waiting->empty())
        return text;
    table waiting({"WAITS", "WANTS IT", "FOR"});
    for (auto const& w : *a.waiting)
        waiting.add({holder_of(lock_state::held, w.owner), w.shares ? "shared" : "alone", printable(w.note)});
    return text + '\n' + waiting.text(bold);
}

boost::json::object json_of(lock_answer const& a, bool tokens)
{
    auto document = json_of(a.lock);
    if (tokens)
        document["token"] = valid_utf8(a.lock.value);
    document["waiting"] = nullptr;
    boost::json::array readers, nodes, waiters;
    if (a.waiting) {
        document["waiting"] = {{"alone", a.waiting->size() - a.sharing()}, {"shared", a.sharing()}};
        for (auto const& w : *a.waiting)
            waiters.push_back({{"owner", json_of_text(w.owner)},
                               {"note", json_of_text(w.note)},
                               {"mode", w.shares ? "shared" : "exclusive"}});
    }
    for (auto const& r : a.readers) {
        boost::json::object reader{
            {"owner", valid_utf8(r.owner)}, {"ttl_ms", std::max<std::int64_t>(r.ttl.count(), 0)}, {"votes", r.votes}};
        add_words(reader, words_in(r.value));
        if (tokens)
            reader["token"] = valid_utf8(r.value);
        readers.push_back(std::move(reader));
    }
    for (auto const& n : a.lock.nodes) {
        auto node = json_of(n);
        if (tokens)
            node["token"] = valid_utf8(n.value);
        nodes.push_back(std::move(node));
    }
    document["waiters"] = std::move(waiters);
    document["readers"] = std::move(readers);
    document["nodes"] = std::move(nodes);
    return document;
}

bool is_refused(std::string_view error)
{
    constexpr std::array refusals{"NOPERM", "NOAUTH", "WRONGPASS", "ERR AUTH", "ERR invalid password"};
    return std::ranges::any_of(refusals, [&](auto const* r) { return error.starts_with(r); });
}

bool is_refused(lock_view const& l)
{
    return std::ranges::any_of(l.nodes,
                               [](auto const& n) { return n.state == lock_state::unknown && is_refused(n.error); });
}

}  // namespace redlock::cli
