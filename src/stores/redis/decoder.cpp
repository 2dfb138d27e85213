#include "stores/redis/decoder.hpp"

#include "core/fencing.hpp"
#include "core/handovers.hpp"
#include "core/told_time.hpp"
#include "net/secrets.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <locale>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <version>

namespace redlock::stores::redis {

namespace {

using redlock::stores::redis::resp::type;

node_reply unexpected() { return {.error = errc::unexpected_reply, .text = "the answer has an unexpected shape"}; }

node_reply decided(bool granted) { return {.vote = granted ? vote::granted : vote::denied}; }

template <class T>
bool read_number(std::string_view digits, T& to)
{
    auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return ec == std::errc() && end == digits.data() + digits.size();
}

#if !defined(__cpp_lib_to_chars)  // libc++ before 20 has no from_chars for floating-point numbers
bool read_number(std::string_view digits, double& to)
{
    std::istringstream in{std::string(digits)};
    in.imbue(std::locale::classic());
    return (in >> std::noskipws >> to) && in.eof();
}
#endif

node_reply decode_set(reply const& r)
{
    if (r.type == resp::type::null)
        return decided(false);
    return r.type == resp::type::simple_string && r.text == "OK" ? decided(true) : unexpected();
}

// `SET … GET` answers with the previous value.
node_reply decode_set_get(reply const& r)
{
    if (r.type == resp::type::blob_string)
        return decided(false);
    return r.type == resp::type::null ? decided(true) : unexpected();
}

// A number from @p first to @p last, without leading zeros. Nothing: the reply is something else.
std::optional<std::uint32_t> number_in(reply const& r, std::uint32_t first, std::size_t last)
{
    std::uint32_t n = 0;
    bool const is_padded = r.text.size() > 1 && r.text.front() == '0';
    bool const is_one = r.type == resp::type::number && !is_padded && read_number(r.text, n) && n >= first && n <= last;
    return is_one ? std::optional(n) : std::nullopt;
}

node_reply grant(bool wanted)
{
    auto result = decided(true);
    result.wanted = wanted;
    return result;
}

// Reads two elements from @p at on: the times to live of the lock and of its hand-overs.
std::optional<taken_key> read_taken(reply const& r, std::size_t at, std::uint32_t index = 0)
{
    long long lock = 0, handovers = 0;
    if (!read_number(r.elements[at], lock) || !read_number(r.elements[at + 1], handovers))
        return std::nullopt;
    bool const handed_on = handovers >= 0;
    auto const left = handed_on && (lock < 0 || handovers < lock) ? handovers : lock;
    return taken_key{index, core::told_time<std::chrono::milliseconds>(left), handed_on};
}

bool is_array_of(reply const& r, std::size_t size) { return r.type == resp::type::array && r.elements.size() == size; }

node_reply decode_taken(reply const& r)
{
    auto const taken = read_taken(r, 0);
    if (!taken)
        return unexpected();
    auto result = decided(false);
    result.handed_on = taken->handed_on;
    result.remaining = taken->remaining;
    return result;
}

node_reply decode_contention(reply const& r)
{
    if (auto const n = number_in(r, 1, 2))
        return grant(*n == 2);
    if (!is_array_of(r, 3) && !is_array_of(r, 4))
        return is_array_of(r, 2) ? decode_taken(r) : unexpected();
    auto result = decode_taken(r);
    if (result.vote != vote::denied)
        return result;
    result.text = r.elements[2];
    if (r.elements.size() == 4 && (!read_number(r.elements[3], result.ahead) || result.ahead > core::line_front))
        return unexpected();
    result.stands_by = result.ahead >= core::line_front;
    return result;
}

node_reply decode_counter(reply const& r, resp::type expected)
{
    double counter = 0;  // servers may write it with an exponent, and scripts as text
    if (r.type != expected || !read_number(r.text, counter))
        return unexpected();
    if (!(counter >= 1 && counter < static_cast<double>(core::fence_end)))
        return {.error = errc::unexpected_reply,
                .text = "the fencing counter of this lock is " + net::presentable(r.text)
                        + " there, and must be below 2^53: another program has written it"};
    auto result = decided(true);
    result.fence = static_cast<std::uint64_t>(counter);
    return static_cast<double>(result.fence) == counter ? result : unexpected();
}

node_reply decode_contention_for_several(node_command const& c, reply const& r)
{
    if (auto const n = number_in(r, 1, 4)) {
        auto result = grant(*n % 2 == 0);
        result.fence = *n >= 3 ? c.fence() : 0;
        result.ours = c.grows() ? static_cast<std::uint32_t>(c.keys.size()) : 0;
        return result;
    }
    auto result = decided(false);
    if (r.type != resp::type::array || r.elements.size() % 3 != 1 || !read_number(r.elements[0], result.ours))
        return unexpected();
    for (std::size_t i = 1; i < r.elements.size(); i += 3) {
        std::uint32_t index = 0;
        auto const taken = read_number(r.elements[i], index) ? read_taken(r, i + 1, index) : std::nullopt;
        if (!taken)
            return unexpected();
        result.taken.push_back(*taken);
    }
    return result;
}

node_reply decode_choice(node_command const& c, reply const& r)
{
    if (auto const n = number_in(r, 0, 4 * c.keys.size() - 1)) {
        auto result = grant(*n % 2 != 0);
        result.chosen = *n / 4;
        result.fence = *n % 4 >= 2 ? c.fence() : 0;
        return result;
    }
    auto result = decided(false);
    if (!is_array_of(r, 2 * c.keys.size()))
        return unexpected();
    for (std::uint32_t i = 0; i < c.keys.size(); ++i) {
        auto const taken = read_taken(r, 2 * i, i);
        if (!taken)
            return unexpected();
        result.taken.push_back(*taken);
    }
    return result;
}

node_reply decode_yes_or_no(reply const& r)
{
    auto const n = number_in(r, 0, 1);
    return n ? decided(*n == 1) : unexpected();
}

node_reply decode_for_several(node_command const& c, reply const& r)
{
    switch (c.which()) {
    case node_command::kind::acquire: {
        if (c.wants_any())
            return decode_choice(c, r);
        if (c.contends())
            return decode_contention_for_several(c, r);
        auto const n = number_in(r, 0, 2);
        auto result = n ? decided(*n > 0) : unexpected();
        result.fence = n == 2u ? c.fence() : 0;
        return result;
    }
    case node_command::kind::raise:
        return decode_counter(r, resp::type::blob_string);
    case node_command::kind::extend: {
        auto const n = number_in(r, 0, c.heals() ? 2 : 1);
        auto result = n ? decided(*n == 1) : unexpected();
        result.healed = n == 2u;
        return result;
    }
    case node_command::kind::replace:
        return decode_yes_or_no(r);
    case node_command::kind::release: {
        auto const n = number_in(r, 0, c.keys.size());
        auto result = n ? decided(*n == c.keys.size()) : unexpected();
        result.ours = n.value_or(0);
        return result;
    }
    default:
        break;
    }
    return unexpected();
}

// The lock is set, even if the proposal failed. So an error here never means that the server changed nothing.
node_reply decode_proposal(node_command const& c, node_reply granted, reply const& r, std::string_view password)
{
    if (r.is_error()) {
        auto result = decode_error(r.text, {password, c.value});
        result.untouched = false;
        return result;
    }
    auto const raised = number_in(r, 0, 1);
    if (!raised)
        return unexpected();
    granted.fence = *raised == 1 ? c.fence() : 0;
    return granted;
}

// The client is on the list of readers, even if reading the counter failed. So an error here never means that the
// server changed nothing.
node_reply decode_reading(node_command const& c, node_reply granted, reply const& counter, std::string_view password)
{
    if (counter.type == resp::type::null)
        return granted;
    auto read = counter.is_error() ? decode_error(counter.text, {password, c.value})
                                   : decode_counter(counter, resp::type::real);
    read.untouched = false;
    read.wanted = granted.wanted;
    return read;
}

// In both cases (0 and 1) the counter is at least as high as the proposal now.
node_reply decode_minimum(node_command const& c, reply const& r)
{
    auto result = number_in(r, 0, 1) ? decided(true) : unexpected();
    result.fence = result.vote == vote::granted ? c.fence() : 0;
    return result;
}

node_reply decode_share(node_command const& c, reply const& r)
{
    if (auto const n = number_in(r, 1, 2))
        return grant(*n == 2);
    bool const has_value = is_array_of(r, 4);
    auto result = has_value || is_array_of(r, 3) ? decode_taken(r) : unexpected();
    if (result.vote != vote::denied)
        return result;
    result.behind_writer = r.elements[2] == "1";
    if (has_value && c.contends())
        result.text = r.elements[3];
    return result;
}

// An array means that there are other readers; 0 means that the lock is not ours any more.
node_reply decode_upgrade(reply const& r)
{
    long long left = 0;
    if (!is_array_of(r, 1) || !read_number(r.elements[0], left))
        return decode_yes_or_no(r);
    auto result = decided(false);
    result.ours = 1;
    result.remaining = core::told_time<std::chrono::milliseconds>(left);
    return result;
}

// The note in a client's wish to hold the lock exclusively. The wish is `1` and the note. For a client in line, two
// times follow, each behind a control character.
std::string note_in(std::string_view wish)
{
    if (!wish.starts_with('1'))
        return {};
    auto const until = wish.rfind('\x1f');
    auto const since = until == wish.npos ? until : wish.rfind('\x1f', until - 1);
    return std::string(wish.substr(1, since == wish.npos ? since : since - 1));
}

// Reads pairs of elements from the fifth on: first the waiting clients, then the readers. Null: the reply is something
// else.
std::shared_ptr<key_details const> read_details(reply const& r)
{
    constexpr std::size_t head = 4;
    long long waiters = 0, readers = 0;
    if (!read_number(r.elements[2], waiters) || !read_number(r.elements[3], readers) || waiters < -1 || readers < -1)
        return nullptr;
    auto const pairs = (r.elements.size() - head) / 2;
    auto const first_reader = static_cast<std::size_t>(std::max(waiters, 0LL));
    if (r.elements.size() % 2 != 0 || first_reader > pairs
        || pairs - first_reader != static_cast<std::size_t>(std::max(readers, 0LL)))
        return nullptr;
    key_details all;
    all.knows_waiters = waiters >= 0;
    all.knows_readers = readers >= 0;
    for (std::size_t i = 0; i < pairs; ++i) {
        auto const& name = r.elements[head + 2 * i];
        auto const& about = r.elements[head + 2 * i + 1];
        long long remaining = 0;
        if (i < first_reader)
            all.waiters.push_back({name, note_in(about), about == "r"});
        else if (read_number(about, remaining))
            all.readers.push_back({name, core::told_time<std::chrono::milliseconds>(remaining)});
        else
            return nullptr;
    }
    return std::make_shared<key_details const>(std::move(all));
}

node_reply decode_inspection(reply const& r)
{
    constexpr long long is_free = -2;
    long long remaining = 0;
    if (r.type != resp::type::array || r.elements.size() < 4 || !read_number(r.elements[1], remaining))
        return unexpected();
    auto details = read_details(r);
    if (!details)
        return unexpected();
    auto result = decided(remaining != is_free);
    result.details = std::move(details);
    if (remaining == is_free)
        return result;
    result.text = r.elements[0];
    result.remaining = core::told_time<std::chrono::milliseconds>(remaining);
    return result;
}

node_reply decode_scan(reply const& r)
{
    long long keys = 0;
    if (r.type != resp::type::array || r.elements.size() < 2 || !read_number(r.elements[1], keys)
        || r.elements.size() != static_cast<std::size_t>(keys) + 2)  // a connection keeps only some of many elements
        return unexpected();
    auto result = decided(true);
    if (r.elements[0] != "0")
        result.text = r.elements[0];
    auto details = std::make_shared<key_details>();
    details->keys.assign(r.elements.begin() + 2, r.elements.end());
    result.details = std::move(details);
    return result;
}

}  // namespace

node_reply decode(node_command const& c, std::span<reply const> replies, std::string_view password, bool checks_type)
{
    auto const& r = replies.front();
    if (r.is_error()) {
        auto refusal = decode_error(r.text, {password, c.value});
        // A key that is not a string does not hold our value.
        using kind = node_command::kind;
        bool const compares = c.prolongs() || c.which() == kind::release || c.which() == kind::downgrade;
        return compares && refusal.error == errc::wrong_type ? decided(false) : refusal;
    }
    if (c.which() == node_command::kind::withdraw)
        return r.type == resp::type::number ? decided(true) : unexpected();
    if (c.has_several_keys())
        return decode_for_several(c, r);
    switch (c.which()) {
    case node_command::kind::acquire: {
        if (c.is_shared()) {
            auto result = decode_share(c, r);
            return result.vote == vote::granted && c.fence() != 0
                       ? decode_reading(c, std::move(result), replies.back(), password)
                       : result;
        }
        auto result = c.contends() ? decode_contention(r) : checks_type ? decode_set_get(r) : decode_set(r);
        return result.vote == vote::granted && c.fence() != 0
                   ? decode_proposal(c, std::move(result), replies.back(), password)
                   : result;
    }
    case node_command::kind::raise:
        if (c.is_shared())
            return decode_minimum(c, r);
        return replies.back().is_error() ? decode_error(replies.back().text, {password, c.value})
                                         : decode_counter(replies.back(), resp::type::real);
    case node_command::kind::extend:
        if ((c.heals() || c.as<commands::extend>().alone) && number_in(r, 2, 2)) {
            auto result = decided(false);
            result.healed = c.heals() && !c.as<commands::extend>().alone;  // an upgraded lock is only shared there
            return result;
        }
        [[fallthrough]];
    case node_command::kind::replace:
    case node_command::kind::release:
    case node_command::kind::downgrade:
        return decode_yes_or_no(r);
    case node_command::kind::upgrade: {
        auto result = decode_upgrade(r);
        return result.vote == vote::granted && c.fence() != 0
                   ? decode_proposal(c, std::move(result), replies.back(), password)
                   : result;
    }
    case node_command::kind::inspect:
        return decode_inspection(r);
    case node_command::kind::scan:
        return decode_scan(r);
    case node_command::kind::connect:
    case node_command::kind::found:
    case node_command::kind::withdraw:
        break;
    }
    return unexpected();
}

}  // namespace redlock::stores::redis
