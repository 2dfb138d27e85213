#pragma once

#include "cli/started_tool.hpp"
#include "bed/process.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// An environment without nodes. The restart guard is automatic, because the servers are new.
inline std::vector<std::string> without_nodes()
{
    return {"REDLOCK_URLS=", "REDLOCK_CONFIG=", "REDLOCK_PREFIX=", "NO_COLOR=", "REDLOCK_RESTART_GUARD=automatic"};
}

/// Runs the built program `redlock`, and waits for its end.
inline tool_run run_tool(std::vector<std::string> arguments)
{
    return started_tool(std::move(arguments), without_nodes()).wait();
}

/// Starts the program `redlock`. process::read returns its output.
inline testbed::process start_tool(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), REDLOCK_TOOL);
    return testbed::process(std::move(arguments), {.environment = without_nodes(), .piped = true});
}

/// The findings of a run of `redlock doctor`.
struct doctor_report : tool_run {
    struct finding {
        std::string level, node, what, why, fix;
    };

    std::vector<finding> findings{};

    std::vector<finding> all_of(std::string const& what, std::string const& node = {}) const
    {
        std::vector<finding> some;
        for (auto const& f : findings) {
            if (f.what == what && (node.empty() || f.node == node))
                some.push_back(f);
        }
        return some;
    }

    /// The first finding. There must be one.
    finding of(std::string const& what, std::string const& node = {}) const
    {
        auto const some = all_of(what, node);
        BOOST_TEST_REQUIRE(!some.empty(), what << " of " << node << " in: " << out << err);
        return some.front();
    }

    struct judgement {
        std::string what, level, node{};
    };

    /// Tests the level of the first finding of each check.
    void must_have(std::vector<judgement> const& all) const
    {
        for (auto const& j : all)
            BOOST_TEST(of(j.what, j.node).level == j.level, j.what << ": " << of(j.what, j.node).why);
    }

    std::string summary() const { return std::string(documents().back().at("summary").as_string()); }
};

/// Parses the output of a run of the doctor with `-o jsonl`.
inline doctor_report report_of(tool_run run)
{
    doctor_report r;
    static_cast<tool_run&>(r) = std::move(run);
    for (auto const& d : r.documents()) {
        auto const text = [&](char const* name) { return std::string(d.at(name).as_string()); };
        if (d.contains("level"))
            BOOST_TEST(text("mend") == text("fix"));  // the name in 0.1
        if (d.contains("level"))
            r.findings.push_back({text("level"), text("node"), text("what"), text("why"), text("fix")});
    }
    return r;
}

/// Whether to run the clock check, which takes a second.
enum class clocks { left_out, compared };

/// Runs `redlock doctor` on @p urls.
inline doctor_report run_doctor(std::vector<std::string> const& urls, std::vector<std::string> const& options = {},
                                clocks compare = clocks::left_out)
{
    std::vector<std::string> arguments;
    for (auto const& url : urls)
        arguments.insert(arguments.end(), {"-u", url});
    arguments.insert(arguments.end(), {"doctor", "-o", "jsonl"});
    arguments.insert(arguments.end(), options.begin(), options.end());
    if (compare == clocks::left_out)
        arguments.insert(arguments.end(), {"--skip", "clock"});
    return report_of(run_tool(std::move(arguments)));
}

/// Runs a line that the doctor prints, in a shell like an operator.
inline void run_line(std::string const& line)
{
    BOOST_TEST_REQUIRE(!line.empty());
    BOOST_TEST_REQUIRE(std::system(("(" + line + "\n) >/dev/null").c_str()) == 0, line);
}

}  // namespace redlock::test
