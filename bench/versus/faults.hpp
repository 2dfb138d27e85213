#pragma once

#include <string>
#include <vector>

namespace redlock::versus {

class trial;

/// An event in a trial. When it returns, the fault is over.
struct fault {
    std::string name;
    std::string description;
    void (*happen)(trial&);
};

/// All faults, in the order of the tables.
std::vector<fault> const& all_faults();

}  // namespace redlock::versus
