#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace redlock::versus {

/** The resource that the locks protect: a counter, which workers read and write.

    It refuses a write whose fencing token is smaller than the greatest token that it has seen. A write without a token
    is never refused.
*/
class counter {
public:
    using token = std::optional<std::uint64_t>;

    std::uint64_t read(token t)
    {
        see(t);
        return value_;
    }

    /// Returns whether it took the write.
    bool write(std::uint64_t value, token t)
    {
        if (t && *t < greatest_) {
            ++refused_;
            return false;
        }
        see(t);
        value_ = value;
        ++confirmed_;
        return true;
    }

    std::uint64_t confirmed() const noexcept { return confirmed_; }
    std::uint64_t refused() const noexcept { return refused_; }

    /// Each confirmed write should have added 1.
    std::uint64_t lost_updates() const noexcept { return confirmed_ - std::min(confirmed_, value_); }

private:
    void see(token t) { greatest_ = std::max(greatest_, t.value_or(0)); }

    std::uint64_t value_ = 0, greatest_ = 0, confirmed_ = 0, refused_ = 0;
};

}  // namespace redlock::versus
