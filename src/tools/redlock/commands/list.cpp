// redlock list: lists all locks.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/looking.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/locks/waits_report.hpp"
#include "tools/redlock/locks/with_locks.hpp"
#include "tools/redlock/locks/with_source.hpp"
#include "core/quorum.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace redlock::cli {

namespace {

struct question {
    std::string glob = "*";
    bool tokens = false, waits = false;
};

/// Prints locks while the scan finds them, as a table or as JSON.
class listing {
public:
    listing(settings const& s, bool tokens) : settings_(s), tokens_(tokens) {}

    void add(std::vector<lock_view> const& locks)
    {
        print(settings_.output == format::table ? rows(locks) : documents(locks));
    }

    /// Call it after the last lock.
    void end(std::vector<node_list_info> const& all)
    {
        if (settings_.output == format::table)
            print(rows({}));  // prints the header if there was no lock
        if (settings_.output != format::json)
            return;
        print(fmt::format("{}],\"nodes\":{}}}\n", before_ == separator ? "" : before_, json_text(json_of(all))));
    }

private:
    static constexpr std::string_view separator = ",";

    // The first locks determine the widths of the columns. Columns grow later, because the other locks are unknown.
    std::string rows(std::vector<lock_view> const& locks)
    {
        for (auto const& l : locks)
            table_.add({printable(l.info.resource), holder_of(l.has, l.about.owner), since_of(l.about),
                        ttl_of(l.has, l.ttl), fmt::format("{}/{}", l.votes, l.info.nodes.size()),
                        std::string(to_string(l.state)), printable(l.about.note), tokens_ ? printable(l.value) : ""});
        return table_.take_text(settings_.has_color(STDOUT_FILENO));
    }

    std::string documents(std::vector<lock_view> const& locks)
    {
        std::string text;
        for (auto const& l : locks) {
            auto fields = json_of(l);
            if (tokens_)
                fields["token"] = valid_utf8(l.value);
            if (settings_.output == format::jsonl)
                text += json_line(fields);
            else
                text.append(std::exchange(before_, separator)) += json_text(fields);
        }
        return text;
    }

    settings const& settings_;
    bool const tokens_;
    std::string_view before_ = R"({"schema":1,"locks":[)";  // text before the next lock of the JSON document
    table table_{{"KEY", "HOLDER", "SINCE", "TTL", "NODES", "STATE", "FOR", tokens_ ? "TOKEN" : ""}};
};

// Each lock with a majority is on one of a majority of the nodes.
int status_of_all(std::vector<node_list_info> const& nodes)
{
    auto const complete = static_cast<std::size_t>(std::ranges::count(nodes, true, &node_list_info::complete));
    auto const is_any = [&](auto is) { return std::ranges::any_of(nodes, is, &node_list_info::error); };
    if (complete >= core::majority(nodes.size()))
        return done;
    if (is_any([](error_code ec) { return is_refused(ec); }))
        return no_permission;
    return is_any([](error_code ec) { return ec == errc::unsupported; }) ? wrong_configuration : no_quorum;
}

int judge(std::vector<node_list_info> const& nodes, settings const& s)
{
    for (auto const& n : nodes) {
        if (!n.complete && !s.quiet)
            remark(fmt::format("redlock list: {} has not told of all its locks: {}\n", printable(n.name),
                               printable(trouble_of(n))));
    }
    return status_of_all(nodes);
}

asio::awaitable<int> tell_all(lock_source& locks, question const& q, settings const& s)
{
    listing out(s, q.tokens);
    auto const nodes = co_await locks.list_all(q.glob, [&](auto const& some) {
        out.add(some);
        return true;
    });
    out.end(nodes);
    co_return judge(nodes, s);
}

asio::awaitable<int> tell_waits(lock_manager& locks, question const& q, settings const& s)
{
    auto const seen = co_await read_waits(locks, q.glob, "list");
    print(text_of(seen, s));
    auto const status = judge(seen.nodes, s);
    co_return status == done && !seen.graph.cycles().empty() ? no : status;
}

}  // namespace

int list(arguments given)
{
    command_line line("list",
                      "List all locks, each once and in no order, with the holder, since when and for what, the ttl, "
                      "and on how many nodes.",
                      "State: held; shared; foreign, by another kind of client; partial, on no majority of the nodes, "
                      "as it is being acquired or "
                      "released, or was left behind; unknown, as too few nodes answered. Locks that come or go "
                      "meanwhile may be listed or not.\n"
                      "Status: 0 a majority of the nodes has listed all its locks; 1 --waits has found a deadlock; 69 "
                      "too few nodes have listed them; 77 too few, "
                      "because they refuse; 78 too few, because their stores cannot list locks.");
    question q;
    line.add_option("GLOB", q.glob, "a pattern of names, as of KEYS and SCAN: jobs/*");
    line.add_flag("--tokens", q.tokens,
                  "show the tokens of the holders. Everybody who knows a token can release the lock");
    line.add_flag("--waits", q.waits,
                  "show which processes wait for which others instead, and those that wait for each other");
    line.may_use_services();
    auto const s = for_looking(line.read(std::move(given)));
    if (q.tokens)
        must_have_nodes(line, s, "--tokens");
    if (!q.waits)
        return with_source(s, "list", [&](lock_source& locks) { return tell_all(locks, q, s); });
    must_have_nodes(line, s, "--waits");
    return with_locks(s, [&](lock_manager& locks) { return tell_waits(locks, q, s); });
}

}  // namespace redlock::cli
