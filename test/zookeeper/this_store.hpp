#pragma once

#include "support/counting_processes.hpp"
#include "bed/zookeeper_server.hpp"

#include <redlock/testing/node_suite.hpp>
#include <redlock/zookeeper.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

using testbed::zookeeper_server;

/// The parameters of the cases in test/stores, for ZooKeeper.
struct this_store {
    using server = zookeeper_server;
    using cluster = testbed::zookeeper_ensemble;
    using options = std::vector<std::string>;

    static constexpr auto missing =
        "there is no ZooKeeper server here (Debian's packages zookeeper and default-jre-headless)";
    static bool is_here() { return !testbed::zookeeper_class_path().empty(); }
    static store make() { return zookeeper(); }

    static inline options const quick{};
    static inline options const durable{};

    static testing::node_kind kind()
    {
        return {.heals = false, .locks_any = false, .shares = false, .replaces = false};
    }
    static constexpr auto patient = "?session=60s&timeout=10s";

    static constexpr auto hurried = "?session=1s&timeout=200ms";
    static constexpr std::chrono::milliseconds life = 1s;  ///< of a hurried session
    static constexpr newcomer_life newcomers{.time = 500ms, .ends_session = true};

    static constexpr auto scheme = "zookeeper";
    static constexpr auto apart = "";
    static constexpr auto brief_session = "?session=1s";
    static constexpr auto asks_for_port = "is this the client port of a ZooKeeper server (clientPort, mostly 2181)?";
    static constexpr std::size_t most_resources = 100;
    static constexpr auto refuses_more = "ZooKeeper locks at most 100 resources at once";

    static constexpr std::size_t sessions_of_one = 1;
    static std::size_t sessions(server const& s)
    {
        std::size_t n = 0;
        auto const said = s.ask("dump");
        for (auto at = said.find("/redlock/sessions/"); at != said.npos; at = said.find("/redlock/sessions/", at + 1))
            ++n;
        return n;
    }
};

/// Messages, and the addresses that cause them.
inline std::pair<std::string, std::vector<std::string>> const wrong_addresses[] = {
    {"",
     {"zookeeper://",
      "zookeeper://a,,b",
      "zookeeper://a:0",
      "zookeeper://a:65536",
      "zookeeper://[::1",
      "zookeeper://[alpha]",
      "zookeeper://u@a",
      "zookeeper://:geheim@a",
      "zookeeper://u:@a",
      "zookeeper://u:geheim%2@a",
      "zookeeper://u:ge/geheim@a",
      "zookeeper://u:geheim",
      "zookeeper://u:1?geheim@a",
      "zookeeper://a?session=99ms",
      "zookeeper://a?session=3601s",
      "zookeeper://a?timeout=0ms",
      "zookeeper://a?timeout=2",
      "zookeeper://a?timeout=2m",
      "zookeeper://a/x%0",
      "zookeeper://a/x/",
      "zookeeper://a//x",
      "zookeeper://a/x/..",
      "zookeeper://a/%01"}},
    {"\"sesion\" is not a parameter", {"zookeeper://a?sesion=2s"}},
};

}  // namespace redlock::test
