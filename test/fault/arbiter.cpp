#include "fault/arbiter.hpp"

#include <algorithm>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace redlock::test {

answer ask(int arbiter, request const& r)
{
    answer a;
    if (::send(arbiter, &r, sizeof r, MSG_NOSIGNAL) != sizeof r || ::recv(arbiter, &a, sizeof a, 0) != sizeof a)
        throw std::runtime_error("the arbiter does not answer");
    return a;
}

arbiter::~arbiter()
{
    stop();
    for (int c : clients_)
        ::close(c);
}

int arbiter::connect()
{
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::runtime_error("no pair of sockets");
    clients_.push_back(ends[0]);
    return ends[1];
}

void arbiter::start()
{
    thread_ = std::thread([this] { serve(); });
}

arbiter::record arbiter::stop()
{
    if (!thread_.joinable())
        return record_;
    stop_ = true;
    thread_.join();
    for (auto const& c : counters_) {
        record_.acknowledged += c.acknowledged;
        record_.lost += c.acknowledged - c.value;
        if (fenced_)
            inspect_order(c);
    }
    return record_;
}

void arbiter::serve()
{
    std::vector<pollfd> ready;
    for (int c : clients_)
        ready.push_back({c, POLLIN, 0});
    while (!stop_) {
        ::poll(ready.data(), ready.size(), 20);
        for (auto& client : ready) {
            if (client.revents == 0)
                continue;
            request r;
            if (::recv(client.fd, &r, sizeof r, 0) != sizeof r) {
                client.fd = -1;  // its process has ended
                continue;
            }
            auto const a = decide(r);
            ::send(client.fd, &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
}

answer arbiter::decide(request const& r)
{
    auto& c = counters_.at(r.counter);
    bool const entering = r.what == request::kind::enter;
    if (entering) {
        c.entries.emplace(r.acquisition, r);
        auto const owner = c.owner.emplace(r.token, r.acquisition).first->second;
        record_.twice += fenced_ && (r.token == 0 || owner != r.acquisition);
    }
    if (fenced_ && (entering ? r.token < c.fence : r.token != c.fence)) {
        ++record_.refused;
        return {false, c.value};
    }
    record_.stale += r.acquired < c.latest_began;
    if (entering) {
        c.fence = r.token;
        c.latest_began = std::max(c.latest_began, r.began);
    } else {
        c.value = r.value;
        ++c.acknowledged;
    }
    return {true, c.value};
}

// A token must be above that of each acquisition that was over before its own began.
void arbiter::inspect_order(counter const& c)
{
    std::vector<request> by_begin;
    for (auto const& e : c.entries)
        by_begin.push_back(e.second);
    auto by_end = by_begin;
    std::sort(by_begin.begin(), by_begin.end(), [](auto& a, auto& b) { return a.began < b.began; });
    std::sort(by_end.begin(), by_end.end(), [](auto& a, auto& b) { return a.acquired < b.acquired; });
    std::uint64_t highest = 0;
    auto over = by_end.begin();
    for (auto const& r : by_begin) {
        for (; over != by_end.end() && over->acquired < r.began; ++over)
            highest = std::max(highest, over->token);
        record_.falling += r.token <= highest;
    }
}

}  // namespace redlock::test
