#include "apart.hpp"

#include "interrupt.hpp"
#include "output/json.hpp"
#include "bed/process.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace redlock::bench {

namespace {

enum outcome : int { measured, failed, stopped };

outcome tell(std::string const& text, outcome how)
{
    // If writing fails, the parent has ended.
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? how : stopped;
}

outcome measure_and_tell(std::function<std::vector<result>()> const& measure)
{
    try {
        return tell(to_json({{}, measure()}), measured);
    } catch (interrupted const&) {
        return stopped;
    } catch (std::exception const& e) {
        return tell(e.what(), failed);
    }
}

}  // namespace

std::vector<result> apart(std::function<std::vector<result>()> const& measure)
{
    // On SIGTERM the child throws, so its destructors stop the servers.
    testbed::process child([&] { return measure_and_tell(measure); },
                           {.piped = true, .when_alone = SIGTERM, .is_over = was_interrupted});
    auto const text = child.read();
    auto const end = child.wait();
    throw_if_interrupted();
    switch (end.code()) {
    case measured:
        return from_json(text, "the measuring process").results;
    case stopped:
        throw interrupted();
    case failed:
        throw std::runtime_error(text);
    }
    throw std::runtime_error("the measuring process " + end.in_words());
}

}  // namespace redlock::bench
