#include "serve/keyed_hash.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace redlock::serve {

keyed_hash::digest keyed_hash::operator()(std::string_view purpose, std::string_view text) const
{
    std::string message(purpose);
    message.append(1, '\0').append(text);
    digest hash{};
    auto const* const bytes = reinterpret_cast<unsigned char const*>(message.data());
    unsigned size = 0;
    if (!::HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), bytes, message.size(), hash.data(), &size))
        throw std::bad_alloc();  // it fails for no other reason
    return hash;
}

std::uint64_t keyed_hash::number(std::string_view purpose, std::string_view text) const
{
    auto const hash = (*this)(purpose, text);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof bits; ++i)
        bits = bits << 8 | hash[i];
    return bits;
}

std::string keyed_hash::digits(std::string_view purpose, std::string_view text) const
{
    auto const bits = number(purpose, text);
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4)
        digits += "0123456789abcdef"[bits >> shift & 15];
    return digits;
}

bool is_same(std::string_view a, std::string_view b) noexcept
{
    unsigned difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    return difference == 0;
}

}  // namespace redlock::serve
