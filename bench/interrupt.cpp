#include "interrupt.hpp"

#include <csignal>

namespace redlock::bench {

namespace {

volatile std::sig_atomic_t noted = 0;

}  // namespace

void note_interrupts()
{
    struct sigaction action = {};
    action.sa_handler = [](int) { noted = 1; };
    ::sigaction(SIGINT, &action, nullptr);  // no SA_RESTART: blocking calls return, and the callers check
    ::sigaction(SIGTERM, &action, nullptr);
}

bool was_interrupted() noexcept { return noted != 0; }

void throw_if_interrupted()
{
    if (was_interrupted())
        throw interrupted();
}

}  // namespace redlock::bench
