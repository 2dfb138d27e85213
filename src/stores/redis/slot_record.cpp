#include "stores/redis/slot_record.hpp"

#include "core/key.hpp"
#include "net/url_text.hpp"
#include "stores/redis/scripts.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace redlock::stores::redis {

namespace {

// Writes "5-7 9-9".
std::string ranges_of(slot_set const& all)
{
    std::string text;
    for (std::size_t first = 0; first < all.size(); ++first) {
        if (!all[first])
            continue;
        auto last = first;
        while (last + 1 < all.size() && all[last + 1])
            ++last;
        text += (text.empty() ? "" : " ") + std::to_string(first) + '-' + std::to_string(last);
        first = last;
    }
    return text;
}

std::optional<std::chrono::milliseconds> milliseconds_of(std::string_view text)
{
    long long n = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return std::chrono::milliseconds(n);
}

}  // namespace

void slot_record::ask(redis::request& r, std::string_view prefix, std::string_view tag, slot_set const& vouched)
{
    auto const tenure = core::tenure_key(prefix);
    r.push("SCRIPT", "LOAD", slots_script.source);
    r.push("EVALSHA", slots_script.sha1, 2, tenure + std::string(tag), tenure + ":slots" + std::string(tag),
           tenure_kept, ranges_of(vouched));
}

node_reply slot_record::read(std::span<reply const> answers, std::string_view tag, slot_set const& vouched,
                             clock::duration wait, clock::time_point now)
{
    for (auto const& a : answers) {
        if (a.is_error())
            return interpret_error(a.text);
    }
    auto const& answer = answers.back().elements;
    auto const age = answer.size() == 2 ? milliseconds_of(answer[1]) : std::nullopt;
    slot_record fresh;
    if (!age || !fresh.take(answer[0], *age, wait, now))
        return {.error = errc::unexpected_reply, .text = "its answer about its slots is not understood"};
    fresh.tag_ = tag;
    fresh.kept_ = kept_;
    if (tag_ == tag)
        fresh.agree(*this);
    else if (!tag_.empty())
        fresh.carry_over(*this, vouched, now + wait);
    *this = std::move(fresh);
    return {};
}

// Reads "0-5460:0 5461-5461:90000".
bool slot_record::take(std::string_view ranges, std::chrono::milliseconds age, clock::duration wait,
                       clock::time_point now)
{
    while (!ranges.empty()) {
        auto token = net::take(ranges, " ");
        auto const first = net::to_number(net::take(token, "-"), 0, slot_count - 1);
        auto const last = net::to_number(net::take(token, ":"), 0, slot_count - 1);
        auto const since = milliseconds_of(token);
        if (!first || !last || !since)
            return false;
        for (auto s = *first; s <= *last; ++s)
            has_.set(static_cast<std::size_t>(s));
        if (since->count() > 0)  // slots that came at 0 are as old as the tenure
            young_.push_back({static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last), *since,
                              now - std::max(age - *since, std::chrono::milliseconds(0)) + wait});
    }
    return true;
}

// Takes the earlier of two times: if the server's clock stopped or went back, a slot seems younger than it is.
void slot_record::agree(slot_record const& earlier)
{
    for (auto& y : young_) {
        for (auto const& before : earlier.young_) {
            if (before.since == y.since)
                y.votes_from = std::min(y.votes_from, before.votes_from);
        }
    }
}

// A new record treats all slots as old. So the young slots of the earlier record stay young. Slots that the master did
// not own before are young, too, unless a manager vouches for them.
void slot_record::carry_over(slot_record const& earlier, slot_set const& vouched, clock::time_point votes_from)
{
    kept_.insert(kept_.end(), earlier.young_.begin(), earlier.young_.end());
    for (std::uint16_t s = 0; s < slot_count; ++s) {
        if (has_[s] && !earlier.has_[s] && !vouched[s])
            kept_.push_back({s, s, {}, votes_from});
    }
}

std::optional<clock::time_point> slot_record::votes_from(std::uint16_t slot) const
{
    if (!has_[slot])
        return std::nullopt;
    auto from = clock::time_point::min();
    for (auto const* const all : {&young_, &kept_}) {
        for (auto const& y : *all) {
            if (y.first <= slot && slot <= y.last)
                from = std::max(from, y.votes_from);
        }
    }
    return from;
}

clock::time_point slot_record::all_vote_from() const
{
    auto from = clock::time_point::min();
    for (auto const& y : young_)
        from = std::max(from, y.votes_from);
    return from;
}

}  // namespace redlock::stores::redis
