#include "floor.hpp"

#include "fleet.hpp"
#include "interrupt.hpp"
#include "processor.hpp"
#include "stores/redis/scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace redlock::bench {

namespace {

using steady = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::uint32_t no_step = 0;  // no client waits for the replies; the steps of a client begin at 1

struct expected {
    std::uint32_t client;
    std::uint32_t step;
};

struct server {
    int socket = -1;
    std::string out;
    std::deque<expected> waiting;  // in the order of their commands

    server() = default;
    server(server const&) = delete;
    ~server() { ::close(socket); }
};

struct client {
    std::string lock_command;
    std::string unlock_command;
    std::string extend_command;
    bool locking = true;
    std::uint32_t step = 0;    // late replies have an older number
    std::size_t missing = 0;   // replies until this step is over
    steady::time_point due{};  // the intended start
    steady::time_point called{};
};

std::string encode(std::initializer_list<std::string_view> words)
{
    auto bytes = fmt::format("*{}\r\n", words.size());
    for (auto w : words)
        bytes += fmt::format("${}\r\n{}\r\n", w.size(), w);
    return bytes;
}

class floor_client {
public:
    floor_client(std::vector<net::url> const& nodes, floor_work const& work)
        : work_(work), servers_(nodes.size()), clients_(work.clients)
    {
        epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
        timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        watch(timer_, nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            servers_[i].socket = connect_to(nodes[i]);
            load_scripts(servers_[i].socket);
            watch(servers_[i].socket, i);
        }
        for (std::size_t i = 0; i < work.clients; ++i) {
            auto const key = fmt::format("lock:bench:floor:{}", i);
            auto const token = fmt::format("{:032x}:floor:{}", i, 12345);
            clients_[i].lock_command = encode({"SET", key, token, "NX", "PX", "10000"});
            clients_[i].unlock_command = encode({"EVALSHA", stores::redis::release_script.sha1, "1", key, token});
            clients_[i].extend_command =
                encode({"EVALSHA", stores::redis::extend_script.sha1, "1", key, token, "10000"});
        }
        if (work.extend)
            to_all(&client::lock_command);
    }

    ~floor_client()
    {
        ::close(epoll_);
        ::close(timer_);
    }

