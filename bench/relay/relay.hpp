#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace redlock::bench {

struct delays;

/** Stands between clients and servers on loopback as a network would: what is sent arrives half a round trip later.

    A process of its own, so that what it costs is nobody else's. Bytes keep their order; the end of a stream and a
    reset travel like bytes do, and a server that refuses is a reset. Connections themselves are made at once. Who does
    not read stops the sender, 4 MiB later. The time is kept to what the kernel's timers allow: it is never less.

    It dies with this object, and with the thread that made it, even if that is killed. It is a fork, so the parent must
    have no other thread yet. It runs on the processors that the parent is allowed at this moment.
*/
class relay {
public:
    struct target {
        std::uint16_t port;             ///< on 127.0.0.1
        std::chrono::microseconds rtt;  ///< Zero: at once. At most an hour.
    };

    /// @throws std::runtime_error that names what failed
    explicit relay(std::vector<target> const& targets);
    ~relay();
    relay(relay const&) = delete;
    relay& operator=(relay const&) = delete;

    /// Where clients connect, on 127.0.0.1; in the order of the targets.
    std::vector<std::uint16_t> const& ports() const noexcept { return ports_; }

    /// For what is read from now on, on connections that are open, too. What was read before is not overtaken.
    /// @throws std::runtime_error unless 0 <= rtt <= 1 h
    void set_rtt(std::size_t node, std::chrono::microseconds rtt);

    /// The process, for its figures.
    pid_t pid() const noexcept { return pid_; }

private:
    std::vector<std::uint16_t> ports_;
    delays* delays_ = nullptr;  ///< shared with the process
    pid_t pid_ = -1;
};

}  // namespace redlock::bench
