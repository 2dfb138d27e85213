#include "core/key.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace redlock::core {

namespace {

constexpr std::size_t random_digits = 32;

constexpr char separator = '\x1f';
constexpr std::string_view since_word = "\x1fsince=";
constexpr std::size_t contender_max = 255;  // a column of MySQL

constexpr bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

constexpr bool is_digit(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::array<char, 16> in_hex(std::uint64_t bits) noexcept
{
    std::array<char, 16> digits;
    for (auto d = digits.rbegin(); d != digits.rend(); ++d, bits >>= 4)
        *d = "0123456789abcdef"[bits & 15];
    return digits;
}

std::string make_token(std::uint64_t high, std::uint64_t low, holder const& by)
{
    std::array<char, 20> since;
    auto const end = std::to_chars(since.data(), since.data() + since.size(), by.since).ptr;
    std::string token;
    token.reserve(random_digits + 1 + by.owner.size() + since_word.size() + since.size() + 1 + by.note.size());
    for (auto const bits : {high, low}) {
        auto const digits = in_hex(bits);
        token.append(digits.data(), digits.size());
    }
    token += ':';
    token += by.owner;
    token += since_word;
    token.append(since.data(), end);
    token += separator;
    token += by.note;
    return token;
}

bool is_token(std::string_view value) noexcept
{
    auto const digits = value.substr(0, random_digits);
    return value.size() > random_digits && value[random_digits] == ':'
           && std::all_of(digits.begin(), digits.end(), is_digit);
}

holder holder_in(std::string_view token) noexcept
{
    if (!is_token(token))
        return {};
    auto const text = token.substr(random_digits + 1);
    auto const note = text.rfind(separator);
    auto const since = note == text.npos || note == 0 ? text.npos : text.rfind(separator, note - 1);
    if (since == text.npos || !text.substr(since).starts_with(since_word))
        return {.owner = text};
    holder by{.owner = text.substr(0, since), .note = text.substr(note + 1)};
    auto const [end, ec] = std::from_chars(text.data() + since + since_word.size(), text.data() + note, by.since);
    return ec == std::errc() && end == text.data() + note ? by : holder{.owner = text};
}

std::string_view owner_in(std::string_view token) noexcept { return holder_in(token).owner; }

std::string make_contender(std::uint64_t id, std::string_view owner)
{
    auto const digits = in_hex(id);
    auto size = std::min(owner.size(), contender_max - digits.size() - 1);
    while (size < owner.size() && size > 0 && is_continuation(owner[size]))
        --size;  // does not cut a character
    return std::string(digits.data(), digits.size()).append(":").append(owner.substr(0, size));
}

std::string_view owner_of_contender(std::string_view contender) noexcept
{
    constexpr std::size_t digits = 16;
    return contender.size() > digits && contender[digits] == ':' ? contender.substr(digits + 1) : std::string_view();
}

namespace {

// A cluster hashes the text between the first braces, if there is any, or else the whole key.
bool has_hash_tag(std::string_view key) noexcept
{
    auto const open = key.find('{');
    if (open == key.npos)
        return false;
    auto const close = key.find('}', open);
    return close != key.npos && close != open + 1;
}

constexpr std::string_view fence_mark = ":=fence", tombstone_mark = ":=gone", wanted_mark = ":=wanted",
                           handovers_mark = ":=turn", readers_mark = ":=shared", upgrade_mark = ":=upgrade",
                           session_mark = ":=session", record_mark = ":=record", settings_mark = ":=clients",
                           marks_of_0_1[] = {":=tenure", ":=life", ":=settings"};

// The text before the mark is the lock's key, so two locks never share such a key. The tag after it puts the key into
// the slot of the lock's key.
void put(std::string& to, std::string_view key, std::string_view mark)
{
    to.assign(key).append(mark);
    if (!has_hash_tag(key))
        to.append(":{").append(key).append("}");
}

}  // namespace

std::string_view mark_in(std::string_view key) noexcept
{
    std::string_view first;
    auto at = key.npos;
    for (auto const mark :
         {fence_mark, tombstone_mark, wanted_mark, handovers_mark, readers_mark, upgrade_mark, session_mark,
          record_mark, settings_mark, marks_of_0_1[0], marks_of_0_1[1], marks_of_0_1[2]}) {
        if (auto const here = key.find(mark); here < at) {
            first = mark;
            at = here;
        }
    }
    return first;
}

void put_fence_key(std::string& to, std::string_view key) { put(to, key, fence_mark); }

std::string fence_key(std::string_view key)
{
    std::string k;
    put_fence_key(k, key);
    return k;
}

void put_tombstone_key(std::string& to, std::string_view key, std::string_view token)
{
    put(to, key, tombstone_mark);
    to.append(":").append(token);
}

std::string tombstone_key(std::string_view key, std::string_view token)
{
    std::string k;
    put_tombstone_key(k, key, token);
    return k;
}

void put_wanted_key(std::string& to, std::string_view key) { put(to, key, wanted_mark); }

std::string wanted_key(std::string_view key)
{
    std::string k;
    put_wanted_key(k, key);
    return k;
}

std::string place_key(std::string_view key, std::string_view contender)
{
    return wanted_key(key).append(":").append(contender);
}

void put_handovers_key(std::string& to, std::string_view key) { put(to, key, handovers_mark); }

std::string handovers_key(std::string_view key)
{
    std::string k;
    put_handovers_key(k, key);
    return k;
}

void put_readers_key(std::string& to, std::string_view key) { put(to, key, readers_mark); }

std::string readers_key(std::string_view key)
{
    std::string k;
    put_readers_key(k, key);
    return k;
}

std::string upgrade_key(std::string_view key)
{
    std::string k;
    put(k, key, upgrade_mark);
    return k;
}

std::string_view without_upgrade_mark(std::string_view name) noexcept
{
    return name.substr(0, name.find(upgrade_mark));
}

std::string session_key(std::string_view prefix, std::string_view session)
{
    return std::string(prefix).append(session_mark).append(":").append(session);
}

std::string record_key(std::string_view prefix) { return std::string(prefix).append(record_mark); }

std::string settings_key(std::string_view prefix) { return std::string(prefix).append(settings_mark); }

namespace {

/// A key that consists of a lock's key, a mark, and perhaps more.
struct marked {
    std::string_view lock;  ///< empty: the key is something else
    std::string_view rest;
};

marked split(std::string_view key, std::string_view mark) noexcept
{
    auto const end = key.find(mark);
    if (end == key.npos)
        return {};
    auto const lock = key.substr(0, end);
    auto const rest = key.substr(end + mark.size());
    if (has_hash_tag(lock))
        return {lock, rest};
    auto const tag = lock.size() + 3;
    bool const is_tagged = rest.starts_with(":{") && rest.size() >= tag && rest[tag - 1] == '}'
                           && rest.substr(2, lock.size()) == lock;
    return is_tagged ? marked{lock, rest.substr(tag)} : marked{};
}

// The lock's key if @p key consists of it and the mark; otherwise empty.
std::string_view lock_of(std::string_view key, std::string_view mark) noexcept
{
    auto const [lock, rest] = split(key, mark);
    return rest.empty() ? lock : std::string_view{};
}

}  // namespace

std::pair<watched, std::string_view> what_changed(std::string_view key) noexcept
{
    if (auto const lock = lock_of(key, handovers_mark); !lock.empty())
        return {watched::handovers, lock};
    if (auto const [lock, client] = split(key, wanted_mark); !lock.empty() && (client.empty() || client[0] == ':'))
        return {client.empty() ? watched::wanted : watched::place, lock};
    if (auto const lock = lock_of(key, readers_mark); !lock.empty())
        return {watched::readers, lock};
    return {watched::lock, key};
}

}  // namespace redlock::core
