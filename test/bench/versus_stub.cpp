// A worker for the tests of redlock_versus: a lock on one Redis server, as peers.hpp describes workers in mode `count`.
//
// usage: redlock_versus_stub careless|fenced|leaving|dying count URL TTL_MS
//
// - careless: it neither extends its lock nor asks whether it still has it;
// - fenced: the same with a fencing token;
// - leaving: it leaves a key without a TTL at its end;
// - dying: it ends at once.

#include "bed/plain_client.hpp"

#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using redlock::testbed::plain_client;

class stub {
public:
    stub(std::string_view kind, std::string const& url, std::string ttl)
        : kind_(kind),
          ttl_(std::move(ttl)),
          value_(std::to_string(::getpid())),
          port_(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))))
    {
    }

    int run()
    {
        if (kind_ == "dying") {
            std::cerr << "there is no lock here\n";
            return 7;
        }
        while (!is_stopped()) {
            try {
                cycle();
            } catch (std::runtime_error const& e) {
                connection_.reset();
                std::cout << "denied " << e.what() << std::endl;
            }
            std::this_thread::sleep_for(50ms);
        }
        if (kind_ == "leaving")
            ask({"SET", "versus", "left"});
        std::cout << "bye" << std::endl;
        return 0;
    }

private:
    std::string ask(std::vector<std::string> const& command)
    {
        if (!connection_)
            connection_.emplace(port_);
        return connection_->ask(command);
    }

    void cycle()
    {
        if (ask({"SET", "versus", value_, "NX", "PX", ttl_}) != "OK")
            return;
        auto const token = kind_ == "fenced" ? " " + ask({"INCR", "versus:=fence"}) : "";
        std::cout << "acquired" << token << std::endl;
        auto const said = read();  // "value N MS"
        auto const second = said.find(' ') + 1, third = said.find(' ', second);
        std::this_thread::sleep_for(std::chrono::milliseconds(std::stoul(said.substr(third))));
        std::cout << "write " << std::stoull(said.substr(second)) + 1 << token << std::endl;
        read();
        auto const* const script = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end";
        ask({"EVAL", script, "1", "versus", value_});
        std::cout << "released" << std::endl;
    }

    bool is_stopped()
    {
        for (pollfd input{STDIN_FILENO, POLLIN, 0}; !stopped_ && ::poll(&input, 1, 0) == 1;)
            stopped_ = !std::getline(std::cin, line_) || line_ == "stop";
        return stopped_;
    }

    std::string read()
    {
        while (std::getline(std::cin, line_)) {
            if (line_ != "stop")
                return line_;
            stopped_ = true;
        }
        std::exit(0);
    }

    std::string kind_, ttl_, value_;
    std::uint16_t port_;
    std::optional<plain_client> connection_;
    std::string line_;
    bool stopped_ = false;
};

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 5 || argv[2] != std::string_view("count")) {
        std::cout << "usage: redlock_versus_stub KIND count URL TTL_MS\n";
        return 1;
    }
    return stub(argv[1], argv[3], argv[4]).run();
}
