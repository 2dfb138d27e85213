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

/// Whether the error can pass by itself. Each vote reports such an error, and the connection stays open for releases.
bool is_temporary(error_code);

/// The server's answers at the beginning of a connection.
struct introduction {
    node_reply refusal;            ///< with an error: why the server cannot vote
    bool tells_of_itself = false;  ///< the other members are valid, even if the server cannot vote
    std::string run_id;            ///< empty: the client may not read it
    std::chrono::seconds uptime{0};
    log_state log;
    bool is_replica = false;
    std::optional<redis::tenure> tenure;      ///< of a master that Sentinels or a cluster chose
    std::optional<life_mark> life;            ///< of any other server, if it has a marker
    std::vector<std::string> other_settings;  ///< of other clients: see shared_settings
    node_reply no_life;                       ///< with an error: why the life marker could not be read
    bool tells_of_memory = false;             ///< the server answers `INFO memory`, so heartbeats repeat it
    bool tells_of_log = false;                ///< the server answers questions about its log, so heartbeats repeat them
    std::string client_id;                    ///< the server's id of the connection
    deletion by = deletion::script;
    bool checks_type = false;  ///< see manner
    std::string no_tracking;   ///< why the server sends no pushes about changes; empty: it sends them
};

/** The first commands on a connection. They find out who the server is, whether it can vote, and whether its access
    list allows all commands that the client needs.

    The trial shows the latter: the client acquires, extends, inspects and releases a lock that no other client uses,
    and raises a counter. A server on which the trial fails might grant locks that it can neither extend nor release.
    A client that only reads makes no trial, and accepts any server.
*/
class greeting {
public:
    greeting(net::url const& server, config const& c);

    /// @param life a different word for each connection
    void ask(redis::request&, std::string_view life) const;

    /// Reads the @p replies to @ref ask.
    introduction read(std::span<reply const> replies) const;

    /// The server's words, printable and without the password.
    std::string shown(std::string_view said) const { return net::presentable(said, {server_.password}); }

    /// Asks for the state of the log. Each heartbeat repeats this.
    static void ask_for_log(redis::request&);
    static constexpr std::size_t log_questions = 2;
    static log_state read_log(reply const& persistence, reply const& policy);

    /// @p memory is the answer to `INFO memory`. @return with an error: the server may evict locks
    node_reply may_evict(reply const& memory) const;

    /// Whether the server is to have a life marker.
    bool wants_life() const noexcept { return life_marker_ && !is_chosen(); }

    /// @param word a different word for each call
    void ask_for_life(redis::request&, std::string_view word) const;
    node_reply read_life(reply const&, std::optional<life_mark>&) const;

    /// Reads the settings of other clients from the answer to @ref ask_for_life.
    static std::vector<std::string> read_settings(reply const&);

private:
    void ask_to_read(redis::request&) const;
    introduction read_to_read(std::span<reply const> replies) const;
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
    bool const read_only_;
    std::string const settings_;
};

}  // namespace redlock::stores::redis
