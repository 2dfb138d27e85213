#pragma once

#include "sim/client.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {
class process;
class world;
}  // namespace redlock::sim

namespace redlock::sim::gallery {

namespace asio = boost::asio;
using namespace std::chrono_literals;

template <class T>
using task = asio::awaitable<T>;

/** All that an algorithm of the gallery has of the world: servers that answer or do not, clocks of its own, chance.

    Its process may stand still whenever it waits or looks at a clock.
*/
class computer {
public:
    computer(world&, process&, std::string name);
    ~computer();

    std::string const& name() const noexcept { return name_; }
    process& runs_on() noexcept { return process_; }

    std::size_t servers() const noexcept { return channels_.size(); }

    /// Sends a command to a server and waits for the answer, for as long as that takes.
    /// @return what redis-cli prints: `OK`, `1`, a value, `(nil)`; empty: an error, or no answer, and what was sent may be carried out still
    template <class... Words>
    task<std::string> ask(std::size_t server, Words... words)
    {
        return ask_words(server, clock::duration::max(), command{fmt::format("{}", words)...});
    }

    /// The same, for no longer than @p patience; then the connection is given up.
    template <class... Words>
    task<std::string> ask_within(clock::duration patience, std::size_t server, Words... words)
    {
        return ask_words(server, patience, command{fmt::format("{}", words)...});
    }

    clock::time_point now();                    ///< counts from its boot
    std::chrono::milliseconds time_of_day();    ///< since 1970, as far as it knows
    task<void> sleep(clock::duration);
    clock::duration any_up_to(clock::duration);
    std::string unique();                       ///< never the same twice

    /// For the history.
    void tell(std::string_view what);

    /// Goes on beside everything else, until it returns.
    void start(std::function<task<void>()>);

private:
    class channel;

    task<std::string> ask_words(std::size_t server, clock::duration patience, command words);

    world& world_;
    process& process_;
    std::string const name_;
    std::uint64_t last_unique_ = 0;
    std::vector<std::unique_ptr<channel>> channels_;
};

}  // namespace redlock::sim::gallery
