#include "versus/lock_store.hpp"

#include "bed/etcd_server.hpp"
#include "bed/local_server.hpp"
#include "bed/postgres_server.hpp"
#include "bed/zookeeper_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace redlock::versus {

namespace {

std::vector<std::string> lines_of(std::string const& text)
{
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        if (!line.empty())
            all.push_back(line);
    }
    return all;
}

std::string checked(std::string said, std::string_view program)
{
    if (said.starts_with("error: "))
        throw std::runtime_error(fmt::format("{}: {}", program, said));
    return said;
}

class redis_servers final : public lock_store {
public:
    explicit redis_servers(std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i)
            servers_.emplace_back();
    }

    std::size_t size() const override { return servers_.size(); }
    testbed::server_process& server(std::size_t i) override { return servers_.at(i); }
    std::string url(std::uint16_t port) const override { return fmt::format("redis://127.0.0.1:{}", port); }

    void delete_lock() override
    {
        for (auto const& s : servers_) {
            for (auto const& key : keys_on(s))
                s.ask({"DEL", key});
        }
    }

    std::vector<std::string> keys() const override
    {
        std::vector<std::string> all;
        for (auto const& s : servers_)
            std::ranges::copy(keys_on(s), std::back_inserter(all));
        return all;
    }

private:
    static std::vector<std::string> keys_on(testbed::local_server const& s)
    {
        auto all = lines_of(s.ask({"KEYS", "*"}));
        std::erase_if(all, [](std::string const& key) {
            return std::ranges::any_of(std::initializer_list<char const*>{":=record", ":=clients", ":=fence"},
                                       [&](auto* mark) { return key.find(mark) != key.npos; });
        });
        return all;
    }

    std::deque<testbed::local_server> servers_;
};

class etcd final : public lock_store {
public:
    testbed::server_process& server(std::size_t) override { return server_; }
    std::string url(std::uint16_t port) const override { return fmt::format("http://127.0.0.1:{}", port); }

    // The keys of one lock are a queue. The oldest one is the holder's.
    void delete_lock() override
    {
        if (auto const all = keys(); !all.empty())
            ask({"del", all.front()});
    }

    std::vector<std::string> keys() const override
    {
        return lines_of(ask({"get", "", "--prefix", "--keys-only", "--sort-by=CREATE"}));
    }

private:
    std::string ask(std::vector<std::string> words) const { return checked(server_.ask(std::move(words)), "etcdctl"); }

    testbed::etcd_server server_;
};

class zookeeper final : public lock_store {
public:
    testbed::server_process& server(std::size_t) override { return server_; }
    std::string url(std::uint16_t port) const override { return fmt::format("127.0.0.1:{}", port); }

    // The ten digits at the end are the place in the queue. The first one holds the lock.
    void delete_lock() override
    {
        auto const all = keys();
        auto const digits = [](std::string const& path) {
            return path.substr(path.size() - std::min<std::size_t>(10, path.size()));
        };
        auto const first = std::ranges::min_element(all, {}, digits);
        if (first == all.end())
            return;
        auto const* const script = "import sys; from kazoo.client import KazooClient; c = KazooClient(sys.argv[1]); "
                                   "c.start(); c.delete(sys.argv[2]); c.stop()";
        checked(testbed::answer_of({"/usr/bin/python3", "-c", script, url(server_.port()), *first}), "kazoo");
    }

    // The ephemeral nodes in the answer to "dump": a line for each session, and then an indented line for each node.
    std::vector<std::string> keys() const override
    {
        std::vector<std::string> all;
        for (auto const& line : lines_of(server_.ask("dump"))) {
            if (line.starts_with("\t/"))
                all.push_back(line.substr(1));
        }
        return all;
    }

private:
    testbed::zookeeper_server server_;
};

class postgresql final : public lock_store {
public:
    testbed::server_process& server(std::size_t) override { return server_; }
    std::string url(std::uint16_t port) const override
    {
        return fmt::format("postgresql://redlock@127.0.0.1:{}/postgres", port);
    }

    void delete_lock() override
    {
        ask("SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE granted AND locktype = 'advisory'");
    }

    std::vector<std::string> keys() const override
    {
        auto said =
            ask("SELECT string_agg('advisory lock of process ' || pid, ',') FROM pg_locks WHERE locktype = 'advisory'");
        std::ranges::replace(said, ',', '\n');
        return lines_of(said);
    }

private:
    std::string ask(std::string const& sql) const { return checked(server_.ask(sql), "psql"); }

    testbed::postgres_server server_;
};

}  // namespace

std::unique_ptr<lock_store> start_store(bench::lock_servers kind)
{
    switch (kind) {
    case bench::lock_servers::redis_quorum:
        return std::make_unique<redis_servers>(3);
    case bench::lock_servers::one_redis:
        return std::make_unique<redis_servers>(1);
    case bench::lock_servers::etcd:
        return std::make_unique<etcd>();
    case bench::lock_servers::zookeeper:
        return std::make_unique<zookeeper>();
    case bench::lock_servers::postgresql:
        return std::make_unique<postgresql>();
    }
    throw std::logic_error("there are no such servers");
}

std::pair<std::string, std::string> server_version(bench::lock_servers kind)
{
    auto const of = [](std::string name, std::vector<std::string> words) {
        auto const said = lines_of(testbed::answer_of(std::move(words)));
        return std::pair(std::move(name), said.empty() ? "unknown" : said.front());
    };
    switch (kind) {
    case bench::lock_servers::redis_quorum:
    case bench::lock_servers::one_redis:
        return of("Redis server", {testbed::server_program(), "--version"});
    case bench::lock_servers::etcd:
        return of("etcd server", {testbed::etcd_program(), "--version"});
    case bench::lock_servers::zookeeper:
        return of("ZooKeeper server",
                  {"java", "-cp", testbed::zookeeper_class_path(), "org.apache.zookeeper.version.VersionInfoMain"});
    case bench::lock_servers::postgresql:
        return of("PostgreSQL server", {testbed::postgres_programs() + "/postgres", "--version"});
    }
    throw std::logic_error("there are no such servers");
}

}  // namespace redlock::versus
