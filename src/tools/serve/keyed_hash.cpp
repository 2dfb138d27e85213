#include "tools/serve/keyed_hash.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace redlock::serve {

namespace {

constexpr std::size_t block_size = 64;  // of SHA-256

// They fail for no other reason.
void must(int has_succeeded)
{
    if (has_succeeded != 1)
        throw std::bad_alloc();
}

std::string_view text_of(keyed_hash::digest const& d) { return {reinterpret_cast<char const*>(d.data()), d.size()}; }

}  // namespace

void keyed_hash::freeing::operator()(evp_md_ctx_st* s) const noexcept { ::EVP_MD_CTX_free(s); }

keyed_hash::state keyed_hash::made()
{
    state s(::EVP_MD_CTX_new());
    must(s && ::EVP_DigestInit_ex(s.get(), ::EVP_sha256(), nullptr) ? 1 : 0);
    return s;
}

keyed_hash::keyed_hash(std::string const& key) : now_(made())
{
    auto const short_key = key.size() > block_size ? std::string(text_of(end_of(made(), {key}))) : key;
    inner_ = after_block(short_key, 0x36);
    outer_ = after_block(short_key, 0x5c);
}

keyed_hash::state keyed_hash::after_block(std::string_view key, char pad)
{
    std::array<char, block_size> block;
    block.fill(pad);
    for (std::size_t i = 0; i < key.size(); ++i)
        block[i] = static_cast<char>(block[i] ^ key[i]);
    auto s = made();
    must(::EVP_DigestUpdate(s.get(), block.data(), block.size()));
    return s;
}

keyed_hash::digest keyed_hash::end_of(state const& begun, std::initializer_list<std::string_view> parts) const
{
    digest hash{};
    must(::EVP_MD_CTX_copy_ex(now_.get(), begun.get()));
    for (auto const part : parts)
        must(::EVP_DigestUpdate(now_.get(), part.data(), part.size()));
    must(::EVP_DigestFinal_ex(now_.get(), hash.data(), nullptr));
    return hash;
}

keyed_hash::digest keyed_hash::operator()(std::string_view purpose, std::string_view text) const
{
    auto const hash = end_of(inner_, {purpose, std::string_view("\0", 1), text});
    return end_of(outer_, {text_of(hash)});
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
