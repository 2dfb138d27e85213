#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::core {

template <class TimePoint>
class schedule;

/// A call at a point in time. Its owner is the object that it calls. The destructor clears the alarm.
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

    static constexpr std::size_t in_heap = static_cast<std::size_t>(-1);

    std::function<void()> ring_;
    schedule<TimePoint>* schedule_ = nullptr;
    TimePoint at_{};
    std::size_t lane_ = in_heap;
    std::size_t place_ = 0;    // in the heap
    alarm* before_ = nullptr;  // in the lane
    alarm* after_ = nullptr;
};

/** The alarms that are set; one timer serves them all. The current time is an argument.

    Most alarms are cleared long before they ring. Most also arrive in the order of their times, such as the deadlines
    of rounds with equal timeouts. These alarms are in a few sorted lists, called lanes, where insertion and removal are
    cheap. A binary heap has the others.

    Alarms for the same moment ring in an unspecified but reproducible order.
*/
template <class TimePoint>
class schedule {
public:
    schedule() = default;
    schedule(schedule const&) = delete;
    schedule& operator=(schedule const&) = delete;
    ~schedule() { clear(); }

    /// Sets @p a. If it is already set, moves it.
    void set(alarm<TimePoint>& a, TimePoint at)
    {
        a.clear();
        a.at_ = at;
        a.lane_ = find_lane(at);
        if (a.lane_ == alarm<TimePoint>::in_heap) {
            a.place_ = heap_.size();
            heap_.push_back(&a);
            rise(a.place_);
        } else {
            line_up(lanes_[a.lane_], a);
        }
        a.schedule_ = this;
        ++size_;
    }

    std::optional<TimePoint> next() const
    {
        auto const* a = earliest();
        return a ? std::optional(a->at_) : std::nullopt;
    }

    /// Rings the alarms that are due at @p now. An alarm may set, clear and destroy any alarm, including itself.
    void ring_until(TimePoint now)
    {
        for (auto* a = earliest(); a && a->at_ <= now; a = earliest()) {
            auto ring = a->ring_;  // a copy: the alarm may be destroyed while it rings
            a->clear();
            ring();
        }
    }

    void clear() noexcept
    {
        while (auto* a = earliest())
            remove(*a);
    }

    std::size_t size() const noexcept { return size_; }

private:
    friend class alarm<TimePoint>;

    struct lane {
        alarm<TimePoint>* first = nullptr;
        alarm<TimePoint>* last = nullptr;
    };

    // Returns the lane whose last alarm is closest before @p at, so distant alarms do not block the lane for near ones.
    std::size_t find_lane(TimePoint at) const noexcept
    {
        auto found = alarm<TimePoint>::in_heap;
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            auto const* last = lanes_[i].last;
            if (last && at < last->at_)
                continue;
            auto const* best = found == alarm<TimePoint>::in_heap ? nullptr : lanes_[found].last;
            if (found == alarm<TimePoint>::in_heap || (last && (!best || best->at_ < last->at_)))
                found = i;
        }
        return found;
    }

    alarm<TimePoint>* earliest() const noexcept
    {
        auto* found = heap_.empty() ? nullptr : heap_.front();
        for (auto const& l : lanes_) {
            if (l.first && (!found || l.first->at_ < found->at_))
                found = l.first;
        }
        return found;
    }

    void remove(alarm<TimePoint>& a) noexcept
    {
        a.schedule_ = nullptr;
        --size_;
        if (a.lane_ != alarm<TimePoint>::in_heap)
            return step_out(lanes_[a.lane_], a);
        auto const place = a.place_;
        auto* last = heap_.back();
        heap_.pop_back();
        if (last == &a)
            return;
        put(place, last);
        rise(place);
        sink(last->place_);
    }

    static void line_up(lane& l, alarm<TimePoint>& a) noexcept
    {
        a.before_ = l.last;
        a.after_ = nullptr;
        (l.last ? l.last->after_ : l.first) = &a;
        l.last = &a;
    }

    static void step_out(lane& l, alarm<TimePoint>& a) noexcept
    {
        (a.before_ ? a.before_->after_ : l.first) = a.after_;
        (a.after_ ? a.after_->before_ : l.last) = a.before_;
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

    std::array<lane, 4> lanes_;
    std::vector<alarm<TimePoint>*> heap_;
    std::size_t size_ = 0;
};

}  // namespace redlock::core
