#include "bed/sentinel_set.hpp"

#include "bed/wait_until.hpp"

#include <filesystem>
#include <fstream>

namespace redlock::testbed {

namespace {

// A Sentinel needs a configuration file that it can write to.
std::string make_program(std::string const& folder, std::vector<std::string> const& settings)
{
    std::ofstream file(folder + "/conf");
    for (auto const& line : settings)
        file << line << '\n';
    auto program = folder + "/sentinel";
    std::ofstream(program) << "#!/bin/sh\nexec " << server_program() << ' ' << folder << "/conf \"$@\" --sentinel\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return program;
}

bool contains(std::string const& text, std::string const& words) { return text.find(words) != text.npos; }

}  // namespace

sentinel_set::sentinel_set(sentinel_options o)
{
    // Otherwise the first replica waits for more replicas.
    o.servers.insert(o.servers.end(), {"--repl-diskless-sync-delay", "0"});
    servers_.emplace_back(o.servers);
    auto const port = std::to_string(servers_[0].port());
    for (std::size_t i = 0; i < o.replicas; ++i) {
        auto options = o.servers;
        options.insert(options.end(), {"--replicaof", "127.0.0.1 " + port});
        servers_.emplace_back(options);
    }
    wait_until(
        [&] {
            return contains(servers_[0].ask({"INFO", "replication"}), "connected_slaves:" + std::to_string(o.replicas));
        },
        "no replica comes");
    for (std::size_t i = 1; i <= o.replicas; ++i)
        wait_until(
            [&] {
                return contains(servers_[i].ask({"INFO", "replication"}), "master_link_status:up");
            },
            "a replica does not get its data");
    auto const count = std::to_string(o.sentinels / 2 + 1);
    std::vector<std::string> settings{
        "sentinel monitor stock 127.0.0.1 " + (o.port.empty() ? port : o.port) + ' ' + count,
        "sentinel down-after-milliseconds stock " + o.down_after_ms, "sentinel failover-timeout stock 5000"};
    settings.insert(settings.end(), o.settings.begin(), o.settings.end());
    for (std::size_t i = 0; i < o.sentinels; ++i)
        sentinels_.emplace_back(std::vector<std::string>{}, make_program(folders_.emplace_back().path, settings));
    auto const others = std::to_string(o.sentinels - 1), replicas = std::to_string(o.replicas);
    for (auto const& s : sentinels_) {
        wait_until(
            [&] {
                auto const said = s.ask({"SENTINEL", "MASTER", "stock"});
                return said.starts_with('-')
                       || (contains(said, "num-slaves\n" + replicas + "\n")
                           && contains(said, "num-other-sentinels\n" + others + "\n"));
            },
            "a Sentinel does not find the others");
    }
}

std::string sentinel_set::url(std::string const& last, std::string const& first) const
{
    return first + addresses_of(sentinels_) + last;
}

std::string sentinel_set::master(std::size_t i) const
{
    auto const said = sentinels_[i].ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "stock"});
    return said.substr(said.find('\n') + 1);
}

local_server& sentinel_set::add_sentinel(std::uint16_t port, std::vector<std::string> const& settings)
{
    std::vector<std::string> all{"sentinel monitor stock 127.0.0.1 " + std::to_string(port) + " 1",
                                 "sentinel down-after-milliseconds stock 60000"};
    all.insert(all.end(), settings.begin(), settings.end());
    return sentinels_.emplace_back(std::vector<std::string>{}, make_program(folders_.emplace_back().path, all));
}

void sentinel_set::fail_over(std::size_t i)
{
    auto const before = master(i);
    // The Sentinel refuses until it knows that a replica is ready.
    wait_until(
        [&] {
            return sentinels_[i].ask({"SENTINEL", "FAILOVER", "stock"}) == "OK";
        },
        "the Sentinel does not begin to fail over");
    wait_for_another(before, i);
}

void sentinel_set::wait_for_another(std::string const& port, std::size_t i)
{
    wait_until([&] { return master(i) != port; }, "no other server becomes the master");
}

}  // namespace redlock::testbed
