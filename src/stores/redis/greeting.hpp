#pragma once

#include "net/secrets.hpp"
#include "net/url.hpp"
#include "stores/redis/encoder.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/server_history.hpp"

#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::stores::redis {

/// Whether it is a trouble that comes and goes, and that each vote tells of by itself; the server must go on hearing
/// our releases.
bool is_temporary(error_code);

/// What a server says of itself when a connection begins.
struct introduction {
    node_reply refusal;            ///< with an error: why it cannot vote
    bool tells_of_itself = false;  ///< the rest is known, whether it can vote or not
    std::string run_id;            ///< empty if it may not tell
    std::chrono::seconds uptime{0};
    log_state log;
    bool is_replica = false;
    std::optional<redis::tenure> tenure;      ///< of a server that others have made the master
    std::optional<life_mark> life;            ///< of any other server
    std::vector<std::string> other_settings;  ///< of other clients: see shared_settings
    node_reply no_life;                       ///< with an error: why that could not be read
    bool tells_of_memory = false;             ///< and it may be asked again
    bool tells_of_log = false;                ///< and it may be asked again
    std::string client_id;                    ///< by which it knows the connection
    deletion by = deletion::script;
    bool checks_type = false;  ///< see manner
    std::string no_tracking;   ///< why it does not tell of changes; empty: it does
};

/** The first questions on a connection: who the server is, whether it can vote, and whether we may do there what will
    be needed.

    The last is tried: a lock that nobody else can want is acquired, extended, inspected and released, and a counter is
    raised. A server on which that fails would grant locks, and could neither extend nor release them.
*/
class greeting {
public:
    greeting(net::url const& server, config const& c);

    /// @p life is different for each connection.
    void ask(redis::request&, std::string_view life) const;

    /// What the @p replies to these questions mean.
    introduction read(std::span<reply const> replies) const;

    /// The server's words that may be shown.
    std::string shown(std::string_view said) const { return net::presentable(said, {server_.password}); }

    /// The questions that are asked again and again: what the log is like.
    static void ask_for_log(redis::request&);
    static constexpr std::size_t log_questions = 2;
    static log_state read_log(reply const& persistence, reply const& policy);

    /// @p memory is the answer to `INFO memory`. @return with an error: it may evict locks, and must not
    node_reply may_evict(reply const& memory) const;

    /// Whether the server is to have a life marker.
    bool wants_life() const noexcept { return life_marker_ && !is_chosen(); }

    /// @p word is different in each call.
    void ask_for_life(redis::request&, std::string_view word) const;
    node_reply read_life(reply const&, std::optional<life_mark>&) const;

    /// From the same answer: the settings of other clients.
    static std::vector<std::string> read_settings(reply const&);

private:
    node_reply refusal_of_welcome(reply const& welcome) const;
    bool answers_questions(std::span<reply const> replies) const;
    node_reply not_now(std::span<reply const> replies) const;
    node_reply unfit(std::span<reply const> replies) const;
    static bool checks_type(std::span<reply const> trial);
    node_reply fails_trial(std::span<reply const> replies) const;
    node_reply read_tenure(reply const&, tenure&) const;
    bool selects_database() const noexcept { return server_.database != 0; }
    bool is_chosen() const noexcept { return server_.topology != net::topology::server; }
    std::size_t scripts_at() const noexcept;
    std::size_t trial_at() const noexcept;

    net::url const server_;
    std::string const prefix_;
    bool const fencing_;
    bool const allow_eviction_;
    bool const life_marker_;
    std::string const settings_;
};

}  // namespace redlock::stores::redis
