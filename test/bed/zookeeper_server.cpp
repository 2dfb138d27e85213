#include "bed/zookeeper_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace {

namespace files = std::filesystem;
namespace asio = boost::asio;

constexpr char const* java = "/usr/bin/java";
constexpr std::array jars{"zookeeper",     "zookeeper-jute", "slf4j-api",      "slf4j-simple", "snappy-java",
                          "metrics-core",  "commons-io",     "netty-buffer",   "netty-codec",  "netty-common",
                          "netty-handler", "netty-resolver", "netty-transport"};

}  // namespace

std::string zookeeper_class_path()
{
    if (auto named = named_by("REDLOCK_ZOOKEEPER"); !named.empty())
        return named;
    std::string path;
    for (std::string const jar : jars)
        path += (path.empty() ? "/usr/share/java/" : ":/usr/share/java/") + jar + ".jar";
    bool const is_here = ::access(java, X_OK) == 0 && files::exists("/usr/share/java/zookeeper.jar");
    return is_here ? path : std::string();
}

zookeeper_server::zookeeper_server(std::vector<std::string> settings, std::vector<std::string> properties)
    : server_process("ZooKeeper", {}), settings_(std::move(settings)), properties_(std::move(properties))
{
    start_on_free_ports();
}

zookeeper_server::zookeeper_server(place p) : server_process("ZooKeeper", {}), place_(std::move(p))
{
    set_port(place_.port);
    launch();
}

std::vector<std::string> zookeeper_server::words()
{
    if (zookeeper_class_path().empty())
        throw std::runtime_error(
            "there is no ZooKeeper here (Debian's package zookeeper); $REDLOCK_ZOOKEEPER may be its class path");
    files::create_directories(folder());
    if (place_.number != 0)
        std::ofstream(folder() + "/myid") << place_.number << '\n';
    auto const file = path() + "/zoo.cfg";
    {
        std::ofstream settings(file);
        settings << "tickTime=100\ninitLimit=50\nsyncLimit=10\ndataDir=" << folder() << "\nclientPort=" << port()
                 << "\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns="
                    "0\nmaxSessionTimeout=3600000\n";
        for (auto const* const more : {&place_.servers, &settings_}) {
            for (auto const& line : *more)
                settings << line << '\n';
        }
    }
    std::vector<std::string> all{
        java, "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", zookeeper_class_path()};
    all.insert(all.end(), properties_.begin(), properties_.end());
    all.insert(all.end(), {"org.apache.zookeeper.server.quorum.QuorumPeerMain", file});
    return all;
}

std::string zookeeper_server::ask(std::string const& word) const
{
    asio::io_context context;
    asio::ip::tcp::socket to(context);
    boost::system::error_code ec;
    to.connect({asio::ip::address_v4::loopback(), port()}, ec);
    if (ec)
        return {};
    asio::write(to, asio::buffer(word), ec);
    std::string said;
    for (pollfd readable{to.native_handle(), POLLIN, 0}; !ec && ::poll(&readable, 1, 2000) == 1;) {
        std::array<char, 4096> some;
        said.append(some.data(), to.read_some(asio::buffer(some), ec));
    }
    return said;
}

zookeeper_ensemble::zookeeper_ensemble(std::size_t members)
{
    std::vector<std::string> servers;
    for (std::size_t i = 1; i <= members; ++i)
        servers.push_back("server." + std::to_string(i) + "=127.0.0.1:" + std::to_string(free_port()) + ":"
                          + std::to_string(free_port()));
    for (std::size_t i = 1; i <= members; ++i)
        members_.emplace_back(zookeeper_server::place{free_port(), static_cast<int>(i), servers});
    for (auto& m : members_)
        m.wait();
}

}  // namespace redlock::testbed
