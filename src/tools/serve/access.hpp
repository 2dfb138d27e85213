#pragma once

#include <cstddef>
#include <span>
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
    std::string name{};    ///< of the token, for people; empty: it has none
    std::size_t line = 0;  ///< of the file

    bool operator==(grant const&) const = default;
};

/// The bearer tokens of a service.
class access {
public:
    /// Every client may do everything.
    access();

    /** Reads a file of tokens. Each line has a token, a prefix of names, and rights with commas between them: `lock`,
        `read`, `break`, `metrics`. The prefix `*` stands for all names. A fourth word is the name of the token, for
        people. A token may have several lines, with the same name. A line with the word `key` and a secret has a key
        for @ref keys. Lines that begin with `#` are comments.

        @throws std::invalid_argument with the number of the line, but without a word that may be a token
    */
    static access read(std::string_view text);

    bool needs_tokens() const noexcept { return needs_tokens_; }

    /// The keys that sign the ids of locks: the first one signs, and all are believed. Instances with the same file
    /// have the same keys. Without a `key`, all tokens together are the key. At least one.
    std::vector<std::string> const& keys() const noexcept { return keys_; }

    /// Whether the bearer token is known. @p authorization is the header field: "Bearer …".
    bool knows(std::string_view authorization) const;

    /// Whether the bearer token is known.
    bool knows_client(std::string_view token) const;

    /// The bearer token. Empty if clients need none: then all clients are one.
    std::string client_of(std::string_view authorization) const;

    /// The client, for the log: `token "NAME"`, `token on line 3`, `unknown token`, `client`. Never the token itself.
    std::string in_words(std::string_view client) const;

    /// The name of the client's token. Empty: it has none.
    std::string name_of(std::string_view client) const;

    /// Whether the client may use its right @p what on @p name, or on all names that begin with it.
    bool permits(std::string_view client, bool grant::*what, std::string_view name) const;

    /// The first of the names that the client may not lock. Null: it may lock all of them.
    std::string const* may_not_lock(std::string_view client, std::span<std::string const> names) const;

    /// Whether the client has the right @p what on any name.
    bool permits_anywhere(std::string_view client, bool grant::*what) const;

    /// Whether @p other was read from the same lines.
    bool is_same_file(access const& other) const;

    /// Believes the ids that @p before has signed with all its tokens together. Otherwise a new token would make the
    /// ids void that clients have. A `key` that is gone stays gone.
    void believe(access const& before);

private:
    std::string all_tokens() const;
    bool is_of(grant const&, std::string_view client) const;
    void check_name(grant const&) const;
    void check_names() const;

    std::vector<grant> grants_;
    std::vector<std::string> keys_;
    std::size_t own_keys_ = 0;  ///< the first ones, which are lines of the file
    bool needs_tokens_ = false;
};

}  // namespace redlock::serve
