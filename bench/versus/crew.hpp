#pragma once

#include "sample.hpp"
#include "bed/server_process.hpp"
#include "versus/peers.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace redlock::bench {

/// The work of a peer in mode `speed`.
struct crew_work {
    std::string urls;
    std::size_t clients = 1;
    bool one_key = false;  ///< all clients want the same lock
    std::chrono::milliseconds hold{0};
    std::chrono::milliseconds ttl{10'000};
};

/// A worker died, printed nonsense, or hangs. Other peers can still be measured.
struct worker_failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Worker processes of one peer, which divide the clients among themselves. The destructor ends them.
class crew {
public:
    /** Starts the workers and waits until they are ready.

        @param line_timeout  how much longer than its work a worker may need for a line
        @throws worker_failed, like run; interrupted after a signal
    */
    crew(peer const&, crew_work const&, std::size_t processes = 1,
         std::chrono::milliseconds line_timeout = std::chrono::seconds(30));
    ~crew();
    crew(crew const&) = delete;
    crew& operator=(crew const&) = delete;

    /// Repeats cycles. The sample has no acquisitions, because workers report whole cycles only.
    /// @param when_over  called after @p duration, before the workers' reports are read
    sample run(std::chrono::milliseconds duration, std::function<void()> const& when_over = {});

    std::size_t size() const noexcept { return workers_.size(); }
    std::vector<pid_t> pids() const;

private:
    class worker;

    double cpu_seconds() const;

    std::chrono::milliseconds line_timeout_;
    testbed::temporary_folder errors_;  ///< the workers' standard error
    std::vector<std::unique_ptr<worker>> workers_;
};

}  // namespace redlock::bench
