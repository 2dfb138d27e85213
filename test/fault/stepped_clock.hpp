#pragma once

#include "bed/local_server.hpp"

#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// The wall clock of a server that is started with @ref environment. @p shim: the library from clock_shim.cpp.
class stepped_clock {
public:
    explicit stepped_clock(std::string shim) : shim_(std::move(shim))
    {
        std::ofstream(path_) << std::string(sizeof(offset), '\0');
        memory_ = {boost::interprocess::file_mapping(path_.c_str(), boost::interprocess::read_write),
                   boost::interprocess::read_write};
    }

    std::vector<std::string> environment() const { return {"LD_PRELOAD=" + shim_, "CLOCK_SHIM_OFFSET=" + path_}; }

    /// From now on, the clock is wrong by @p by.
    void set(std::chrono::microseconds by) noexcept { *static_cast<offset*>(memory_.get_address()) = by.count(); }

private:
    using offset = std::atomic<std::int64_t>;

    std::string const shim_;
    testbed::temporary_folder const folder_;
    std::string const path_ = folder_.path + "/offset";
    boost::interprocess::mapped_region memory_;
};

}  // namespace redlock::test
