#include "stores/postgresql/parameters.hpp"

namespace redlock::pg {

namespace {

void put_32(std::string& to, std::uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        to += static_cast<char>(n >> shift & 0xff);
}

}  // namespace

void parameters::add_bytes(std::string_view bytes)
{
    values_.push_back({std::string(bytes)});
    formats_.push_back(1);
}

void parameters::add_bytes_or_null(std::string_view bytes)
{
    values_.push_back({std::string(bytes), bytes.empty()});
    formats_.push_back(1);
}

void parameters::add_number(std::int64_t n)
{
    values_.push_back({std::to_string(n)});
    formats_.push_back(0);
}

void parameters::add_switch(bool on)
{
    values_.push_back({on ? "t" : "f"});
    formats_.push_back(0);
}

// An array of bytea in the protocol's binary form: dimensions, whether nulls are in it, the type, then the dimension and each element.
void parameters::add_keys(key_view keys)
{
    constexpr std::uint32_t type_bytea = 17;
    std::string bytes;
    for (auto const n : {std::uint32_t(1), std::uint32_t(0), type_bytea, static_cast<std::uint32_t>(keys.size()), std::uint32_t(1)})
        put_32(bytes, n);
    for (auto const& k : keys) {
        put_32(bytes, static_cast<std::uint32_t>(k.size()));
        bytes += k;
    }
    add_bytes(bytes);
}

std::vector<char const*> parameters::pointers() const
{
    std::vector<char const*> all;
    for (auto const& v : values_)
        all.push_back(v.null ? nullptr : v.bytes.c_str());
    return all;
}

std::vector<int> parameters::lengths() const
{
    std::vector<int> all;
    for (auto const& v : values_)
        all.push_back(static_cast<int>(v.bytes.size()));
    return all;
}

}  // namespace redlock::pg
