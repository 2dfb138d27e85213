#include "serve/event_queue.hpp"

#include "serve/as_result.hpp"
#include "serve/lock_ids.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace redlock::serve {

namespace {

using namespace std::chrono_literals;

constexpr auto silence_max = 5s;
constexpr std::size_t sent_events_max = 100;
constexpr std::size_t piece_max = 64 * 1024;  // bytes: a session may have thousands of locks

}  // namespace

event_queue::event_queue(asio::any_io_executor e, std::string id, bool keeps_sent)
    : wake_(std::move(e)), id_(std::move(id)), keeps_sent_(keeps_sent)
{
}

void event_queue::add(std::string name, boost::json::object data, std::optional<clock::time_point> valid_until)
{
    if (closed_)
        return;
    events_.push_back({std::move(name), std::move(data), valid_until});
    wake_.cancel();
}

void event_queue::set_validity(std::string const& token, boost::json::object data, clock::time_point valid_until)
{
    if (closed_)
        return;
    validities_.insert_or_assign(token, event{"valid", std::move(data), valid_until});
    wake_.cancel();
}

std::uint64_t event_queue::attach(std::uint64_t last_seen)
{
    opened_ = clock::now();
    validities_.clear();
    if (last_seen > 0)
        next_ = std::clamp(last_seen + 1, first_, next_);
    wake_.cancel();
    return ++stream_;
}

asio::awaitable<std::optional<std::string>> event_queue::next(std::uint64_t stream)
{
    if (!is_current(stream))
        co_return std::nullopt;
    bool is_late = false;
    if (!has_news() && !closed_) {
        wake_.expires_after(silence_max);
        auto const [ec] = co_await wake_.async_wait(as_result);
        is_late = !ec;
        if (!is_current(stream))
            co_return std::nullopt;
    }
    std::string text;
    for (; next_ < first_ + events_.size(); ++next_)
        text += "id: " + id_ + '.' + std::to_string(next_) + '\n' + text_of(events_[next_ - first_]);
    while (!validities_.empty() && text.size() < piece_max) {
        text += text_of(validities_.begin()->second);
        validities_.erase(validities_.begin());
    }
    while (events_.size() > (keeps_sent_ ? sent_events_max : 0) && first_ < next_) {
        events_.pop_front();
        ++first_;
    }
    if (text.empty() && closed_)
        co_return std::nullopt;
    co_return text.empty() && is_late ? ":\n\n" : std::move(text);
}

void event_queue::close()
{
    closed_ = true;
    wake_.cancel();
}

std::string event_queue::text_of(event const& e) const
{
    auto data = e.data;
    if (e.valid_until) {
        data["valid_for_ms"] = left_until(*e.valid_until).count();
        auto const from_opening = std::chrono::floor<std::chrono::milliseconds>(*e.valid_until - opened_);
        data["valid_until_ms"] = std::max<std::int64_t>(from_opening.count() * (clock_rate - 1) / clock_rate, 0);
    }
    return "event: " + e.name + "\ndata: " + boost::json::serialize(data) + "\n\n";
}

}  // namespace redlock::serve
