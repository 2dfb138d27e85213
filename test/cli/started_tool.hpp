#pragma once

#include "bed/local_server.hpp"
#include "bed/process.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/stat.h>
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

/// Writes a file that only this user may read: `redlock serve` refuses other tokens and keys.
inline void write_secret(std::string const& file, std::string const& text, mode_t mode = 0600)
{
    std::ofstream(file) << text;
    BOOST_TEST_REQUIRE(::chmod(file.c_str(), mode) == 0, file);
}

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

inline std::size_t count_of(std::string_view text, std::string_view part)
{
    std::size_t count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
        ++count;
    return count;
}

/// Waits until the condition is true, at most one minute.
template <class Condition>
bool comes_true(Condition condition)
{
    using namespace std::chrono_literals;
    for (auto const end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(5ms)) {
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

/// The exit status and the output of the tool.
struct tool_run {
    int status = -1;  ///< like in a shell: 128 + the signal if a signal has ended it
    std::string out{}, err{};

    boost::json::object json() const { return boost::json::parse(out).as_object(); }

    /// Parses each line as JSON.
    std::vector<boost::json::object> documents() const
    {
        std::vector<boost::json::object> all;
        std::istringstream lines(out);
        for (std::string line; std::getline(lines, line);)
            all.push_back(boost::json::parse(line).as_object());
        return all;
    }
};

/// Tests the status and the standard error. @param why  parts of the standard error
template <class... Parts>
void must_say(tool_run const& e, int status, Parts const&... why)
{
    BOOST_TEST(e.status == status, e.err);
    for (std::string_view const part : {std::string_view(why)...})
        BOOST_TEST(has(e.err, part), e.err);
}

/// Tests the status and the standard output. @param what  parts of the standard output
template <class... Parts>
void must_show(tool_run const& e, int status, Parts const&... what)
{
    BOOST_TEST(e.status == status, e.err);
    for (std::string_view const part : {std::string_view(what)...})
        BOOST_TEST(has(e.out, part), e.out);
}

inline void must_print(tool_run const& e, int status, std::string_view out)
{
    BOOST_TEST(e.status == status, e.err);
    BOOST_TEST(e.out == out, e.err);
}

/// Tests that @p document has these fields. It may have others.
inline void must_have(boost::json::object const& document, boost::json::object const& fields)
{
    for (auto const& [name, value] : fields)
        BOOST_TEST(document.at(name) == value, name);
}

/// A running tool. A temporary folder holds the output of the tool and its command.
class started_tool {
public:
    /// @param redirection  for the shell, such as "2>&-"
    /// @param before       a command for the shell, such as "ulimit -n 64;"
    explicit started_tool(std::vector<std::string> arguments, std::vector<std::string> environment = {},
                          std::string const& redirection = "", std::string const& before = "")
        : process_(words(std::move(arguments), folder_.path, redirection, before),
                   {.environment = std::move(environment)})
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

    tool_run end_by(int signal)
    {
        process_.signal(signal);
        return wait();
    }

    tool_run wait()
    {
        auto const e = process_.wait();
        return {WIFSIGNALED(e.status) ? 128 + WTERMSIG(e.status) : e.code(), out(), err()};
    }

private:
    static std::vector<std::string> words(std::vector<std::string> arguments, std::string const& folder,
                                          std::string const& redirection, std::string const& before)
    {
        auto const runs = " exec \"$0\" \"$@\" </dev/null >" + folder + "/out 2>" + folder + "/err " + redirection;
        std::vector<std::string> all{"/bin/sh", "-c", before + runs, REDLOCK_TOOL};
        all.insert(all.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
        return all;
    }

    testbed::temporary_folder folder_;
    testbed::process process_;
};

}  // namespace redlock::test
