// redlock serve: grants locks over HTTP.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/open_files.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/commands/served_files.hpp"
#include "tools/redlock/locks/with_locks.hpp"
#include "runtime/as_result.hpp"
#include "tools/serve/access.hpp"
#include "tools/serve/api.hpp"
#include "tools/serve/http_server.hpp"
#include "tools/serve/instance.hpp"
#include "tools/serve/listen_address.hpp"
#include "tools/serve/readiness.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace redlock::cli {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct how_to_serve {
    std::string address = "127.0.0.1:8642";
    std::string token_file{};
    std::vector<std::string> tls{};
    milliseconds drain{10'000};
    serve::limits limits{};
    std::size_t connections = 1000, threads = 1;
    std::size_t client_connections = 0;  ///< zero: half of them, or without tokens all
    bool fencing = false, insecure = false;
};

serve::listen_address address_of(command_line const& line, how_to_serve const& how)
{
    serve::listen_address a;
    try {
        a = serve::listen_address::read(how.address);
    } catch (std::invalid_argument const& e) {
        line.refuse(std::string("--listen is ") + e.what());
    }
    if (!a.is_private && !how.insecure && (how.tls.empty() || how.token_file.empty()))
        line.refuse(
            fmt::format("--listen is \"{}\", which other hosts reach. Add --tls and --token-file, because they could "
                        "read ids and tokens, or use all locks; or say --insecure",
                        how.address));
    return a;
}

/// Threads for connections, each with an event loop of its own.
class connection_threads {
public:
    explicit connection_threads(std::size_t number)
    {
        for (std::size_t i = 0; i < number; ++i) {
            auto& loop = *loops_.emplace_back(std::make_unique<asio::io_context>(1));
            work_.push_back(asio::make_work_guard(loop));
            threads_.emplace_back([&loop] { loop.run(); });
        }
    }
    ~connection_threads()
    {
        work_.clear();
        for (auto& t : threads_)
            t.join();
    }
    connection_threads(connection_threads const&) = delete;
    connection_threads& operator=(connection_threads const&) = delete;

    std::vector<asio::any_io_executor> executors() const
    {
        std::vector<asio::any_io_executor> all;
        for (auto const& loop : loops_)
            all.push_back(loop->get_executor());
        return all;
    }

private:
    std::vector<std::unique_ptr<asio::io_context>> loops_;
    std::vector<asio::executor_work_guard<asio::io_context::executor_type>> work_;
    std::vector<std::thread> threads_;
};

// Requests that wait for a lock are answered with 503. Locks that clients have stay until their time to live is over.
asio::awaitable<void> stop(lock_manager& locks, serve::api& api, serve::http_server& server, milliseconds drain)
{
    api.stop();
    server.stop();
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const end = std::chrono::steady_clock::now() + drain;
    co_await locks.async_shutdown(runtime::as_result);
    while (!server.is_idle()) {
        if (std::chrono::steady_clock::now() >= end)
            server.close();
        timer.expires_after(10ms);
        co_await timer.async_wait(runtime::as_result);
    }
}

// Says at the start if no lock can be granted yet. Otherwise the first request would be the first to tell.
// @return whether locks can be granted
asio::awaitable<bool> tell_of_readiness(lock_manager& locks, settings const& s)
{
    if (s.locks.restart_guard == restart_guard::automatic)
        co_await locks.async_found(runtime::as_result);  // otherwise /readyz would wait for the first request
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const is_known = [](node_stats const& n) { return n.connected || n.last_error; };
    auto const end = std::chrono::steady_clock::now() + s.locks.connect_timeout;
    while (!std::ranges::all_of(locks.stats().nodes, is_known) && std::chrono::steady_clock::now() < end) {
        timer.expires_after(5ms);
        co_await timer.async_wait(runtime::as_result);
    }
    serve::readiness const now(locks.stats().nodes);
    if (!now.is_ready())
        remark(fmt::format("redlock serve: {}\n", now.why_not()));
    co_return now.is_ready();
}

