#pragma once

#include "fault/options.hpp"
#include "fault/system_under_test.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace redlock::test {

/// Something fails, and is mended a while later, and in between something else fails.
class faults {
public:
    struct counts {
        std::uint64_t all = 0;
        std::uint64_t crashes = 0;  ///< of servers
        std::uint64_t deaths = 0;   ///< of processes
        std::uint64_t newcomers = 0;  ///< processes that started meanwhile
        std::uint64_t steps = 0;    ///< of clocks
    };

    explicit faults(system_under_test&);

    /// For so long; then everything is mended. @p progress is shown meanwhile where there is a terminal.
    void strike(std::chrono::milliseconds time, std::function<std::string()> const& progress);

    counts const& done() const noexcept { return done_; }

private:
    struct mending {
        std::size_t turns;
        std::function<void()> mend;
    };

    std::size_t any(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

    void do_harm();
    void harm_server(std::size_t i);
    void crash(std::size_t i);
    void pause(std::size_t i);
    void disturb(std::size_t i);
    void cut_off_all();
    void step_clock();
    void move_majority(std::size_t shared_server);
    bool may_crash(std::size_t i) const;
    void stop_client();
    void start_client();
    void replace_client();
    void cut_links();
    void tell(testbed::local_server& s, std::vector<std::string> const& command);
    void mend_some();
    void mend_everything();

    system_under_test& system_;
    soak_options const& options_;
    std::mt19937_64 random_;
    std::vector<mending> later_;
    std::size_t paused_ = 0;
    counts done_;
};

}  // namespace redlock::test
