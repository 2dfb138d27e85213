#include "locks/renewal_log.hpp"

#include "locks/explain.hpp"

#include <utility>

namespace redlock::detail {

namespace {

// What fails now and then, and is well again at once, is told once in this time.
constexpr std::chrono::seconds at_least{1};

}  // namespace

void renewal_log::failed(bool& note, resource_set const& resources, std::string_view why) noexcept
{
    shown_name const name(resources);
    if (!std::exchange(note, true))
        ++failing_;
    log_.add(log_level::debug, runtime_.now(), "the renewal of {} failed, and will be tried again: {}", std::string_view(name), why);
    if (!std::exchange(told_, true)) {
        since_ = runtime_.now();
        failures_ = lost_ = 0;
        log_.add(log_level::warning, runtime_.now(), "renewals have begun to fail, the first that of {}: {}", std::string_view(name), why);
    }
    ++failures_;
}

void renewal_log::succeeded(bool& note) noexcept
{
    clear(note);
    if (!told_ || failing_ > 0 || runtime_.now() - since_ < at_least)
        return;
    told_ = false;
    log_.add(log_level::info, runtime_.now(), "renewals are well again after {} ms, in which {} failed and {} locks were lost",
                (runtime_.now() - since_) / std::chrono::milliseconds(1), failures_, lost_);
}

void renewal_log::ended(bool& note, bool lost) noexcept
{
    clear(note);
    if (lost)
        ++lost_;
}

void renewal_log::clear(bool& note) noexcept
{
    if (std::exchange(note, false))
        --failing_;
}

}  // namespace redlock::detail
