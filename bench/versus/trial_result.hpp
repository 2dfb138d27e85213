#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::versus {

/// The result of a trial: one peer under one fault. definitions() in report.hpp explains the figures.
struct trial_result {
    std::string peer{}, fault{};
    std::uint64_t confirmed_writes = 0;
    std::uint64_t lost_updates = 0;
    std::uint64_t refused_writes = 0;
    std::uint64_t held_twice = 0;
    std::uint64_t keys_left = 0;
    std::uint64_t tombstones = 0;
    std::uint64_t crashed_workers = 0;
    std::uint64_t killed_workers = 0;
    bool recovered = false;
    std::int64_t recovery_us = 0;
    std::uint64_t notices = 0;
    std::optional<std::int64_t> notice_us{};
    bool never_noticed = false;
    std::vector<std::string> remarks{};
    std::string failure{};  ///< why there is no result; empty: there is one
};

/// @throws std::runtime_error if @p text is not the output of to_json
trial_result from_json(std::string_view text);
std::string to_json(trial_result const&);

}  // namespace redlock::versus
