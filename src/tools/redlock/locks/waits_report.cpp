#include "tools/redlock/locks/waits_report.hpp"

#include "tools/redlock/locks/lock_view.hpp"
#include "tools/redlock/locks/looking.hpp"
#include "tools/redlock/args/output.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <unistd.h>

namespace redlock::cli {

namespace {

boost::json::object json_of(process_wait const& w)
{
    return {{"process", valid_utf8(w.waiter)},
            {"key", valid_utf8(w.resource)},
            {"mode", w.shares ? "shared" : "exclusive"},
            {"note", json_of_text(w.note)},
            {"holder", valid_utf8(w.holder)}};
}

boost::json::array json_of(std::vector<process_wait> const& all)
{
    boost::json::array array;
    for (auto const& w : all)
        array.push_back(json_of(w));
    return array;
}

std::string table_of(waits const& seen, settings const& s)
{
    table t({"PROCESS", "WAITS FOR", "WANTS IT", "HELD BY", "FOR"});
    for (auto const& w : seen.graph.waits())
        t.add({printable(w.waiter), printable(w.resource), w.shares ? "shared" : "alone", printable(w.holder),
               printable(w.note)});
    auto text = t.text(s.has_color(STDOUT_FILENO));
    for (auto const& cycle : seen.graph.cycles())
        text += "\ndeadlock: " + text_of(cycle) + '\n';
    return text;
}

}  // namespace

std::string text_of(waits const& seen, settings const& s)
{
    if (s.output == format::table)
        return table_of(seen, s);
    auto const cycles = seen.graph.cycles();
    if (s.output == format::jsonl) {
        std::string lines;
        for (auto const& w : seen.graph.waits())
            lines += json_line(json_of(w));
        for (auto const& cycle : cycles)
            lines += json_line({{"cycle", json_of(cycle)}});
        return lines;
    }
    boost::json::array all;
    for (auto const& cycle : cycles)
        all.push_back(json_of(cycle));
    return json_line(
        {{"waits", json_of(seen.graph.waits())}, {"cycles", std::move(all)}, {"nodes", json_of(seen.nodes)}});
}

}  // namespace redlock::cli
