#pragma once

#include "core/quarantine.hpp"

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
    fresh = 'f',       ///< There was no record: the server is new to the prefix, or has lost its keys.
    founded = 'F',     ///< A manager has founded the set: no server of it had a record.
    in_old_set = 'n',  ///< There was no record, but a manager has found that the set is not new.
    anew = 'r',        ///< The server has restarted, or its data are another server's.
    promoted = 'p',    ///< The server was a replica.
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
    std::chrono::milliseconds up{0};  ///< how long the process of the server has been running; 0: unknown
};

/// The way out if several servers have one address, for people.
inline constexpr std::string_view one_address_each = "a node must be one server, so give each an address of its own";

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
        bool const is_same = r.word == word_ && has_seen(r.lives) && !has_lost_verdict(r);
        bool const is_same_process = !life_.empty() && r.lives.starts_with(life_);
        life_ = r.lives.substr(0, r.lives.find(','));
        if (!is_same) {
            replaced_ = !word_.empty();
            if (replaced_ && !is_same_process && ran_meanwhile(r, now))
                shared_at_ = now;
            word_ = r.word;
            began_ = beginning_of(r, now);  // only once, because the server's clock may jump later
            waits_until_.reset();
            says_again_ = false;
        }
        bool const is_late = is_same && r.began == beginning::fresh;  // another connection may have told the verdict
        if (!is_late)
            how_began_ = r.began;
        told_at_ = now;
        age_ = r.age;
        waits_until_ = r.wait.count() <= 0 ? std::nullopt : std::optional(waits_until_.value_or(now + r.wait));
        identity_ = {.durable = false,
                     .restarted = replaced_ || how_began_ == beginning::anew || how_began_ == beginning::promoted,
                     .promoted = how_began_ == beginning::promoted,
                     .fresh = how_began_ == beginning::fresh,
                     .founded = how_began_ == beginning::founded && !replaced_,
                     .began = began_,
                     .waits_until = waits_until_.value_or(clock::time_point())};
        return is_same && identity_ != before;
    }

    /// The latest record is the answer to `commands::found::only_asks`. @return whether the server is still new
    bool says_again(std::chrono::milliseconds max_ttl, clock::time_point now)
    {
        return says_again_ = is_new(identity_, max_ttl, now) && age_ < max_ttl;
    }

    /// A manager's verdict on a fresh record, to be sent with the question for the record: @p b is founded, or
    /// in_old_set. The server compares the word. Empty: there is no record, or the server may not be founded, because
    /// it has not said again that this word is new.
    std::string verdict(beginning b) const
    {
        bool const is_allowed = b != beginning::founded || says_again_;
        return word_.empty() || !is_allowed ? std::string() : static_cast<char>(b) + word_;
    }

    /// The word of the latest record. Empty: the server has told none.
    std::string const& word() const noexcept { return word_; }

    server_identity const& identity() const noexcept { return identity_; }

    /// When another server was met at the address that was running already while the client was connected to the first
    /// one. Nothing: never.
    std::optional<clock::time_point> shared_at() const noexcept { return shared_at_; }

    /// Why the server must not vote if several servers answer at its address, for people. Empty: only one has answered
    /// within @p max_ttl.
    std::string why_shared(std::chrono::milliseconds max_ttl, clock::time_point now) const
    {
        auto const left = shared_at_ ? *shared_at_ + max_ttl - now : clock::duration(0);
        if (left <= clock::duration(0))
            return {};
        return "several servers answer at its address: " + std::string(one_address_each)
               + "; if you have replaced the server, it votes in "
               + std::to_string(std::chrono::ceil<std::chrono::milliseconds>(left).count()) + " ms";
    }

private:
    // A promoted server was running, too. But the record of a promotion is younger than the last answer of the first
    // server.
    bool ran_meanwhile(memory_record const& r, clock::time_point now) const
    {
        auto const since_told = now - told_at_ + clock_error_max;
        bool const is_promotion = r.began == beginning::promoted && r.age <= since_told;
        return r.up.count() == 0 ? r.age > since_told : r.up > since_told && !is_promotion;
    }

    // If an older copy of the data was put back, its word has not seen the life that the client knew.
    bool has_seen(std::string_view lives) const
    {
        auto const before = ',' + life_.substr(0, 8);
        return lives.starts_with(life_) || lives.find(before) != lives.npos;
    }

    // A server keeps a verdict. If it has a new life without the verdict, an older copy of the data was put back.
    bool has_lost_verdict(memory_record const& r) const
    {
        return r.began == beginning::fresh && how_began_ != beginning::fresh && !r.lives.starts_with(life_);
    }

    // If a word was there while the client knew another one, it is another server's. That server has never known the
    // locks of the first one.
    clock::time_point beginning_of(memory_record const& r, clock::time_point now) const
    {
        auto const age = std::max<clock::duration>(r.age, clock::duration(0));
        auto const follow = r.began == beginning::promoted ? follow_ : std::chrono::milliseconds(0);
        bool const is_of_another = replaced_ && age > now - told_at_;
        return now - (is_of_another ? clock::duration(0) : age) + follow;
    }

    static constexpr auto clock_error_max = std::chrono::seconds(5);  // uptimes are in seconds, by the wall clock

    std::string word_;
    std::string life_;         ///< the life of the server that the client has met last
    bool says_again_ = false;  ///< the server has said again that this word is new
    bool replaced_ = false;    ///< the client knew another word before
    beginning how_began_ = beginning::fresh;
    std::chrono::milliseconds follow_;
    clock::time_point began_, told_at_;
    std::chrono::milliseconds age_{0};  ///< of the word, by the server's clock, at that time
    std::optional<clock::time_point> shared_at_;
    std::optional<clock::time_point> waits_until_;
    server_identity identity_{.durable = false};
};

}  // namespace redlock::core
