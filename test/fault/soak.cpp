// Processes that add to one counter through the lock, on real servers, while everything around them fails.
//
// The counter is plain memory that the processes share: reading it, waiting, and writing it back loses an update whenever
// two are inside at once. An update is acknowledged when the lock was still held after the write; at the end the counter
// must hold every acknowledged one. Run with --help.

#include "support/faulty_proxy.hpp"
#include "testbed/local_server.hpp"
#include "testbed/plain_client.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using redlock::test::fault;
using redlock::test::faulty_proxy;
using redlock::testbed::local_server;

constexpr char usage[] =
    R"(usage: redlock_soak [OPTION]…

  --seconds S    how long (60)
  --seed N       of the faults (1)
  --processes N  that take the lock, 2 to 16 (3)
  --servers N    1 to 9 (5)
  --forgetful    the servers keep no log, so that a crash forgets: updates may then be lost, and are counted
  --nodes URL,…  servers that are there already, and …
  --links NAME,… … the network interfaces that lead to them, which are set down and up
  --without-lock updates must then be lost, or the check is blind
)";

struct settings {
    int seconds = 60;
    std::uint64_t seed = 1;
    std::size_t processes = 3;
    std::size_t servers = 5;
    bool forgetful = false;
    bool locked = true;
    std::vector<std::string> nodes;
    std::vector<std::string> links;
};

/// What the processes share.
struct shared {
    std::uint64_t counter;                        // not atomic in effect: read, wait, write back
    std::atomic<std::uint64_t> acknowledged;
    std::atomic<std::uint64_t> doubtful;          ///< written, and then the lock was not held any more
    std::atomic<std::uint64_t> refused;           ///< acquisitions that failed
    std::atomic<std::uint64_t> lost;              ///< locks that were lost inside
    std::atomic<bool> stop;
};

asio::awaitable<void> add(redlock::lock_manager& locks, shared& s, std::uint64_t seed, bool locked)
{
    std::mt19937_64 random(seed);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!s.stop) {
        redlock::acquire_options const options{
            .ttl = 1s, .wait = 2s, .renew = random() % 2 ? redlock::renewal::automatic : redlock::renewal::none};
        redlock::lock held;
        if (locked) {
            redlock::error_code ec;
            std::tie(ec, held) = co_await locks.async_acquire("counter", options, asio::as_tuple(asio::use_awaitable));
            if (ec) {
                ++s.refused;
                continue;
            }
        }
        auto const value = *static_cast<std::uint64_t volatile*>(&s.counter);
        timer.expires_after(std::chrono::microseconds(random() % 5000));
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
        // A process that is stopped right here still writes: what a lock alone cannot prevent. The margin makes it rare,
        // and looking again tells that it happened.
        if (locked && held.remaining() < 100ms) {
            ++s.lost;
        } else {
            *static_cast<std::uint64_t volatile*>(&s.counter) = value + 1;
            ++(!locked || held.held() ? s.acknowledged : s.doubtful);
        }
        if (locked)
            co_await held.async_release(asio::as_tuple(asio::use_awaitable));
    }
}

[[noreturn]] void be_a_client(std::vector<std::string> const& nodes, shared& s, std::uint64_t seed, bool locked)
{
    asio::io_context context{1};
    redlock::lock_manager locks(context, {.nodes = nodes, .node_timeout = 100ms});
    std::size_t running = 3;
    for (std::uint64_t i = 0; i < 3; ++i) {
        asio::co_spawn(context, add(locks, s, seed * 16 + i, locked), [&](std::exception_ptr) {
            if (--running == 0)
                locks.async_shutdown(asio::detached);
        });
    }
    context.run();
    ::_exit(0);
}

class soak {
public:
    explicit soak(settings s) : settings_(s), random_(s.seed)
    {
        void* const memory = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw std::runtime_error("no shared memory");
        shared_ = new (memory) shared{};
        std::vector<std::string> options;
        if (!s.forgetful)
            options = {"--appendonly", "yes", "--appendfsync", "always"};
        for (std::size_t i = 0; s.nodes.empty() && i < s.servers; ++i)
            servers_.push_back(std::make_unique<local_server>(options));
    }

    ~soak()
    {
        for (auto pid : clients_) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
    }

