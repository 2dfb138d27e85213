#include "http_load.hpp"
#include "idle_sessions.hpp"
#include "interrupt.hpp"
#include "laboratory.hpp"
#include "processor.hpp"
#include "programs.hpp"
#include "scenarios.hpp"
#include "bed/process.hpp"
#include "bed/server_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;

/// A running `redlock serve`.
class running_service {
public:
    running_service(laboratory& lab, std::string const& listen, std::size_t clients)
        : process_(words(listen, clients, lab.settings().sessions),
                   {.environment = {fmt::format("REDLOCK_URLS={}", fmt::join(lab.servers().urls(), ","))},
                    .piped = true,
                    .is_over = was_interrupted})
    {
        constexpr std::string_view greeting = "redlock serve: ";
        auto const said = process_.read('\n');
        throw_if_interrupted();
        if (!said.starts_with(greeting))
            throw std::runtime_error(fmt::format("redlock serve does not start; it said \"{}\"", said));
        address_ = said.substr(greeting.size());
        lab.count_in(process_.pid());
    }

    std::string const& address() const { return address_; }
    double cpu_seconds() const { return cpu_seconds_of(process_.pid()); }
    double heap_bytes() const { return anonymous_bytes_of(process_.pid()); }

private:
    // The shell sends the address to standard output. The URLs may contain passwords, so they are in the environment.
    static std::vector<std::string> words(std::string const& listen, std::size_t clients, std::size_t sessions)
    {
        return {"/bin/sh",
                "-c",
                "exec \"$@\" 2>&1",
                "sh",
                program_of_ours("redlock", "src/tools/redlock", "build the target redlock_tool, or install it"),
                "--restart-guard",
                "off",
                "serve",
                "--listen",
                listen,
                "--max-connections",
                std::to_string((clients + sessions + 16) * 4 / 3),  // a quarter is not for sessions
                "--max-sessions",
                std::to_string(sessions + 1)};
    }

    testbed::process process_;
    std::string address_;
};

result measure_service(laboratory& lab, std::string const& listen, std::string const& variant, std::size_t sessions = 0)
{
    auto const& o = lab.settings();
    auto const clients = o.clients > 0 ? o.clients : 64;
    load own(lab.servers().urls());
    running_service const service(lab, listen, clients);
    http_load over_http(service.address(), clients);
    own.run({.clients = clients, .duration = 200ms});
    over_http.run(200ms);
    auto const heap = service.heap_bytes();
    idle_sessions const idle(service.address(), sessions);
    auto const heap_of_sessions = service.heap_bytes() - heap;
    auto const rounds = lab.rounds(
        fmt::format("serve, {}, {} clients", variant, clients),
        [&] { return own.run({.clients = clients, .duration = o.duration}); },
        [&](round& r) {
            auto const before = service.cpu_seconds();
            r.library = lab.observe([&] { return over_http.run(o.duration); });
            auto const of_service = service.cpu_seconds() - before;
            r.more["http_clients_cpu_us_per_cycle"] =
                r.library.each(1e6 * std::exchange(r.library.client_cpu_seconds, of_service));
        });
    auto r = lab.conclude(rounds, "serve", variant, clients);
    if (sessions > 0)
        r.more["bytes_per_idle_session"] = heap_of_sessions / static_cast<double>(sessions);
    return r;
}

}  // namespace

std::vector<result> locks_over_http(options const& o, progress const& p)
{
    need_open_files(o.sessions + o.clients + 256);
    laboratory lab(o, p, o.count);
    testbed::temporary_folder const folder;
    auto const socket = "unix:" + folder.path + "/socket";
    std::vector<result> results{measure_service(lab, "127.0.0.1:0", "TCP")};
    results.push_back(measure_service(lab, socket, "Unix socket"));
    if (o.sessions > 0) {
        std::filesystem::remove(folder.path + "/socket");  // the service was killed
        results.push_back(
            measure_service(lab, socket, fmt::format("Unix socket, {} idle sessions", o.sessions), o.sessions));
    }
    return results;
}

}  // namespace redlock::bench
