#include "tools/demo/signals.hpp"

#include <csignal>

namespace redlock::demo {

namespace {

sigset_t ending_signals()
{
    sigset_t set;
    ::sigemptyset(&set);
    for (int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
        ::sigaddset(&set, s);
    return set;
}

}  // namespace

void hold_back_signals()
{
    auto const set = ending_signals();
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // a closed standard output is then an error of write
}

void sleep_unless_interrupted(std::chrono::milliseconds duration)
{
    auto const set = ending_signals();
    timespec const t{duration.count() / 1000, duration.count() % 1000 * 1'000'000};
    if (int const signal = ::sigtimedwait(&set, nullptr, &t); signal > 0)
        throw interrupted{signal};
}

}  // namespace redlock::demo
