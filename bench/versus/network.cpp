#include "versus/network.hpp"

#include <unistd.h>
#include <utility>

namespace redlock::versus {

namespace {

std::vector<testbed::proxy::target> ways(std::size_t workers, std::vector<std::uint16_t> const& servers)
{
    std::vector<testbed::proxy::target> all;
    for (std::size_t w = 0; w < workers; ++w) {
        for (auto const port : servers)
            all.push_back({.port = port});
    }
    return all;
}

}  // namespace

network::network(std::size_t workers, std::vector<std::uint16_t> servers)
    : servers_(std::move(servers)), proxy_(ways(workers, servers_))
{
    serve();
}

std::uint16_t network::port(std::size_t worker, std::size_t server) const
{
    return proxy_.port(worker * servers_.size() + server);
}

void network::set(std::size_t worker, testbed::fault f)
{
    for (std::size_t s = 0; s < servers_.size(); ++s)
        proxy_.set(worker * servers_.size() + s, f);
}

void network::set_round_trip(std::chrono::microseconds rtt)
{
    for (std::size_t i = 0; i < proxy_.size(); ++i)
        proxy_.set_rtt(i, rtt);
}

// The listeners stay open in this process, so the next process serves the same ports.
void network::serve()
{
    serving_.reset();  // the kernel closes the connections of the last process
    serving_.emplace(
        [this] {
            ::setpgid(0, 0);  // Ctrl-C reaches only the parent, which ends this process
            proxy_.start();
            for (;;)
                ::pause();
            return 0;
        },
        testbed::process_options{.name = "the network"});
}

}  // namespace redlock::versus
