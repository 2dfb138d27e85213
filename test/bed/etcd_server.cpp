#include "bed/etcd_server.hpp"

#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace {

std::string peer_url(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }

std::string find_program(std::string const& name)
{
    std::istringstream folders(named_by("PATH"));
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (auto program = folder + "/" + name; ::access(program.c_str(), X_OK) == 0)
            return program;
    }
    return {};
}

}  // namespace

std::string etcd_program()
{
    auto const named = named_by("REDLOCK_ETCD");
    return named.empty() ? find_program("etcd") : named;
}

std::string etcdctl_program() { return find_program("etcdctl"); }

etcd_server::etcd_server(std::vector<std::string> options, std::string client_scheme)
    : server_process("etcd", {"ready to serve client requests"}, {"ETCD_UNSUPPORTED_ARCH="}),
      options_(std::move(options)),
      client_scheme_(std::move(client_scheme))
{
    start_on_free_ports();
}

etcd_server::etcd_server(place p, std::vector<std::string> options)
    : server_process("etcd", {"ready to serve client requests"}, {"ETCD_UNSUPPORTED_ARCH="}),
      place_(std::move(p)),
      options_(std::move(options))
{
    set_port(place_.port);
    launch();
}

void etcd_server::take_ports()
{
    forget();  // the data contain the ports of the last attempt
    auto const peer = free_port();
    place_ = {free_port(), peer, "m", "m=" + peer_url(peer)};
    set_port(place_.port);
}

std::vector<std::string> etcd_server::words()
{
    if (etcd_program().empty())
        throw std::runtime_error(
            "there is no etcd here (Debian's package etcd-server); $REDLOCK_ETCD may name the program");
    auto const clients = client_url(), peers = peer_url(place_.peer_port);
    std::vector<std::string> all{etcd_program(), "--name",
                                 place_.name,    "--data-dir",
                                 folder(),       "--listen-client-urls",
                                 clients,        "--advertise-client-urls",
                                 clients,        "--listen-peer-urls",
                                 peers,          "--initial-advertise-peer-urls",
                                 peers,          "--initial-cluster",
                                 place_.cluster};
    all.insert(all.end(), options_.begin(), options_.end());
    return all;
}

std::string etcd_server::ask(std::vector<std::string> words) const
{
    words.insert(words.begin(), {etcdctl_program(), "--endpoints", client_url()});
    return answer_of(std::move(words), {"ETCDCTL_API=3"});
}

etcd_cluster::etcd_cluster(std::size_t members)
{
    std::vector<etcd_server::place> places;
    std::string cluster;
    for (std::size_t i = 0; i < members; ++i) {
        auto const peer = free_port();
        auto const name = std::string(1, static_cast<char>('a' + i));
        places.push_back({free_port(), peer, name, {}});
        cluster += (i == 0 ? "" : ",") + name + "=" + peer_url(peer);
    }
    for (auto& p : places) {
        p.cluster = cluster;
        members_.emplace_back(p, std::vector<std::string>{"--heartbeat-interval=20", "--election-timeout=200"});
    }
    for (auto& m : members_)
        m.wait();
}

}  // namespace redlock::testbed
