#include "fault/request_loop.hpp"

#include <poll.h>
#include <unistd.h>

namespace redlock::test {

request_loop::~request_loop()
{
    stop();
    for (int c : clients_)
        ::close(c);
}

int request_loop::connect()
{
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::runtime_error("no pair of sockets");
    clients_.push_back(ends[0]);
    return ends[1];
}

void request_loop::start()
{
    thread_ = std::thread([this] { run(); });
}

void request_loop::stop()
{
    stop_ = true;
    if (thread_.joinable())
        thread_.join();
}

void request_loop::run()
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

}  // namespace redlock::test
