#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redlock::serve {

/// The rights of a client of the service, on the locks whose names begin with a prefix.
struct grant {
    std::string token{};   ///< the bearer token; empty: every client has this grant
    std::string prefix{};  ///< of names; empty: all locks
    bool locks = false;    ///< acquire, extend, release
    bool reads = false;    ///< inspect, list
    bool breaks = false;   ///< take a lock away from its holder
    bool metrics = false;  ///< read the metrics of the service; the prefix does not matter
};

/// The bearer tokens of a service.
class access {
public:
    /// Every client may do everything.
    access();

    /** Reads a file of tokens. Each line has a token, a prefix of names, and rights with commas between them: `lock`,
        `read`, `break`, `metrics`. The prefix `*` stands for all names. A token may have several lines. A line with the
       word `key` and a secret has a key for @ref keys. Lines that begin with `#` are comments.

        @throws std::invalid_argument with the number of the line, but without its token
    */
    static access read(std::string_view text);

    bool needs_tokens() const noexcept { return needs_tokens_; }

    /// The keys that sign the ids of locks: the first one signs, and all are believed. Instances with the same file
    /// have the same keys. Without a `key`, all tokens together are the key. At least one.
    std::vector<std::string> const& keys() const noexcept { return keys_; }

    /// Whether the bearer token is known. @p authorization is the header field: "Bearer …".
    bool knows(std::string_view authorization) const;

    /// The bearer token. Empty if clients need none: then all clients are one.
    std::string client_of(std::string_view authorization) const;

    /// Whether the client may use its right @p what on @p name, or on all names that begin with it.
    bool permits(std::string_view client, bool grant::*what, std::string_view name) const;

    /// Whether the client has the right @p what on any name.
    bool permits_anywhere(std::string_view client, bool grant::*what) const;

private:
    std::string all_tokens() const;
    bool is_of(grant const&, std::string_view client) const;

    std::vector<grant> grants_;
    std::vector<std::string> keys_;
    bool needs_tokens_ = false;
};

}  // namespace redlock::serve
