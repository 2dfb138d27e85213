#pragma once

#include <redlock/clock.hpp>
#include <redlock/server_identity.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

/** The longest time after a failover in which a manager may not know the new primary, and extend locks on the old one.
    The new primary grants nothing for `max_ttl` plus this time.

    The time allows for these delays:
    - A manager asks once a second. A Sentinel informs the others every two seconds, and two messages may be lost.
    - A master of a cluster that is cut off refuses writes at most half a `cluster-node-timeout` after a replica may be
      promoted. That is 7.5 s by default.
*/
inline constexpr std::chrono::seconds follow_time{10};

/// How the word of a record began.
enum class beginning : char {
    fresh = 'f',     ///< There was no record: the server is new to the prefix, or has lost its keys.
    founded = 'F',   ///< A manager has founded the set: no server of it had a record.
    anew = 'r',      ///< The server has restarted, or its data are another server's.
    promoted = 'p',  ///< The server was a replica.
};

/** The record that a server keeps of its own memory, in the data that it judges. As long as the server is certain to
    have kept every key, the word stays.
*/
struct memory_record {
    std::string word{};
    beginning began = beginning::fresh;
    std::chrono::milliseconds age{0};   ///< of the word, by the server's clock
    std::chrono::milliseconds wait{0};  ///< The server must not vote for so long, because its log was switched off.
    /// The lives of the server that have signed the word, with commas between them. The present life is the first. Each
    /// other life has only its first eight characters. Empty: the server does not tell.
    std::string lives{};
};

/** Decides from a server's records when its votes count: when its word is `max_ttl` old, or was founded.

    The rule is the same for a client that comes late, for one that was away, and for one that stays. The client keeps
    only the word and the life that it knew. If the word changes, founding does not count.
*/
class server_memory {
public:
    /// @param follow for how long after a failover clients still use the old server
    explicit server_memory(std::chrono::milliseconds follow = follow_time) : follow_(follow) {}

    /// The server has told its record. @return whether the identity has changed
    bool told(memory_record const& r, clock::time_point now)
    {
        auto const before = identity_;
        bool const is_same = r.word == word_ && has_seen(r.lives);
        life_ = r.lives.substr(0, r.lives.find(','));
        if (!is_same) {
            replaced_ = !word_.empty();
            word_ = r.word;
            began_ = beginning_of(r, now);  // only once, because the server's clock may jump later
            waits_until_.reset();
        }
        told_at_ = now;
        waits_until_ = r.wait.count() <= 0 ? std::nullopt : std::optional(waits_until_.value_or(now + r.wait));
        bool const counts_as_old = r.began == beginning::founded && !replaced_;
        identity_ = {.durable = false,
                     .restarted = replaced_ || (r.began != beginning::fresh && r.began != beginning::founded),
                     .promoted = r.began == beginning::promoted,
                     .began = counts_as_old ? clock::time_point() : began_,
                     .waits_until = waits_until_.value_or(clock::time_point())};
        return is_same && identity_ != before;
    }

    /// The word of the latest record. Empty: the server has told none.
    std::string const& word() const noexcept { return word_; }

    server_identity const& identity() const noexcept { return identity_; }

private:
    // If an older copy of the data was put back, its word has not seen the life that the client knew.
    bool has_seen(std::string_view lives) const
    {
        auto const before = ',' + life_.substr(0, 8);
        return lives.starts_with(life_) || lives.find(before) != lives.npos;
    }

    // If a word was there while the client knew another one, it is another server's. That server has never known the
    // locks of the first one.
    clock::time_point beginning_of(memory_record const& r, clock::time_point now) const
    {
        auto const age = std::clamp<clock::duration>(r.age, clock::duration(0), age_max);
        auto const follow = r.began == beginning::promoted ? follow_ : std::chrono::milliseconds(0);
        bool const is_of_another = replaced_ && age > now - told_at_;
        return now - (is_of_another ? clock::duration(0) : age) + follow;
    }

    static constexpr auto age_max = std::chrono::hours(10 * 365 * 24);

    std::string word_;
    std::string life_;       ///< the life of the server that the client has met last
    bool replaced_ = false;  ///< the client knew another word before
    std::chrono::milliseconds follow_;
    clock::time_point began_, told_at_;
    std::optional<clock::time_point> waits_until_;
    server_identity identity_{.durable = false};
};

}  // namespace redlock::core
