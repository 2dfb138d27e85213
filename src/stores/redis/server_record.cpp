#include "stores/redis/server_record.hpp"

#include "stores/redis/decoder.hpp"
#include "core/key.hpp"
#include "core/told_time.hpp"
#include "net/url_text.hpp"
#include "stores/redis/scripts.hpp"
#include "stores/redis/shared_settings.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

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
    return core::told_time<std::chrono::milliseconds>(n);
}

// Reads "0-5460:0 5461-5461:90000".
bool read_ranges(std::string_view text, std::vector<server_record::range>& slots)
{
    while (!text.empty()) {
        auto token = net::take(text, " ");
        auto const first = net::to_number(net::take(token, "-"), 0, slot_count - 1);
        auto const last = net::to_number(net::take(token, ":"), 0, slot_count - 1);
        auto const since = milliseconds_of(token);
        if (!first || !last || !since)
            return false;
        slots.push_back({static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last), *since});
    }
    return true;
}

}  // namespace

log_policy read_log_policy(reply const& answer)
{
    if (answer.is_error())
        return log_policy::unknown;
    auto const& all = answer.elements;
    bool const synced = value_of(all, "appendfsync") == "always" && value_of(all, "no-appendfsync-on-rewrite") == "no";
    return synced ? log_policy::synced : log_policy::not_synced;
}

record_question::record_question(net::url const& server, manager_options const& c)
    : is_member_(server.topology == net::topology::member),
      prefix_(c.prefix),
      holds_(std::to_string(c.max_ttl.count())),
      settings_(c.record ? shared_settings(c) : std::string())
{
    move_to(server.tag);
}

void record_question::move_to(std::string_view tag)
{
    key_ = core::record_key(prefix_).append(tag);
    settings_key_ = core::settings_key(prefix_).append(tag);
}

void record_question::ask(redis::request& r, details const& d) const
{
    std::string_view const policy = d.policy == log_policy::unknown ? "" : d.policy == log_policy::synced ? "1" : "0";
    auto const ask = [&](auto const&... more) {
        r.push("EVALSHA", record_script.sha1, 2, key_, settings_key_, record_kept, d.word, policy, holds_, d.verdict,
               settings_, more...);
    };
    if (is_member_)
        ask('c' + (d.vouched ? ranges_of(*d.vouched) : std::string()));
    else
        ask();
}

node_reply record_question::read(reply const& answer, std::string_view secret, server_record& record) const
{
    if (answer.is_error())
        return decode_error(answer.text, {secret});
    if (answer.type == resp::type::null)
        return {.error = errc::unsupported_server,
                .text = "it hides its run_id (INFO server), so nobody can tell whether it has restarted; locks need "
                        "a server that shows it"};
    auto const& words = answer.elements;
    auto const age = words.size() < 6 ? std::nullopt : milliseconds_of(words[2]);
    auto const wait = words.size() < 6 ? std::nullopt : milliseconds_of(words[3]);
    if (!age || !wait || words[0].empty() || words[1].size() != 1 || !read_ranges(words[4], record.slots))
        return {.error = errc::unexpected_reply, .text = "its answer about its record is not understood"};
    record.memory = {.word = words[0],
                     .began = static_cast<core::beginning>(words[1].front()),
                     .age = *age,
                     .wait = *wait,
                     .lives = words[5]};
    record.other_settings.assign(words.begin() + 6, words.end());
    return {};
}

// The first figure for a slot counts: the server's clock may stop or jump later.
void slot_times::told(server_record const& r, clock::duration wait, clock::time_point now)
{
    auto const earlier = std::exchange(young_, {});
    has_.reset();
    for (auto const& s : r.slots) {
        for (auto slot = s.first; slot <= s.last; ++slot)
            has_.set(slot);
        if (s.since.count() == 0)  // as old as the word
            continue;
        auto const known = std::ranges::find(earlier, s.since, &young::since);
        auto const came = now - std::max(r.memory.age - s.since, std::chrono::milliseconds(0));
        young_.push_back({s.first, s.last, s.since, known == earlier.end() ? came + wait : known->votes_from});
    }
}

std::optional<clock::time_point> slot_times::votes_from(std::uint16_t slot) const
{
    if (!has_[slot])
        return std::nullopt;
    auto from = clock::time_point::min();
    for (auto const& y : young_) {
        if (y.first <= slot && slot <= y.last)
            from = std::max(from, y.votes_from);
    }
    return from;
}

clock::time_point slot_times::all_vote_from() const
{
    auto from = clock::time_point::min();
    for (auto const& y : young_)
        from = std::max(from, y.votes_from);
    return from;
}

}  // namespace redlock::stores::redis