    int run()
    {
        for (auto& s : servers_)
            proxies_.push_back(std::make_unique<faulty_proxy>(s->port()));
        auto nodes = settings_.nodes;
        for (auto& p : proxies_)
            nodes.push_back(p->url());
        for (std::size_t i = 0; i < settings_.processes; ++i)
            clients_.push_back(start_client(nodes, settings_.seed * 100 + i));
        for (auto& p : proxies_)  // after the forks: a process with threads is not to be forked
            p->start();

        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(settings_.seconds);
        while (std::chrono::steady_clock::now() < end) {
            do_harm();
            std::this_thread::sleep_for(std::chrono::milliseconds(50 + random_() % 400));
            if (::isatty(2))
                fmt::print(stderr, "\r{} faults, {} updates ", faults_, shared_->acknowledged.load());
        }
        if (::isatty(2))
            fmt::print(stderr, "\r                                        \r");
        mend_everything();
        shared_->stop = true;
        int failed = 0;
        for (auto pid : std::exchange(clients_, {})) {
            int status = 0;
            ::waitpid(pid, &status, 0);
            failed += status != 0;
        }
        return judge(failed);
    }

private:
    pid_t start_client(std::vector<std::string> const& nodes, std::uint64_t seed)
    {
        auto const pid = ::fork();
        if (pid < 0)
            throw std::runtime_error("cannot start a process");
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            be_a_client(nodes, *shared_, seed, settings_.locked);
        }
        return pid;
    }

    std::size_t any(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

    /// Something fails, and is mended a while later.
    void do_harm()
    {
        ++faults_;
        mend_some();
        if (!settings_.nodes.empty())
            return any(4) == 0 ? stop_client() : cut_links();
        auto const i = any(servers_.size());
        auto& s = *servers_[i];
        switch (any(7)) {
        case 0:
            if (s.pid() > 0) {
                s.kill();
                later_.push_back({0, [&s] { s.start(); }});
            }
            return;
        case 1:
            if (s.pid() > 0) {
                s.pause();
                later_.push_back({0, [&s] { s.pid() > 0 ? s.resume() : void(); }});
            }
            return;
        case 2:
            return stop_client();
        case 3:
        case 4: {
            constexpr fault faults[] = {fault::delay, fault::trickle, fault::deaf, fault::half_open, fault::reset, fault::garbage, fault::refuse};
            auto& p = *proxies_[i];
            p.set(faults[any(std::size(faults))]);
            later_.push_back({any(5), [&p] { p.set(fault::none); }});
            return;
        }
        case 5: {  // nobody sees anybody
            for (auto& p : proxies_)
                p->set(fault::half_open);
            later_.push_back({any(3), [this] {
                for (auto& p : proxies_)
                    p->set(fault::none);
            }});
            return;
        }
        case 6:
            tell(s, {"SCRIPT", "FLUSH"});
            tell(s, {"CLIENT", "PAUSE", std::to_string(any(300))});
            return;
        }
    }

    // Often for longer than its ttl.
    void stop_client()
    {
        auto const pid = clients_[any(clients_.size())];
        ::kill(pid, SIGSTOP);
        later_.push_back({any(6), [pid] { ::kill(pid, SIGCONT); }});
    }

    // One, some or all servers cannot be reached, and nobody is told.
    void cut_links()
    {
        for (auto const& link : settings_.links) {
            if (any(3) > 0)
                continue;
            set_link(link, "down");
            later_.push_back({any(5), [this, link] { set_link(link, "up"); }});
        }
    }

    void set_link(std::string const& link, char const* state)
    {
        if (std::system(("ip link set " + link + " " + state).c_str()) != 0)
            throw std::runtime_error("cannot set the interface " + link + " " + state);
    }

    void tell(local_server& s, std::vector<std::string> const& command)
    {
        auto const stopped = [&](auto& l) { return static_cast<bool>(l.mend); };
        if (s.pid() <= 0 || std::any_of(later_.begin(), later_.end(), stopped))
            return;  // it might not answer
        try {
            s.ask(command);
        } catch (std::runtime_error const&) {
        }
    }

    void mend_some()
    {
        for (auto it = later_.begin(); it != later_.end();) {
            if (it->turns-- > 0) {
                ++it;
                continue;
            }
            it->mend();
            it = later_.erase(it);
        }
    }

    void mend_everything()
    {
        for (auto& l : std::exchange(later_, {}))
            l.mend();
    }

    int judge(int failed)
    {
        auto const& s = *shared_;
        auto const acknowledged = s.acknowledged.load();
        auto const missing = acknowledged > s.counter ? acknowledged - s.counter : 0;
        fmt::print("{} servers{}{}, {} processes, {} s, seed {}: {} faults, {} updates, {} lost; {} written when the lock was over, "
                   "{} given up inside, {} acquisitions refused\n",
                   settings_.nodes.empty() ? servers_.size() : settings_.nodes.size(), settings_.forgetful ? " without a log" : "",
                   settings_.links.empty() ? "" : " in namespaces of their own", settings_.processes, settings_.seconds,
                   settings_.seed, faults_, acknowledged, missing, s.doubtful.load(), s.lost.load(), s.refused.load());
        if (!settings_.locked) {
            fmt::print("without the lock, {} updates are lost\n", missing);
            return missing > 0 ? 0 : 1;
        }
        if (failed > 0) {
            fmt::print("{} processes did not end well\n", failed);
            return 1;
        }
        std::this_thread::sleep_for(1500ms);  // what could not be released in time expires by itself
        std::size_t left = 0;
        for (auto& server : servers_)
            left += server->ask({"EXISTS", "lock:counter"}) == "1";
        if (left > 0)
            fmt::print("the key is left on {} servers\n", left);
        if (acknowledged == 0)
            fmt::print("nothing was done\n");
        // A write that began when the lock was held and ended when it was over: the process stood still in between.
        bool const explained = settings_.forgetful || s.doubtful > 0;
        if (missing > 0)
            fmt::print("{} updates are lost{}\n", missing,
                       settings_.forgetful ? ": servers forgot locks that were held"
                       : explained         ? ": a process stood still between its last look at the lock and its write"
                                           : "");
        return (missing > 0 && !explained) || left > 0 || acknowledged == 0 ? 1 : 0;
    }

    struct mending {
        std::size_t turns;
        std::function<void()> mend;
    };

    settings const settings_;
    std::mt19937_64 random_;
    shared* shared_ = nullptr;
    std::vector<std::unique_ptr<local_server>> servers_;
    std::vector<std::unique_ptr<faulty_proxy>> proxies_;
    std::vector<pid_t> clients_;
    std::vector<mending> later_;
    std::uint64_t faults_ = 0;
};

