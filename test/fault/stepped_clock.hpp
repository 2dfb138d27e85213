#pragma once

#include "testbed/local_server.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace redlock::test {

/// The wall clock of a server that is started with @ref environment. @p shim is the library made of clock_shim.cpp.
class stepped_clock {
public:
    explicit stepped_clock(std::string shim) : shim_(std::move(shim))
    {
        int const file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        void* const memory = ::ftruncate(file, sizeof(offset)) != 0
                               ? MAP_FAILED
                               : ::mmap(nullptr, sizeof(offset), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ::close(file);
        if (memory == MAP_FAILED)
            throw std::runtime_error("cannot map " + path_);
        offset_ = static_cast<offset*>(memory);
    }
    ~stepped_clock() { ::munmap(offset_, sizeof(offset)); }
    stepped_clock(stepped_clock const&) = delete;
    stepped_clock& operator=(stepped_clock const&) = delete;

    std::vector<std::string> environment() const { return {"LD_PRELOAD=" + shim_, "CLOCK_SHIM_OFFSET=" + path_}; }

    /// It is wrong by @p by from now on.
    void set(std::chrono::microseconds by) noexcept { *offset_ = by.count(); }

private:
    using offset = std::atomic<std::int64_t>;

    std::string const shim_;
    testbed::temporary_folder const folder_;
    std::string const path_ = folder_.path + "/offset";
    offset* offset_ = nullptr;
};

}  // namespace redlock::test