    sample run()
    {
        begin_ = steady::now();
        end_ = begin_ + work_.duration;
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            clients_[i].due = begin_ + share() * static_cast<int>(i);
            schedule_cycle(i, begin_);
        }
        auto const cpu = own_cpu_seconds();
        while (running_ > 0 || !later_.empty())
            poll_once();
        result_.client_cpu_seconds = own_cpu_seconds() - cpu;
        result_.seconds = std::chrono::duration<double>(std::max(steady::now(), end_) - begin_).count();
        if (work_.extend)
            to_all(&client::unlock_command);
        answer_all();
        return std::move(result_);
    }

private:
    // The interval between the starts of two clients.
    steady::duration share() const
    {
        return work_.rate > 0
                   ? std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(1 / work_.rate))
                   : steady::duration::zero();
    }

    void watch(int descriptor, std::size_t number)
    {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = number;
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
    }

    static void load_scripts(int socket)
    {
        testbed::plain_client client(testbed::plain_client::connected{::dup(socket)});
        client.ask({"SCRIPT", "LOAD", std::string(stores::redis::release_script.source)});
        client.ask({"SCRIPT", "LOAD", std::string(stores::redis::extend_script.source)});
    }

    // Sends a command of each client, and reads all replies.
    void to_all(std::string client::*command)
    {
        for (std::size_t i = 0; i < clients_.size(); ++i)
            send(i, clients_[i].*command, no_step);
        answer_all();
    }

    // Reads all replies. If a client closes a connection earlier, the server drops commands that it has not executed.
    void answer_all()
    {
        while (std::any_of(servers_.begin(), servers_.end(), [](auto& s) { return !s.waiting.empty(); }))
            poll_once();
    }

    void poll_once()
    {
        flush();
        epoll_event events[32];
        set_timer();
        int const n = ::epoll_wait(epoll_, events, 32, 5000);
        throw_if_interrupted();
        if (n <= 0 && errno != EINTR)
            throw std::runtime_error("a server has not answered for five seconds");
        auto const now = steady::now();
        for (int e = 0; e < n; ++e) {
            if (events[e].data.u64 < servers_.size())
                receive(servers_[events[e].data.u64], now);
        }
        while (!later_.empty() && later_.top().first <= now) {
            auto const i = later_.top().second;
            later_.pop();  // before on_timer(), which may push to later_
            on_timer(i, now);
        }
    }

    void set_timer()
    {
        auto const at = later_.empty() ? steady::time_point::max() : later_.top().first;
        if (at == timer_at_)
            return;
        timer_at_ = at;
        itimerspec t{};
        if (!later_.empty()) {
            auto const ns = std::max<steady::duration>(at.time_since_epoch(), 1ns).count();
            t.it_value = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
        }
        ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &t, nullptr);
    }

    void receive(server& s, steady::time_point now)
    {
        char buffer[64 * 1024];
        auto const size = ::recv(s.socket, buffer, sizeof buffer, 0);
        if (size <= 0)
            throw std::runtime_error("a server has closed its connection");
        for (char c : std::string_view(buffer, static_cast<std::size_t>(size))) {
            if (c != '\n')
                continue;  // a reply is one line
            auto const [i, step] = s.waiting.front();
            s.waiting.pop_front();
            auto& task = clients_[i];
            if (step != no_step && step == task.step && --task.missing == 0)
                end_step(i, now);
        }
    }

    void end_step(std::size_t i, steady::time_point now)
    {
        auto& c = clients_[i];
        if (c.locking && !work_.extend) {
            result_.acquire.record(now - c.called);
            c.locking = false;
            if (work_.hold > 0us)
                return later_.push({now + work_.hold, i});
            return step(i);
        }
        end_cycle(i, now);
    }

    // A time of later_ is due: the hold is over, or the next cycle begins.
    void on_timer(std::size_t i, steady::time_point now)
    {
        auto& c = clients_[i];
        if (work_.hold > 0us && !c.locking) {
            send(i, c.unlock_command, no_step);
            return end_cycle(i, now);
        }
        start_cycle(i, now);
    }

    void end_cycle(std::size_t i, steady::time_point now)
    {
        auto& c = clients_[i];
        ++result_.cycles;
        result_.cycle.record(now - c.called);
        c.locking = true;
        --running_;
        c.due += share() * static_cast<int>(clients_.size());
        schedule_cycle(i, now);
    }

    // Schedules the next cycle of a client. Cycles scheduled after the end of the run are dropped.
    void schedule_cycle(std::size_t i, steady::time_point now)
    {
        auto const due = clients_[i].due;
        if (std::max(now, due) >= end_)
            return;
        if (due > now)
            later_.push({due, i});
        else
            start_cycle(i, now);
    }

    void start_cycle(std::size_t i, steady::time_point now)
    {
        auto& c = clients_[i];
        c.called = work_.rate > 0 ? c.due : now;
        ++running_;
        step(i);
    }

    void step(std::size_t i)
    {
        auto& c = clients_[i];
        ++c.step;
        c.missing = work_.majority ? servers_.size() / 2 + 1 : servers_.size();
        send(i, work_.extend ? c.extend_command : c.locking ? c.lock_command : c.unlock_command, c.step);
    }

    void send(std::size_t i, std::string const& command, std::uint32_t step)
    {
        for (auto& s : servers_) {
            s.out += command;
            s.waiting.push_back({static_cast<std::uint32_t>(i), step});
        }
    }

    void flush()
    {
        for (auto& s : servers_) {
            for (std::size_t sent = 0; sent < s.out.size();) {
                auto const n = ::send(s.socket, s.out.data() + sent, s.out.size() - sent, MSG_NOSIGNAL);
                if (n <= 0)
                    throw std::runtime_error("a server has closed its connection");
                sent += static_cast<std::size_t>(n);
            }
            s.out.clear();
        }
    }

    using timed = std::pair<steady::time_point, std::size_t>;

    floor_work const work_;
    int epoll_ = -1;
    int timer_ = -1;
    std::vector<server> servers_;
    std::vector<client> clients_;
    std::priority_queue<timed, std::vector<timed>, std::greater<>> later_;
    steady::time_point timer_at_ = steady::time_point::max();
    steady::time_point begin_, end_;
    std::size_t running_ = 0;
    sample result_;
};

}  // namespace

sample run_floor(std::vector<net::url> const& nodes, floor_work const& work)
{
    return std::make_unique<floor_client>(nodes, work)->run();
}

}  // namespace redlock::bench