bool parse(std::vector<std::string_view> const& arguments, settings& s)
{
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--forgetful") {
            s.forgetful = true;
            continue;
        }
        if (arguments[i] == "--without-lock") {
            s.locked = false;
            continue;
        }
        auto const value = i + 1 < arguments.size() ? arguments[i + 1] : std::string_view();
        std::uint64_t n = 0;
        auto const [end, ec] = std::from_chars(value.data(), value.data() + value.size(), n);
        bool const number = !value.empty() && ec == std::errc() && end == value.data() + value.size();
        auto const option = arguments[i++];
        if (option == "--nodes" || option == "--links") {
            auto& list = option == "--nodes" ? s.nodes : s.links;
            for (auto rest = value; !rest.empty();) {
                auto const comma = std::min(rest.find(','), rest.size());
                list.emplace_back(rest.substr(0, comma));
                rest.remove_prefix(std::min(comma + 1, rest.size()));
            }
        } else if (option == "--seconds" && number && n > 0)
            s.seconds = static_cast<int>(n);
        else if (option == "--seed" && number)
            s.seed = n;
        else if (option == "--processes" && number && n >= 2 && n <= 16)
            s.processes = n;
        else if (option == "--servers" && number && n >= 1 && n <= 9)
            s.servers = n;
        else {
            fmt::print(stderr, "redlock_soak: {} \"{}\" is not understood\n\n{}", option, value, usage);
            return false;
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv)
{
    std::vector<std::string_view> const arguments(argv + 1, argv + argc);
    if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
        fmt::print("{}", usage);
        return 0;
    }
    settings s;
    if (!parse(arguments, s))
        return 2;
    try {
        return soak(s).run();
    } catch (std::exception const& e) {
        fmt::print(stderr, "redlock_soak: {}\n", e.what());
        return 1;
    }
}
