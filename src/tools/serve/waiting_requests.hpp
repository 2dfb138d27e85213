#pragma once

#include <redlock/mode.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace redlock::serve {

/// The requests of this instance that wait for locks. The nodes do not know those that wait for a lock which this
/// instance holds.
class waiting_requests {
public:
    struct request {
        std::string owner{}, note{};
        redlock::mode mode{};
    };
    using by_name = std::multimap<std::string, request>;

    by_name const& all() const noexcept { return all_; }

    std::size_t count() const noexcept { return count_; }  ///< a request may wait for several locks

    /// Notes a request as long as it waits.
    class place {
    public:
        place(waiting_requests& w, std::vector<std::string> const& names, request const& r) : requests_(w), all_(w.all_)
        {
            ++requests_.count_;
            for (auto const& name : names)
                places_.push_back(all_.emplace(name, r));
        }
        ~place()
        {
            --requests_.count_;
            for (auto const at : places_)
                all_.erase(at);
        }
        place(place const&) = delete;
        place& operator=(place const&) = delete;

    private:
        waiting_requests& requests_;
        by_name& all_;
        std::vector<by_name::iterator> places_;
    };

private:
    by_name all_;
    std::size_t count_ = 0;
};

}  // namespace redlock::serve