// Clients must not take the files that the nodes need to reconnect.
std::size_t connections_of(settings const& s, how_to_serve const& how)
{
    constexpr std::size_t of_process = 24, of_thread = 4, of_node = 8;
    auto const own = of_process + of_thread * how.threads + of_node * s.locks.nodes.size();
    auto const limit = raise_open_files(own + how.connections);
    if (limit <= own)
        throw early_exit(wrong_configuration,
                         fmt::format("redlock serve: this process may have {} open files, but the nodes alone need up "
                                     "to {}: raise the limit (ulimit -n; LimitNOFILE= of systemd)",
                                     limit, own));
    return std::min(how.connections, limit - own);
}

// Without tokens, all clients are one.
std::size_t connections_of_client(how_to_serve const& how, std::size_t of_all, bool has_tokens)
{
    auto const share = has_tokens ? std::max<std::size_t>(of_all / 2, 1) : of_all;
    return how.client_connections > 0 ? std::min(how.client_connections, of_all) : share;
}

void tell_of_connections(how_to_serve const& how, std::size_t connections)
{
    if (connections < how.connections)
        remark(
            fmt::format("redlock serve: this process may have too few open files for --max-connections {}. It serves "
                        "{} at a time and keeps the other files for the nodes: raise the limit (ulimit -n; "
                        "LimitNOFILE= of systemd)\n",
                        how.connections, connections));
}

// Never blocks, because the same thread renews locks.
void say_line(std::string const& text) { say("redlock serve: " + printable(text)); }

// A file that cannot be used leaves the old tokens, or the old certificate, in use. Neither file depends on the other.
void read_again(served_files const& files, serve::api& api, serve::http_server& server)
{
    using enum served_files::reading;
    if (!files.has_tokens() && !files.has_tls())
        say_line("SIGHUP: there is no --token-file and no --tls to read again");
    try {
        if (files.has_tokens()) {
            auto const change = api.use(files.tokens(again));
            say_line(fmt::format("SIGHUP: --token-file: \"{}\" was read again: {}", files.token_file(),
                                 change.is_same ? "it has not changed"
                                                : fmt::format("ended sessions: {}", change.ended_sessions)));
        }
    } catch (std::invalid_argument const& e) {
        say_line(fmt::format("SIGHUP: {}. The old tokens stay in use", e.what()));
    }
    try {
        if (files.has_tls()) {
            server.use(files.tls(again));
            say_line(
                fmt::format("SIGHUP: --tls: \"{}\" was read again, for new connections", files.certificate_file()));
        }
    } catch (std::invalid_argument const& e) {
        say_line(fmt::format("SIGHUP: {}. The old certificate stays in use", e.what()));
    }
}

asio::awaitable<void> read_again_after(asio::signal_set& hangup, served_files const& files, serve::api& api,
                                       serve::http_server& server)
{
    for (;;) {
        auto const [ec, number] = co_await hangup.async_wait(runtime::as_result);
        if (ec)
            co_return;
        read_again(files, api, server);
    }
}

