#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::core {

template <class TimePoint>
class schedule;

/// A call at a point in time. Belongs to whom it calls; withdraws itself when destroyed.
template <class TimePoint>
class alarm {
public:
    explicit alarm(std::function<void()> ring) : ring_(std::move(ring)) {}
    alarm(alarm const&) = delete;
    alarm& operator=(alarm const&) = delete;
    ~alarm() { clear(); }

    bool is_set() const noexcept { return schedule_ != nullptr; }

    void clear() noexcept
    {
        if (schedule_)
            schedule_->remove(*this);
    }

private:
    friend class schedule<TimePoint>;

    std::function<void()> ring_;
    schedule<TimePoint>* schedule_ = nullptr;
    std::size_t place_ = 0;
    TimePoint at_{};
};

/** The alarms that are set, in a binary heap: one timer serves them all. Time is an argument.

    Alarms for the same moment ring in no particular, but in a reproducible order.
*/
template <class TimePoint>
class schedule {
public:
    schedule() = default;
    schedule(schedule const&) = delete;
    schedule& operator=(schedule const&) = delete;
    ~schedule() { clear(); }

    /// Sets @p a, or moves it if it is set already.
    void set(alarm<TimePoint>& a, TimePoint at)
    {
        a.clear();
        a.schedule_ = this;
        a.at_ = at;
        a.place_ = heap_.size();
        heap_.push_back(&a);
        rise(a.place_);
    }

    std::optional<TimePoint> next() const
    {
        return heap_.empty() ? std::nullopt : std::optional(heap_.front()->at_);
    }

    /// Rings what is due at @p now. An alarm may set, clear and destroy any alarm, itself included.
    void ring_until(TimePoint now)
    {
        while (!heap_.empty() && heap_.front()->at_ <= now) {
            auto ring = heap_.front()->ring_;  // a copy: the alarm may go while it rings
            heap_.front()->clear();
            ring();
        }
    }

    void clear() noexcept
    {
        for (auto* a : heap_)
            a->schedule_ = nullptr;
        heap_.clear();
    }

    std::size_t size() const noexcept { return heap_.size(); }

private:
    friend class alarm<TimePoint>;

    void remove(alarm<TimePoint>& a) noexcept
    {
        auto const place = a.place_;
        a.schedule_ = nullptr;
        auto* last = heap_.back();
        heap_.pop_back();
        if (last == &a)
            return;
        put(place, last);
        rise(place);
        sink(last->place_);
    }

    void put(std::size_t place, alarm<TimePoint>* a) noexcept
    {
        heap_[place] = a;
        a->place_ = place;
    }

    void rise(std::size_t place) noexcept
    {
        auto* a = heap_[place];
        for (; place > 0 && a->at_ < heap_[(place - 1) / 2]->at_; place = (place - 1) / 2)
            put(place, heap_[(place - 1) / 2]);
        put(place, a);
    }

    void sink(std::size_t place) noexcept
    {
        auto* a = heap_[place];
        for (;;) {
            auto child = 2 * place + 1;
            if (child >= heap_.size())
                break;
            if (child + 1 < heap_.size() && heap_[child + 1]->at_ < heap_[child]->at_)
                ++child;
            if (!(heap_[child]->at_ < a->at_))
                break;
            put(place, heap_[child]);
            place = child;
        }
        put(place, a);
    }

    std::vector<alarm<TimePoint>*> heap_;
};

}  // namespace redlock::core
