// The worlds of each model.
#pragma once

#include "model/explorer.hpp"

#include <vector>

namespace redlock::model {

std::vector<world> exclusion_worlds();
std::vector<world> fencing_worlds();
std::vector<world> founding_worlds();
std::vector<world> moves_worlds();
std::vector<world> progress_worlds();
std::vector<world> reader_tokens_worlds();
std::vector<world> sets_worlds();
std::vector<world> shared_worlds();
std::vector<world> slots_worlds();
std::vector<world> takeover_worlds();

}  // namespace redlock::model
