// redlock serve: grants locks over HTTP.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/early_exit.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/with_locks.hpp"
#include "runtime/as_result.hpp"
#include "serve/access.hpp"
#include "serve/api.hpp"
#include "serve/http_server.hpp"
#include "serve/listen_address.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct how_to_serve {
    std::string address = "127.0.0.1:8642";
    std::string token_file{};
    milliseconds drain{10'000};
    serve::limits limits{};
    std::size_t connections = 1000;
    bool fencing = false, insecure = false;
};

serve::access access_of(command_line const& line, how_to_serve const& how)
{
    if (how.token_file.empty())
        return {};
    std::ifstream file(how.token_file);
    if (!file)
        line.refuse(fmt::format("--token-file is \"{}\", which cannot be read", how.token_file));
    std::string const text(std::istreambuf_iterator<char>(file), {});
    try {
        return serve::access::read(text);
    } catch (std::invalid_argument const& e) {
        line.refuse(fmt::format("--token-file is \"{}\": {}", how.token_file, e.what()));
    }
}

serve::listen_address address_of(command_line const& line, how_to_serve const& how)
{
    serve::listen_address a;
    try {
        a = serve::listen_address::read(how.address);
    } catch (std::invalid_argument const& e) {
        line.refuse(std::string("--listen is ") + e.what());
    }
    if (!a.is_private && !how.insecure)
        line.refuse(
            fmt::format("--listen is \"{}\", which other hosts reach, and they could read tokens and ids. Put a "
                        "proxy with TLS on this host in front of a loopback address, or say --insecure",
                        how.address));
    return a;
}

// Requests that wait for a lock are answered with 503. Locks that clients have stay until their time to live is over.
asio::awaitable<void> stop(lock_manager& locks, serve::api& api, serve::http_server& server, milliseconds drain)
{
    api.stop();
    server.stop();
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const end = std::chrono::steady_clock::now() + drain;
    co_await locks.async_shutdown(as_result);
    while (!server.is_idle()) {
        if (std::chrono::steady_clock::now() >= end)
            server.close();
        timer.expires_after(10ms);
        co_await timer.async_wait(as_result);
    }
}

asio::awaitable<int> run(settings const& s, how_to_serve const& how, serve::access who,
                         serve::listen_address const& where)
{
    auto const executor = co_await asio::this_coro::executor;
    auto locks = manager_of(executor, s);
    serve::api api(locks, std::move(who), how.limits);
    auto const server = std::make_shared<serve::http_server>(executor, api, how.connections);
    try {
        server->listen(where);
    } catch (boost::system::system_error const& e) {
        throw early_exit(failed, fmt::format("redlock serve: {}: {}", how.address, e.code().message()));
    }
    co_await locks.async_inspect("=serve", as_result);  // makes the manager connect to the nodes
    remark(fmt::format("redlock serve: {}\n", server->url()));
    asio::signal_set ends(executor, SIGINT, SIGTERM, SIGHUP);
    co_await ends.async_wait(as_result);
    co_await stop(locks, api, *server, how.drain);
    co_return done;
}

}  // namespace

int serve(arguments given)
{
    command_line line("serve",
                      "Grant locks over HTTP to programs in any language. Any number of instances may serve the same "
                      "nodes: the id of a lock works on each of them.",
                      "docs/serve.md describes the requests. SIGTERM ends it: waiting requests are answered with 503, "
                      "and locks stay until their time to live is over.\n"
                      "Status: 0 after a signal; 64 usage; 78 configuration; 125 the address cannot be used.");
    how_to_serve how;
    line.add_text("--listen", "ADDRESS", how.address, "127.0.0.1:PORT, [::1]:PORT or unix:PATH; port 0: any");
    line.add_text(
        "--token-file", "FILE", how.token_file,
        "bearer tokens, one for each line: TOKEN PREFIX lock,read,break. Without it, every client may do all");
    line.add_flag("--fencing", how.fencing, "locks have fencing tokens");
    line.add_duration("--max-wait", how.limits.wait, 1ms, 24h, "the longest wait of a request");
    line.add_number("--max-waiting", how.limits.waiting, 1, 1'000'000, "requests of one client that wait at a time");
    line.add_number("--max-connections", how.connections, 1, 1'000'000, "further clients wait until one leaves");
    line.add_duration("--drain", how.drain, 0ms, 1h, "after a signal: how long answers that are under way may take");
    line.add_flag("--insecure", how.insecure, "listen on an address that other hosts reach, without TLS");
    auto s = line.read(std::move(given));
    s.locks.fencing = how.fencing;
    must_outlive_processes(s, "serve");
    auto const who = access_of(line, how);
    auto const where = address_of(line, how);
    asio::io_context context(1);
    auto status = asio::co_spawn(context, run(s, how, who, where), asio::use_future);
    context.run();
    return status.get();
}

}  // namespace redlock::cli
