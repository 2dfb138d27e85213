#pragma once

#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <utility>

namespace redlock::test {

/// Settings of a manager of one node. Unless @p special sets one, node_timeout is long enough for busy machines.
inline manager_options settings(std::string url, manager_options special = {})
{
    special.nodes = {std::move(url)};
    if (special.node_timeout == manager_options().node_timeout)
        special.node_timeout = busy_timeout;
    return special;
}

/// Settings without a quarantine after restarts.
inline manager_options trusting(std::string url)
{
    return settings(std::move(url), {.restart_guard = restart_guard::off});
}

/// Waits until the node reports the error @p e, and returns its report.
inline node_report report_with_error(manager_options c, errc e)
{
    real_servers r(0);
    node_report last;
    BOOST_TEST(r.run_to([&] {
        auto const o = r.attempt(c, {.wait = 300ms});
        BOOST_TEST(o.ec.failed());
        BOOST_TEST(o.report.message.find("pass-word") == std::string::npos);
        last = o.report.nodes.at(0);
        return last.error == e;
    }));
    return last;
}

inline bool says(std::string const& text, std::string const& words)
{
    BOOST_TEST_INFO(text);
    return text.find(words) != text.npos;
}

/// Destroys the context with open connections and requests in flight: 20 times, each a millisecond later than before.
inline void end_contexts_early(manager_options const& c)
{
    for (int i = 0; i < 20; ++i) {
        std::unique_ptr<lock_manager> locks;
        lock held;
        {
            asio::io_context context;
            locks = std::make_unique<lock_manager>(context, c);
            for (int k = 0; k < 10; ++k)
                locks->async_acquire("stock" + std::to_string(k), {.ttl = 5s, .wait = 5s},
                                     [&](error_code, lock l) { held = std::move(l); });
            context.run_for(std::chrono::milliseconds(i));
        }
        BOOST_TEST(!held.held());
    }
}

}  // namespace redlock::test
