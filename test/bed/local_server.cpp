#include "bed/local_server.hpp"

#include "bed/plain_client.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace redlock::testbed {

std::string server_program()
{
    auto const named = named_by("REDLOCK_SERVER");
    return named.empty() ? "redis-server" : named;
}

local_server::local_server(std::vector<std::string> options, std::string program, std::vector<std::string> environment)
    : server_process(program, {"Ready to accept connections", "Sentinel ID is"}, std::move(environment)),
      options_(std::move(options)),
      program_(std::move(program))
{
    start_on_free_ports();
}

void local_server::take_ports()
{
    bool const in_cluster = std::ranges::find(options_, "--cluster-enabled") != options_.end();
    set_port(in_cluster ? free_port(highest_cluster_port) : free_port());
}

// While the server was down, the kernel may have given its port to a connection, which keeps it for a while.
bool local_server::may_start_later(std::string const& log) const
{
    return log.find("Address already in use") != log.npos;
}

std::vector<std::string> local_server::words()
{
    std::filesystem::create_directory(folder());
    // A server takes a configuration file as its first argument. The file says what it stores, as options override it.
    bool const configured = !options_.empty() && !options_.front().starts_with("--");
    std::vector<std::string> all{program_};
    if (configured)
        all.push_back(options_.front());
    all.insert(all.end(), {"--port", std::to_string(port()), "--bind", "127.0.0.1", "--dir", folder(), "--loglevel",
                           "notice", "--daemonize", "no"});
    if (!configured)
        all.insert(all.end(), {"--save", "", "--appendonly", "no"});
    all.insert(all.end(), options_.begin() + (configured ? 1 : 0), options_.end());
    return all;
}

std::string local_server::ask(std::vector<std::string> const& command) const
{
    return plain_client(port()).ask(command);
}

std::string local_server::count_keys() const
{
    return ask({"EVAL",
                "local n = 0 for _, key in ipairs(redis.call('KEYS', '*')) do "
                "if not string.find(key, ':=record', 1, true) and not string.find(key, ':=clients', 1, true) then "
                "n = n + 1 end end return n",
                "0"});
}

}  // namespace redlock::testbed
