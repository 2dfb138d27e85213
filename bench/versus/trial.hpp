#pragma once

#include "versus/counter.hpp"
#include "versus/lock_store.hpp"
#include "versus/loss_watch.hpp"
#include "versus/network.hpp"
#include "versus/peers.hpp"
#include "versus/trial_result.hpp"
#include "versus/worker_process.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::versus {

struct fault;

/** One peer under one fault: fresh servers, a network, three workers, and the counter that the lock protects.

    Everything happens in one thread. While a fault waits, the trial serves the workers. All waits throw
    bench::interrupted after a signal.
*/
class trial {
public:
    using milliseconds = std::chrono::milliseconds;
    using worker_id = std::size_t;

    static constexpr std::size_t worker_count = 3;
    static constexpr milliseconds time_limit{10'000};  ///< of each step, and of the recovery

    trial(bench::peer const&, milliseconds ttl);
    ~trial();

    /// Call it once. @throws std::runtime_error if the workers do not work without a fault
    trial_result run(fault const&);

    // The rest is for faults.

    milliseconds ttl() const noexcept { return ttl_; }

    /// Waits until a worker acquires the lock, and gives it work of the length @p work. The fault begins now.
    worker_id holder(milliseconds work);

    /// A worker that waits for the lock.
    worker_id waiter() const;

    /// Waits until @p w no longer works, writes or releases.
    void finish(worker_id w);

    /// Waits until @p w sends its next write, which waits for deliver().
    void expect_write(worker_id w);
    void deliver(worker_id w);  ///< hands the write of @p w to the counter, and answers it

    void kill(worker_id w);
    void pause(worker_id w) { workers_[w].process->pause(); }
    void resume(worker_id w) { workers_[w].process->resume(); }

    std::size_t servers() const { return store_->size(); }
    testbed::server_process& server(std::size_t i) { return store_->server(i); }
    void restart(std::size_t server);  ///< SIGKILL, and start
    void delete_lock();

    versus::network& network() noexcept { return *network_; }

    void run_for(milliseconds);

    /// Returns false if @p done does not become true within @p limit.
    bool run_until(std::function<bool()> const& done, milliseconds limit);

private:
    using clock = std::chrono::steady_clock;
    enum class step : std::uint8_t { outside, working, writing, releasing };

    struct worker {
        std::unique_ptr<bench::worker_process> process{};
        step now = step::outside;
        bool acquired = false;  ///< since the last call of wait_for_all()
        bool said_bye = false;
        counter::token token{};
        bool keeps_write = false;  ///< for expect_write()
        std::optional<std::uint64_t> write{};
        std::string denied{};  ///< the last message
    };

    void start_workers(std::vector<std::string> const& command);
    bool wait_for_all(milliseconds limit);
    void check_quiet();
    void stop_workers();
    void count_keys();
    void begin();
    void serve(milliseconds at_most);
    void hear(worker_id, std::string_view line);
    void on_acquired(worker_id, std::string_view token);
    void on_write(worker_id, std::string_view rest);
    void on_end(worker_id);
    void remark(worker_id, std::string_view what);
    clock::duration gap() const { return std::max(longest_gap_, clock::now() - last_acquired_); }

    milliseconds const ttl_;
    testbed::temporary_folder logs_;
    std::unique_ptr<lock_store> store_;
    std::optional<versus::network> network_;
    std::deque<worker> workers_;
    counter counter_;
    loss_watch losses_{worker_count};
    std::optional<milliseconds> next_work_;
    worker_id holder_ = 0;
    clock::time_point last_acquired_;
    clock::duration longest_gap_{};
    bool stopping_ = false;
    trial_result result_;
};

}  // namespace redlock::versus
