#include "tools/redlock/locks/lock_report.hpp"

#include "tools/redlock/args/output.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>

namespace redlock::cli {

namespace {

std::size_t sharing(lock_info const& info)
{
    return static_cast<std::size_t>(std::ranges::count(info.waiters, true, &waiting_info::shares));
}

std::string words_for(lock_info const& info)
{
    auto const all = info.waiters.size(), shared = sharing(info);
    if (all == 0)
        return "nobody waits for it\n";
    auto const who = fmt::format("{} process{} wait{} for it", all, all == 1 ? "" : "es", all == 1 ? "s" : "");
    return shared == 0 ? who + '\n'
                       : fmt::format("{}: {} to have it alone, {} to share it\n", who, all - shared, shared);
}

}  // namespace

std::string sentence_of(lock_view const& l, std::string const& prefix)
{
    auto const name = printable(prefix + l.info.resource);
    auto const on = fmt::format("on {} of {} nodes", l.votes, l.info.nodes.size());
    auto const who = holder_of(l.has, l.about.owner) + purpose_of(l.about);
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

std::string text_of(lock_view const& l, settings const& s, bool tokens)
{
    auto const& info = l.info;
    auto text = sentence_of(l, s.locks.prefix) + '\n';
    if (info.knows_waiters)
        text += words_for(info);
    bool const bold = s.has_color(STDOUT_FILENO);
    table nodes({"NODE", "STATE", "HOLDER", "SINCE", "TTL", "FOR", tokens ? "TOKEN" : ""});
    for (auto const& n : info.nodes) {
        auto const state = state_of(n);
        nodes.add(
            {printable(n.name),
             state != lock_state::unknown ? std::string(to_string(state)) : "unknown: " + printable(trouble_of(n)),
             holder_of(state, n.owner), since_of(words_in(n.value)), ttl_of(state, ttl_of(n)), printable(n.note),
             tokens ? printable(n.value) : ""});
    }
    text += '\n' + nodes.text(bold);
    table readers({"READER", "SINCE", "TTL", "NODES", "FOR", tokens ? "TOKEN" : ""});
    for (auto const& r : info.readers)
        readers.add({holder_of(lock_state::held, r.owner), since_of(words_in(r.value)), in_words(r.remaining),
                     fmt::format("{}/{}", r.nodes, info.nodes.size()), printable(r.note),
                     tokens ? printable(r.value) : ""});
    if (!info.readers.empty())
        text += '\n' + readers.text(bold);
    table waiting({"WAITS", "WANTS IT", "FOR"});
    for (auto const& w : info.waiters)
        waiting.add({holder_of(lock_state::held, w.owner), w.shares ? "shared" : "alone", printable(w.note)});
    return info.waiters.empty() ? text : text + '\n' + waiting.text(bold);
}

boost::json::object json_of(lock_view const& l, bool tokens)
{
    auto const& info = l.info;
    auto document = json_of(l);
    if (tokens)
        document["token"] = valid_utf8(l.value);
    document["waiting"] = nullptr;
    if (info.knows_waiters)
        document["waiting"] = {{"alone", info.waiters.size() - sharing(info)}, {"shared", sharing(info)}};
    boost::json::array readers, nodes, waiters;
    for (auto const& w : info.waiters)
        waiters.push_back({{"owner", json_of_text(w.owner)},
                           {"note", json_of_text(w.note)},
                           {"mode", w.shares ? "shared" : "exclusive"}});
    for (auto const& r : info.readers) {
        boost::json::object reader{{"owner", valid_utf8(r.owner)},
                                   {"ttl_ms", std::max<std::int64_t>(r.remaining.count(), 0)},
                                   {"votes", r.nodes}};
        add_words(reader, words_in(r.value));
        if (tokens)
            reader["token"] = valid_utf8(r.value);
        readers.push_back(std::move(reader));
    }
    for (auto const& n : info.nodes) {
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

}  // namespace redlock::cli
