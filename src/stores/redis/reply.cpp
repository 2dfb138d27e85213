#include "stores/redis/reply.hpp"

#include "core/fencing.hpp"
#include "net/secrets.hpp"

#include <charconv>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <version>

namespace redlock::redis {

namespace {

using redlock::redis::resp::type;

node_reply unexpected()
{
    return {.error = errc::unexpected_reply, .text = "the answer has an unexpected shape"};
}

node_reply decided(bool granted)
{
    return {.vote = granted ? vote::granted : vote::denied};
}

template <class T>
bool read_number(std::string_view digits, T& to)
{
    auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return ec == std::errc() && end == digits.data() + digits.size();
}

#if !defined(__cpp_lib_to_chars)  // libc++ before 20 reads no real numbers with from_chars
bool read_number(std::string_view digits, double& to)
{
    std::istringstream in{std::string(digits)};
    in.imbue(std::locale::classic());
    return (in >> std::noskipws >> to) && in.eof();
}
#endif

node_reply interpret_set(reply const& r)
{
    if (r.type == type::null)
        return decided(false);
    return r.type == type::simple_string && r.text == "OK" ? decided(true) : unexpected();
}

// It answers with what was there before.
node_reply interpret_set_get(reply const& r)
{
    if (r.type == type::blob_string)
        return decided(false);
    return r.type == type::null ? decided(true) : unexpected();
}

std::chrono::milliseconds time_to_wait(long long lock, long long handovers)
{
    return std::chrono::milliseconds(handovers >= 0 && (lock < 0 || handovers < lock) ? handovers : lock);
}

node_reply interpret_contention(reply const& r)
{
    if (r.type == type::number && (r.text == "1" || r.text == "2")) {
        auto result = decided(true);
        result.wanted = r.text == "2";
        return result;
    }
    long long lock = 0, handovers = 0;
    if (r.type != type::array || r.elements.size() != 2 || !read_number(r.elements[0], lock) || !read_number(r.elements[1], handovers))
        return unexpected();
    auto result = decided(false);
    result.handed_on = handovers >= 0;
    result.remaining = time_to_wait(lock, handovers);
    return result;
}

node_reply interpret_counter(reply const& r, type expected)
{
    double counter = 0;  // servers may write it with an exponent, and scripts as text
    if (r.type != expected || !read_number(r.text, counter))
        return unexpected();
    if (!(counter >= 1 && counter < static_cast<double>(core::fence_end)))
        return {.error = errc::unexpected_reply, .text = "the fencing counter of this lock is " + presentable(r.text)
                                                          + " there, and must be below 2^53: another program has written it"};
    auto result = decided(true);
    result.fence = static_cast<std::uint64_t>(counter);
    return static_cast<double>(result.fence) == counter ? result : unexpected();
}

node_reply interpret_contention_for_several(node_command const& c, reply const& r)
{
    if (r.type == type::number && r.text.size() == 1 && r.text >= "1" && r.text <= "4") {
        auto result = decided(true);
        result.wanted = r.text == "2" || r.text == "4";
        result.fence = r.text >= "3" ? c.fence : 0;
        result.ours = c.grows ? static_cast<std::uint32_t>(c.keys.size()) : 0;
        return result;
    }
    auto result = decided(false);
    if (r.type != type::array || r.elements.size() % 3 != 1 || !read_number(r.elements[0], result.ours))
        return unexpected();
    for (std::size_t i = 1; i < r.elements.size(); i += 3) {
        std::uint32_t index = 0;
        long long lock = 0, handovers = 0;
        if (!read_number(r.elements[i], index) || !read_number(r.elements[i + 1], lock) || !read_number(r.elements[i + 2], handovers))
            return unexpected();
        result.taken.push_back({index, time_to_wait(lock, handovers), handovers >= 0});
    }
    return result;
}

node_reply interpret_choice(node_command const& c, reply const& r)
{
    std::uint32_t n = 0;
    if (r.type == type::number && read_number(r.text, n) && n < 4 * c.keys.size()) {
        auto result = decided(true);
        result.chosen = n / 4;
        result.wanted = n % 2 != 0;
        result.fence = n % 4 >= 2 ? c.fence : 0;
        return result;
    }
    auto result = decided(false);
    if (r.type != type::array || r.elements.size() != 2 * c.keys.size())
        return unexpected();
    for (std::uint32_t i = 0; i < c.keys.size(); ++i) {
        long long lock = 0, handovers = 0;
        if (!read_number(r.elements[2 * i], lock) || !read_number(r.elements[2 * i + 1], handovers))
            return unexpected();
        result.taken.push_back({i, time_to_wait(lock, handovers), handovers >= 0});
    }
    return result;
}

node_reply interpret_for_several(node_command const& c, reply const& r)
{
    auto const number = [&](std::uint32_t last) {
        std::uint32_t n = 0;
        return r.type == type::number && read_number(r.text, n) && n <= last ? std::optional(n) : std::nullopt;
    };
    switch (c.what) {
    case node_command::kind::acquire: {
        if (c.any)
            return interpret_choice(c, r);
        if (c.contends())
            return interpret_contention_for_several(c, r);
        auto const n = number(2);
        auto result = n ? decided(*n > 0) : unexpected();
        result.fence = n == 2u ? c.fence : 0;
        return result;
    }
    case node_command::kind::raise:
        return interpret_counter(r, type::blob_string);
    case node_command::kind::extend: {
        auto const n = number(c.heal ? 2 : 1);
        auto result = n ? decided(*n == 1) : unexpected();
        result.healed = n == 2u;
        return result;
    }
    case node_command::kind::release: {
        auto const n = number(static_cast<std::uint32_t>(c.keys.size()));
        auto result = n ? decided(*n == c.keys.size()) : unexpected();
        result.ours = n.value_or(0);
        return result;
    }
    case node_command::kind::inspect:
    case node_command::kind::connect:
    case node_command::kind::upgrade:
    case node_command::kind::downgrade:
    case node_command::kind::withdraw:
        break;
    }
    return unexpected();
}

// The key is set by now, whatever became of the proposal.
node_reply interpret_proposal(node_command const& c, node_reply granted, reply const& r, std::string_view password)
{
    if (r.is_error()) {
        auto result = interpret_error(r.text, {password, c.value});
        result.untouched = false;
        return result;
    }
    if (r.type != type::number || (r.text != "1" && r.text != "0"))
        return unexpected();
    granted.fence = r.text == "1" ? c.fence : 0;
    return granted;
}

// The list of who shares it has been entered by now, whatever the counter says.
node_reply interpret_reading(node_command const& c, node_reply granted, reply const& counter, std::string_view password)
{
    if (counter.type == type::null)
        return granted;
    auto read = counter.is_error() ? interpret_error(counter.text, {password, c.value}) : interpret_counter(counter, type::real);
    read.untouched = false;
    read.wanted = granted.wanted;
    return read;
}

// The counter is that high now, or was before.
node_reply interpret_minimum(node_command const& c, reply const& r)
{
    if (r.type != type::number || (r.text != "1" && r.text != "0"))
        return unexpected();
    auto result = decided(true);
    result.fence = c.fence;
    return result;
}

node_reply interpret_share(reply const& r)
{
    if (r.type == type::number && (r.text == "1" || r.text == "2")) {
        auto result = decided(true);
        result.wanted = r.text == "2";
        return result;
    }
    long long left = 0, handovers = 0;
    if (r.type != type::array || r.elements.size() != 3 || !read_number(r.elements[0], left) || !read_number(r.elements[1], handovers))
        return unexpected();
    auto result = decided(false);
    result.behind_writer = r.elements[2] == "1";
    result.handed_on = handovers >= 0;
    result.remaining = time_to_wait(left, handovers);
    return result;
}

// Others share it, too, or it is not ours any more.
node_reply interpret_upgrade(reply const& r)
{
    long long left = 0;
    if (r.type == type::number && (r.text == "1" || r.text == "0"))
        return decided(r.text == "1");
    if (r.type != type::array || r.elements.size() != 1 || !read_number(r.elements[0], left))
        return unexpected();
    auto result = decided(false);
    result.ours = 1;
    result.remaining = std::chrono::milliseconds(left);
    return result;
}

node_reply interpret_inspection(reply const& r)
{
    if (r.type == type::null)
        return decided(false);
    if (r.type != type::array || r.elements.size() != 2)
        return unexpected();
    long long remaining = 0;
    if (!read_number(r.elements[1], remaining))
        return unexpected();
    auto result = decided(true);
    result.text = r.elements[0];
    result.remaining = std::chrono::milliseconds(remaining);
    return result;
}

}  // namespace

std::string_view value_after(std::string_view text, std::string_view label, std::string_view end)
{
    auto const begin = text.find(label);
    if (begin == std::string_view::npos)
        return {};
    auto const rest = text.substr(begin + label.size());
    return rest.substr(0, rest.find_first_of(end));
}

node_reply interpret(node_command const& c, std::span<reply const> replies, std::string_view password, bool checks_type)
{
    auto const& r = replies.front();
    if (r.is_error()) {
        auto refusal = interpret_error(r.text, {password, c.value});
        // What is no string is not our value.
        using kind = node_command::kind;
        bool const compares = c.what == kind::extend || c.what == kind::release || c.what == kind::upgrade || c.what == kind::downgrade;
        return compares && refusal.error == errc::wrong_type ? decided(false) : refusal;
    }
    if (c.what == node_command::kind::withdraw)
        return r.type == type::number ? decided(true) : unexpected();
    if (c.has_several_keys())
        return interpret_for_several(c, r);
    switch (c.what) {
    case node_command::kind::acquire: {
        if (c.is_shared()) {
            auto result = interpret_share(r);
            return result.vote == vote::granted && c.fence != 0 ? interpret_reading(c, std::move(result), replies.back(), password) : result;
        }
        auto result = c.contends() ? interpret_contention(r) : checks_type ? interpret_set_get(r) : interpret_set(r);
        return result.vote == vote::granted && c.fence != 0 ? interpret_proposal(c, std::move(result), replies.back(), password)
                                                            : result;
    }
    case node_command::kind::raise:
        if (c.is_shared())
            return interpret_minimum(c, r);
        return replies.back().is_error() ? interpret_error(replies.back().text, {password, c.value}) : interpret_counter(replies.back(), type::real);
    case node_command::kind::extend:
        if ((c.heal || c.alone) && r.type == type::number && r.text == "2") {
            auto result = decided(false);
            result.healed = c.heal && !c.alone;  // or it only reads there
            return result;
        }
        [[fallthrough]];
    case node_command::kind::release:
    case node_command::kind::downgrade:
        if (r.type == type::number && (r.text == "1" || r.text == "0"))
            return decided(r.text == "1");
        return unexpected();
    case node_command::kind::upgrade: {
        auto result = interpret_upgrade(r);
        return result.vote == vote::granted && c.fence != 0 ? interpret_proposal(c, std::move(result), replies.back(), password) : result;
    }
    case node_command::kind::inspect:
        return interpret_inspection(r);
    case node_command::kind::connect:
    case node_command::kind::withdraw:
        break;
    }
    return unexpected();
}

}  // namespace redlock::redis
