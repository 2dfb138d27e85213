#pragma once

#include "support/counting_processes.hpp"
#include "bed/etcd_server.hpp"

#include <redlock/etcd.hpp>
#include <redlock/testing/node_suite.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

using testbed::etcd_server;

/// The parameters of the cases in test/stores, for etcd.
struct this_store {
    using server = etcd_server;
    using cluster = testbed::etcd_cluster;
    using options = std::vector<std::string>;

    static constexpr auto missing = "there is no etcd server here (Debian's packages etcd-server and etcd-client)";
    static bool is_here() { return !testbed::etcd_program().empty() && !testbed::etcdctl_program().empty(); }
    static store make() { return etcd(); }

    static inline options const quick{"--heartbeat-interval=10", "--election-timeout=50"};
    static inline options const durable = quick;

    static testing::node_kind kind()
    {
        return {.heals = false, .locks_any = false, .shares = false, .replaces = false};
    }
    static constexpr auto patient = "?timeout=10s";

    static constexpr auto hurried = "?session=2s&timeout=200ms";
    static constexpr std::chrono::milliseconds life = 2s;  ///< of a hurried session
    static constexpr newcomer_life newcomers{.time = 500ms, .ends_session = true};

    static constexpr auto scheme = "etcd";
    static constexpr auto apart = "/tests/";  ///< no other case has its locks there
    static constexpr auto brief_session = "?session=2s";
    static constexpr auto asks_for_port =
        "is this the client port of an etcd server (--listen-client-urls, mostly 2379)?";
    static constexpr std::size_t most_resources = 50;
    static constexpr auto refuses_more = "etcd locks at most 50 resources at once";

    static constexpr std::size_t sessions_of_one = 2;  ///< at most: locks move from one lease to the next
    static std::size_t sessions(server const& s)
    {
        auto const said = s.ask({"lease", "list"});  // "found 1 leases"
        return std::stoul(said.substr(said.find(' ')));
    }
};

/// Messages, and the addresses that cause them.
inline std::pair<std::string, std::vector<std::string>> const wrong_addresses[] = {
    {"; a valid address is, for example, etcd://10.0.0.1:2379,10.0.0.2:2379",
     {"etcd://", "etcd://a:0", "etcd://[::1", "etcd://u@a"}},
    {"",
     {"etcd://a,,b", "etcd://a:65536", "etcd://[alpha]", "etcd://:geheim@a", "etcd://u:@a", "etcd://u:geheim%2@a",
      "etcd://u:ge/geheim@a", "etcd://u:geheim", "etcd://a?sess=2s", "etcd://a?session=1s", "etcd://a?session=2500ms",
      "etcd://a?session=3601s", "etcd://a?timeout=0ms", "etcd://a?timeout=2", "etcd://a?timeout=2m", "etcd://a/x%0"}},
};

}  // namespace redlock::test
