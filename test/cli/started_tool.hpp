#pragma once

#include "testbed/local_server.hpp"
#include "testbed/process.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::test {

inline std::string text_of(std::string const& file)
{
    std::ifstream f(file);
    return {std::istreambuf_iterator<char>(f), {}};
}

/// Waits until something is true; a minute at the most.
template <class Condition>
bool comes_true(Condition condition)
{
    using namespace std::chrono_literals;
    for (auto const end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(5ms)) {
        if (condition())
            return true;
    }
    return condition();
}

inline std::string one_of(std::vector<std::string> const& urls, std::string const& separator = ",")
{
    std::string all;
    for (auto const& u : urls)
        all += (all.empty() ? "" : separator) + u;
    return all;
}

/// How the tool has ended, and what it has said.
struct tool_run {
    int status = -1;  ///< as the shell has it: 128 and the signal
    std::string out{}, err{};

    boost::json::object json() const { return boost::json::parse(out).as_object(); }

    /// Each line, which must be JSON.
    std::vector<boost::json::object> documents() const
    {
        std::vector<boost::json::object> all;
        std::istringstream lines(out);
        for (std::string line; std::getline(lines, line);)
            all.push_back(boost::json::parse(line).as_object());
        return all;
    }
};

/// The tool, with a folder for what it and its command say.
class started_tool {
public:
    /// @param redirection  for the shell: "2>&-"
    explicit started_tool(std::vector<std::string> arguments, std::vector<std::string> environment = {}, std::string const& redirection = "")
        : process_(words(std::move(arguments), folder_.path, redirection), {.environment = std::move(environment)})
    {
    }

    testbed::process& process() { return process_; }
    std::string out() const { return text_of(folder_.path + "/out"); }
    std::string err() const { return text_of(folder_.path + "/err"); }

    bool says(std::string const& text) const
    {
        return comes_true([&] { return out().find(text) != std::string::npos; });
    }
    bool complains(std::string const& text) const
    {
        return comes_true([&] { return err().find(text) != std::string::npos; });
    }

    tool_run wait()
    {
        auto const e = process_.wait();
        return {WIFSIGNALED(e.status) ? 128 + WTERMSIG(e.status) : e.code(), out(), err()};
    }

private:
    static std::vector<std::string> words(std::vector<std::string> arguments, std::string const& folder, std::string const& redirection)
    {
        std::vector<std::string> all{"/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null >" + folder + "/out 2>" + folder + "/err " + redirection, REDLOCK_TOOL};
        all.insert(all.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
        return all;
    }

    testbed::temporary_folder folder_;
    testbed::process process_;
};

}  // namespace redlock::test
