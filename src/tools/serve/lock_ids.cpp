#include "tools/serve/lock_ids.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace redlock::serve {

namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr char version = '1';
constexpr std::size_t signature_size = 16;  // bytes

constexpr unsigned char no_digit = 64;

// By character.
constexpr auto values = [] {
    std::array<unsigned char, 256> all{};
    all.fill(no_digit);
    for (std::size_t i = 0; i < digits.size(); ++i)
        all[static_cast<unsigned char>(digits[i])] = static_cast<unsigned char>(i);
    return all;
}();

// Appends base64 for URLs (RFC 4648, section 5), without padding.
void put_base64url(std::string& to, std::string_view bytes)
{
    auto at = to.size();
    to.resize(at + (bytes.size() * 4 + 2) / 3);
    std::uint32_t bits = 0;
    int count = 0;
    for (unsigned char const c : bytes) {
        bits = bits << 8 | c;
        for (count += 8; count >= 6; count -= 6)
            to[at++] = digits[bits >> (count - 6) & 63];
    }
    if (count > 0)
        to[at] = digits[bits << (6 - count) & 63];
}

std::optional<std::string> from_base64url(std::string_view text)
{
    std::string bytes(text.size() * 3 / 4, '\0');
    std::size_t at = 0;
    std::uint32_t bits = 0;
    int count = 0;
    for (unsigned char const c : text) {
        if (values[c] == no_digit)
            return std::nullopt;
        bits = bits << 6 | values[c];
        if ((count += 6) >= 8) {
            count -= 8;
            bytes[at++] = static_cast<char>(bits >> count & 255);
        }
    }
    return bytes;
}

// A number, a colon, and as many bytes.
void put(std::string& to, std::string_view part) { to.append(std::to_string(part.size())).append(":").append(part); }

std::optional<std::string_view> take(std::string_view& from)
{
    std::size_t size = 0;
    auto const [end, ec] = std::from_chars(from.data(), from.data() + from.size(), size);
    auto const read = static_cast<std::size_t>(end - from.data());
    if (ec != std::errc() || read == from.size() || *end != ':' || size > from.size() - read - 1)
        return std::nullopt;
    auto const part = from.substr(read + 1, size);
    from.remove_prefix(read + 1 + size);
    return part;
}

bool is_signed(keyed_hash const& key, std::string_view bytes, std::string_view signature)
{
    auto const hash = key("id", bytes);
    return is_same({reinterpret_cast<char const*>(hash.data()), signature_size}, signature);
}

}  // namespace

std::string lock_ids::id_of(lock_ticket const& t) const
{
    std::string bytes;
    bytes.reserve(256);
    bytes.assign(signature_size, '\0');
    put(bytes, t.mode == mode::shared ? "s" : "x");
    put(bytes, std::to_string(t.fencing_token));
    put(bytes, t.token);
    for (auto const& name : t.resources)
        put(bytes, name);
    auto const hash = keys_.front()("id", std::string_view(bytes).substr(signature_size));
    std::copy_n(hash.begin(), signature_size, bytes.begin());
    std::string id(1, version);
    put_base64url(id, bytes);
    return id;
}

std::optional<lock_ticket> lock_ids::ticket_of(std::string_view id) const
{
    if (!id.starts_with(version))
        return std::nullopt;
    auto const bytes = from_base64url(id.substr(1));
    if (!bytes || bytes->size() < signature_size)
        return std::nullopt;
    std::string_view rest = *bytes;
    auto const signature = rest.substr(0, signature_size);
    rest.remove_prefix(signature_size);
    if (std::ranges::none_of(keys_, [&](auto const& key) { return is_signed(key, rest, signature); }))
        return std::nullopt;
    auto const how = take(rest), fence = take(rest), token = take(rest);
    if (!token || (*how != "s" && *how != "x"))
        return std::nullopt;
    lock_ticket t{.token = std::string(*token), .mode = *how == "s" ? mode::shared : mode::exclusive};
    auto const* const end = fence->data() + fence->size();
    if (auto const read = std::from_chars(fence->data(), end, t.fencing_token);
        read.ec != std::errc() || read.ptr != end)
        return std::nullopt;
    std::vector<std::string> names;
    while (!rest.empty()) {
        auto name = take(rest);
        if (!name)
            return std::nullopt;
        names.emplace_back(*name);
    }
    if (names.empty())
        return std::nullopt;
    t.resources = resource_set(std::move(names));
    return t;
}

std::string lock_ids::etag_of(lock_ticket const& t) const { return '"' + keys_.front().digits("held", t.token) + '"'; }

std::string lock_ids::token_after_move(lock_ticket const& t, std::string_view session) const
{
    constexpr std::size_t of_request = 16, of_lock = 16;
    std::string parts;
    for (auto const part : {std::string_view(t.token), session})
        put(parts, part);
    auto token = t.token;
    return token.replace(std::min(of_request, token.size()), of_lock, keys_.front().digits("move", parts));
}

std::vector<std::uint64_t> lock_ids::requests_of(std::string_view client, std::string_view key,
                                                 std::string_view what) const
{
    std::string parts;
    for (auto const part : {client, key, what})
        put(parts, part);
    std::vector<std::uint64_t> all;
    for (auto const& k : keys_)
        all.push_back(std::max<std::uint64_t>(k.number("request", parts), 1));
    return all;
}

bool lock_ids::is_by_a_key(std::string_view purpose, std::string_view text, std::string_view tag) const
{
    return std::ranges::any_of(keys_, [&](auto const& k) { return is_same('"' + k.digits(purpose, text) + '"', tag); });
}

boost::json::object lock_ids::json_of(lock_ticket const& t, std::string_view id, boost::json::storage_ptr memory)
{
    boost::json::array names(memory);
    for (auto const& name : t.resources)
        names.emplace_back(name);
    return {{{"id", id},
             {"resources", std::move(names)},
             {"mode", t.mode == mode::shared ? "shared" : "exclusive"},
             {"fencing_token", t.fencing_token}},
            memory};
}

}  // namespace redlock::serve
