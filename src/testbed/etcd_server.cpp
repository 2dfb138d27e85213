#include "testbed/etcd_server.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace {

using namespace std::chrono_literals;
namespace files = std::filesystem;

std::string at(std::string const& scheme, std::uint16_t port)
{
    return scheme + "://127.0.0.1:" + std::to_string(port);
}

etcd_server::place alone(std::string const& scheme)
{
    auto const peer = free_port();
    return {free_port(), peer, "m", "m=" + at("http", peer), scheme};
}

std::string url_of(std::deque<etcd_server> const& members, etcd_server const* left_out, std::string const& parameters)
{
    std::string url = "etcd://";
    for (auto const& m : members) {
        if (&m != left_out)
            url += (url.ends_with('/') ? "" : ",") + std::string("127.0.0.1:") + std::to_string(m.port());
    }
    return url + parameters;
}

std::string find_program(std::string const& name)
{
    auto const* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (auto program = folder + "/" + name; ::access(program.c_str(), X_OK) == 0)
            return program;
    }
    return {};
}

}  // namespace

std::string etcd_program()
{
    auto const* const named = std::getenv("REDLOCK_ETCD");
    return named && *named ? named : find_program("etcd");
}

std::string etcdctl_program()
{
    return find_program("etcdctl");
}

etcd_server::etcd_server(std::vector<std::string> options, std::string scheme) : options_(std::move(options))
{
    // Somebody else may take a port between our looking and the server's binding it.
    for (int attempt = 0;; ++attempt) {
        place_ = alone(scheme);
        try {
            start();
            return;
        } catch (std::runtime_error const&) {
            if (attempt == 2)
                throw;
            forget();
        }
    }
}

etcd_server::etcd_server(place p, std::vector<std::string> options) : place_(std::move(p)), options_(std::move(options))
{
    launch();
}

void etcd_server::start()
{
    launch();
    wait();
}

void etcd_server::launch()
{
    if (etcd_program().empty())
        throw std::runtime_error("there is no etcd here (Debian's package etcd-server); $REDLOCK_ETCD may name the program");
    auto const clients = at(place_.client_scheme, place_.port), peers = at("http", place_.peer_port);
    std::vector<std::string> words{etcd_program(), "--name", place_.name, "--data-dir", folder(),
                                   "--listen-client-urls", clients, "--advertise-client-urls", clients,
                                   "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                                   "--initial-cluster", place_.cluster};
    words.insert(words.end(), options_.begin(), options_.end());
    auto const log_file = folder_.path + "/log";
    ::unlink(log_file.c_str());
    process_.emplace(std::move(words), process_options{.environment = {"ETCD_UNSUPPORTED_ARCH="}, .output = log_file});
}

void etcd_server::wait()
{
    for (auto const deadline = std::chrono::steady_clock::now() + 60s; log().find("ready to serve client requests") == std::string::npos;) {
        if (!process_->ended() && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(5ms);
            continue;
        }
        kill();
        throw std::runtime_error("etcd did not start on port " + std::to_string(port()) + ":\n" + log());
    }
}

void etcd_server::kill()
{
    process_.reset();
}

void etcd_server::pause()
{
    process_->pause();
}

void etcd_server::resume()
{
    process_->resume();
}

void etcd_server::forget()
{
    files::remove_all(folder());
}

std::string etcd_server::ask(std::vector<std::string> words) const
{
    std::vector<std::string> all{etcdctl_program(), "--endpoints", at(place_.client_scheme, place_.port)};
    all.insert(all.end(), words.begin(), words.end());
    process etcdctl(std::move(all), {.environment = {"ETCDCTL_API=3"}, .output = {}, .piped = true});
    auto said = etcdctl.read();
    auto const ended = etcdctl.wait();
    while (said.ends_with('\n'))
        said.pop_back();
    return ended.code() == 0 ? said : "error: " + said;
}

std::string etcd_server::log() const
{
    std::ostringstream text;
    text << std::ifstream(folder_.path + "/log").rdbuf();
    return text.str();
}

etcd_cluster::etcd_cluster(std::size_t members)
{
    std::vector<etcd_server::place> places;
    std::string cluster;
    for (std::size_t i = 0; i < members; ++i) {
        auto const peer = free_port();
        auto const name = std::string(1, static_cast<char>('a' + i));
        places.push_back({free_port(), peer, name, {}, "http"});
        cluster += (i == 0 ? "" : ",") + name + "=" + at("http", peer);
    }
    for (auto& p : places) {
        p.cluster = cluster;
        members_.emplace_back(p, std::vector<std::string>{"--heartbeat-interval=20", "--election-timeout=200"});
    }
    for (auto& m : members_)
        m.wait();
}

etcd_server& etcd_cluster::leader()
{
    for (auto const deadline = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < deadline;) {
        for (auto& m : members_) {
            if (m.ask({"endpoint", "status"}).find(", true, ") != std::string::npos)
                return m;
        }
    }
    throw std::runtime_error("the etcd cluster elects no leader");
}

std::string etcd_cluster::url(std::string const& parameters) const
{
    return url_of(members_, nullptr, parameters);
}

std::string etcd_cluster::url_of_others(etcd_server const& one, std::string const& parameters) const
{
    return url_of(members_, &one, parameters);
}

}  // namespace redlock::testbed