asio::awaitable<int> run(settings const& s, how_to_serve const& how, served_files const& files, serve::access who,
                         serve::listen_address const& where, std::shared_ptr<asio::ssl::context> tls)
{
    auto const executor = co_await asio::this_coro::executor;
    asio::signal_set hangup(executor, SIGHUP);  // it must not end the process, neither at the start nor at the end
    auto locks = manager_of(executor, s);
    auto limits = how.limits;
    limits.ttl = s.locks.max_ttl;
    limits.drift_factor = s.locks.drift_factor;
    limits.connections_of_all = connections_of(s, how);
    limits.connections = connections_of_client(how, limits.connections_of_all, who.needs_tokens());
    serve::instance all(executor, locks, std::move(who), limits, say_line);
    all.is_local = where.is_private && where.socket.empty();
    serve::api api(all);
    connection_threads const threads(how.threads > 1 ? how.threads : 0);
    auto of_connections = threads.executors();
    if (of_connections.empty())
        of_connections.push_back(executor);
    auto const server =
        std::make_shared<serve::http_server>(executor, api, all.connections, std::move(of_connections), std::move(tls));
    try {
        server->listen(where);
    } catch (boost::system::system_error const& e) {
        throw early_exit(failed, fmt::format("redlock serve: {}: {}", how.address, e.code().message()));
    }
    co_await locks.async_inspect("=serve", runtime::as_result);  // makes the manager connect to the nodes
    remark(fmt::format("redlock serve: {}\n", server->url()));
    tell_of_connections(how, limits.connections_of_all);
    asio::signal_set ends(executor, SIGINT, SIGTERM);
    co_await ((ends.async_wait(runtime::as_result) && tell_of_readiness(locks, s))
              || read_again_after(hangup, files, api, *server));
    ends.async_wait([&ends](boost::system::error_code ec, int number) {  // the second signal ends the process at once
        if (!ec) {
            ends.clear();
            std::raise(number);
        }
    });
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
                      "and locks stay until their time to live is over. SIGHUP makes it read the files of --token-file "
                      "and --tls again.\n"
                      "Status: 0 after a signal; 64 usage; 78 configuration; 125 the address cannot be used.");
    how_to_serve how;
    line.add_text("--listen", "ADDRESS", how.address, "127.0.0.1:PORT, [::1]:PORT or unix:PATH; port 0: any");
    line.add_text(
        "--token-file", "FILE", how.token_file,
        "bearer tokens, one for each line: TOKEN PREFIX lock,read,break NAME. Without it, every client may do all");
    line.add_option("--tls", how.tls, "files in PEM format: the certificate with its chain, and its key")
        ->type_name("CERT KEY")
        ->expected(2);
    line.add_flag("--fencing", how.fencing, "locks have fencing tokens");
    line.add_duration("--max-wait", how.limits.wait, 1ms, 24h, "the longest wait of a request");
    line.add_number("--max-waiting", how.limits.waiting, 1, 1'000'000, "requests of one client that wait at a time");
    line.add_number("--max-requests", how.limits.others, 1, 1'000'000, "other requests of one client at a time");
    line.add_number("--max-bytes", how.limits.bytes, 1, 1 << 30, "bytes of all these requests, and of unread answers");
    line.add_number("--max-locks", how.limits.locks, 1, 10'000'000, "locks of one client");
    line.add_number("--max-sessions", how.limits.sessions, 1, 1'000'000, "sessions of one client");
    line.add_number("--threads", how.threads, 1, 256,
                    "threads for connections; one thread more than that serves the locks, unless it is 1");
    line.add_number("--max-connections", how.connections, 1, 1'000'000,
                    "for a further client, the oldest idle one is closed");
    line.add_number("--max-client-connections", how.client_connections, 1, 1'000'000,
                    "connections of one token (half of --max-connections); three in four may be sessions and waits");
    line.add_duration("--drain", how.drain, 0ms, 1h, "after a signal: how long answers that are under way may take");
    line.add_flag("--insecure", how.insecure, "listen on an address that other hosts reach, without TLS or tokens");
    auto s = line.read(std::move(given));
    s.locks.fencing = how.fencing;
    must_outlive_processes(s, "serve");
    if (!how.tls.empty() && how.tls.size() != 2)
        line.refuse(fmt::format("--tls must have two files, the certificate with its chain and its key, but has {}",
                                how.tls.size()));
    served_files const files(how.token_file, how.tls);
    serve::access who;
    std::shared_ptr<asio::ssl::context> tls;
    auto const where = address_of(line, how);
    try {
        who = files.tokens(served_files::reading::first);
        tls = files.tls(served_files::reading::first);
    } catch (std::invalid_argument const& e) {
        line.refuse(e.what());
    }
    asio::io_context context(1);
    auto status = asio::co_spawn(context, run(s, how, files, who, where, tls), asio::use_future);
    context.run();
    return status.get();
}

}  // namespace redlock::cli
