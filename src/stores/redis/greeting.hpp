#pragma once

#include "net/secrets.hpp"
#include "net/url.hpp"
#include "stores/redis/encoder.hpp"
#include "stores/redis/hello.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/server_record.hpp"

#include <redlock/manager_options.hpp>
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
    node_reply refusal;                   ///< with an error: why the server cannot vote; the other members do not count
    std::string run_id;                   ///< empty: the client may not read it
    std::optional<server_record> record;  ///< nothing: there is none, or none is wanted
    log_policy policy = log_policy::unknown;
    bool tells_of_memory = false;  ///< the server answers `INFO memory`, so heartbeats repeat it
    bool tells_of_policy = false;  ///< the server answers `CONFIG GET`, so heartbeats repeat it
    std::string client_id;         ///< the server's id of the connection
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
    greeting(net::url const& server, manager_options const& c);

    /// @param word a different word for each connection
    void ask(redis::request&, std::string_view word);

    /// Reads the @p replies to @ref ask.
    introduction read(std::span<reply const> replies) const;

    /// The server's words, printable and without the password.
    std::string shown(std::string_view said) const { return net::presentable(said, {secret()}); }

    /// The password of the latest greeting, which must not be shown.
    std::string_view secret() const { return hello_.secret(); }

    /// Asks for the policy of the log. Each heartbeat repeats this.
    static void ask_for_policy(redis::request&);

    /// @p memory is the answer to `INFO memory`. @return with an error: the server may evict locks
    node_reply may_evict(reply const& memory) const;

    /// Whether the client keeps a record of the server's memory.
    bool wants_record() const noexcept { return wants_record_; }

    /// Whether the server's votes need a record.
    bool needs_record() const noexcept { return needs_record_; }

    record_question const& record() const noexcept { return record_; }

    /// Why a server without a record must not vote, for the user. No error: the cause can pass by itself.
    node_reply refusal_without_record(node_reply why) const;

    /// A master of a cluster has lost the slot of @ref net::url::tag : keys of its own get another tag.
    void move_to(std::string_view tag);

private:
    void ask_to_read(redis::request&) const;
    introduction read_to_read(std::span<reply const> replies) const;
    node_reply refusal_of_welcome(reply const& welcome) const;
    bool answers_questions(std::span<reply const> replies) const;
    node_reply not_now(std::span<reply const> replies) const;
    node_reply unfit(std::span<reply const> replies) const;
    static bool checks_type(std::span<reply const> trial);
    node_reply fails_trial(std::span<reply const> replies) const;
    bool selects_database() const noexcept { return server_.database != 0; }
    std::size_t scripts_at() const noexcept;
    std::size_t trial_at() const noexcept;

    hello_command hello_;
    net::url server_;
    std::string const prefix_;
    bool const fencing_;
    bool const allow_eviction_;
    bool const wants_record_, needs_record_;
    bool const read_only_;
    record_question record_;
};

}  // namespace redlock::stores::redis
