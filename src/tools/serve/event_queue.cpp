#include "tools/serve/event_queue.hpp"

#include "tools/serve/answer_sizes.hpp"
#include "runtime/as_result.hpp"
#include "tools/serve/lock_ids.hpp"

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

}  // namespace

event_queue::event_queue(asio::any_io_executor e, std::string id, bool keeps_sent,
                         std::function<std::optional<held_lock>(std::string const&)> lock_of)
    : wake_(std::move(e)), id_(std::move(id)), keeps_sent_(keeps_sent), lock_of_(std::move(lock_of))
{
}

void event_queue::add(std::string name, boost::json::object const& data, std::optional<clock::time_point> valid_until)
{
    if (closed_)
        return;
    events_.push_back({std::move(name), boost::json::serialize(data), valid_until});
    size_ += events_.back().size();
    while (size_ > events_bytes)
        forget_first();
    if (next_ < first_) {
        next_ = first_;
        is_cut_ = true;
    }
    wake_.cancel();
}

void event_queue::forget_first()
{
    size_ -= events_.front().size();
    events_.pop_front();
    ++first_;
}

void event_queue::tell_validity(std::string const& token)
{
    if (closed_)
        return;
    untold_.insert(token);
    wake_.cancel();
}

std::uint64_t event_queue::attach(std::uint64_t last_seen)
{
    opened_ = clock::now();
    untold_.clear();
    is_cut_ = false;
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
        auto const [ec] = co_await wake_.async_wait(runtime::as_result);
        is_late = !ec;
        if (!is_current(stream))
            co_return std::nullopt;
    }
    if (is_cut_)
        co_return std::nullopt;
    std::string text;
    for (; next_ < first_ + events_.size() && text.size() < piece_bytes; ++next_)
        text += "id: " + id_ + '.' + std::to_string(next_) + '\n' + text_of(events_[next_ - first_]);
    while (!untold_.empty() && text.size() < piece_bytes) {
        if (auto const l = lock_of_(untold_.extract(untold_.begin()).value()))
            text += text_of({"valid", boost::json::serialize(l->data), l->valid_until});
    }
    while (events_.size() > (keeps_sent_ ? sent_events_max : 0) && first_ < next_)
        forget_first();
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
    auto text = "event: " + e.name + "\ndata: " + e.data;
    if (e.valid_until) {
        auto const from_opening = std::chrono::floor<std::chrono::milliseconds>(*e.valid_until - opened_);
        auto const until = std::max<std::int64_t>(from_opening.count() * (clock_rate - 1) / clock_rate, 0);
        text.pop_back();  // the brace
        text += R"(,"valid_for_ms":)" + std::to_string(left_until(*e.valid_until).count()) + R"(,"valid_until_ms":)"
                + std::to_string(until) + '}';
    }
    return text + "\n\n";
}

}  // namespace redlock::serve
