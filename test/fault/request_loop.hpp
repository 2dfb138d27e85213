#pragma once

#include <atomic>
#include <functional>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace redlock::test {

/// Answers requests of other processes in a thread, one after the other. So each request is atomic, like a statement to
/// a database.
class request_loop {
public:
    /// Answers one request of a client. @return false: the client's process has ended
    using answer_one = std::function<bool(int client)>;

    explicit request_loop(answer_one a) : answer_one_(std::move(a)) {}

    ~request_loop()
    {
        stop();
        for (int c : clients_)
            ::close(c);
    }

    request_loop(request_loop const&) = delete;
    request_loop& operator=(request_loop const&) = delete;

    /// @return the client's end of a connection. Before @ref start, fork the client's process, and close this end here.
    int connect()
    {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            throw std::runtime_error("cannot create a pair of sockets");
        clients_.push_back(ends[0]);
        return ends[1];
    }

    void start()
    {
        thread_ = std::thread([this] { run(); });
    }

    void stop()
    {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }

private:
    void run()
    {
        std::vector<pollfd> ready;
        for (int c : clients_)
            ready.push_back({c, POLLIN, 0});
        while (!stop_) {
            ::poll(ready.data(), ready.size(), 20);
            for (auto& client : ready) {
                if (client.revents != 0 && !answer_one_(client.fd))
                    client.fd = -1;
            }
        }
    }

    answer_one const answer_one_;
    std::vector<int> clients_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// Makes the function for a @ref request_loop from a function that answers one type of requests.
template <class Request, class Decide>
request_loop::answer_one answer_with(Decide decide)
{
    return [decide](int client) {
        Request r;
        if (::recv(client, &r, sizeof r, 0) != sizeof r)
            return false;
        auto const a = decide(r);
        ::send(client, &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT);
        return true;
    };
}

/// For the client: sends a request and waits for the answer, which comes soon.
template <class Answer, class Request>
Answer ask(int loop, Request const& r)
{
    Answer a;
    if (::send(loop, &r, sizeof r, MSG_NOSIGNAL) != sizeof r || ::recv(loop, &a, sizeof a, 0) != sizeof a)
        throw std::runtime_error("the request loop does not answer any more");
    return a;
}

}  // namespace redlock::test
