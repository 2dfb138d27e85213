#pragma once

#include "stores/kit/session.hpp"
#include "stores/postgresql/address.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::stores::postgresql {

/// The answer of a host about itself.
struct standing {
    std::string system;         ///< the same for all copies of one database
    std::int64_t timeline = 0;  ///< grows with each promotion; 0: a standby
};

/** Finds the primary of several hosts. It asks each host once a second, on a connection of its own. The reason: if
    another host is promoted, an old primary that still runs does not know it, and takes writes.

    Used as a std::shared_ptr, on the executor.
*/
class hosts final : public kit::session::owner, public std::enable_shared_from_this<hosts> {
public:
    using find_handler = std::function<void(found const* primary, node_reply const& why_none)>;
    using report = std::function<void(standing)>;
    using probe_maker = std::function<std::shared_ptr<kit::session>(found const&, kit::session::owner&, report)>;

    /// @p make_probe makes a connection that asks one host again and again, and reports the answers.
    hosts(asio::any_io_executor, probe_maker make_probe);
    ~hosts();

    /// Calls @p done later with the primary among @p all, when all hosts have answered or failed. A host that has
    /// answered counts even if its name does not resolve any more.
    void find(std::vector<found> const& all, find_handler done);

    /// Whether a primary of the database @p system has answered from a later timeline than @p timeline.
    bool is_outdated(std::string const& system, std::int64_t timeline) const;

    /// Calls @p look when a primary reports a new timeline, until @p look returns false.
    void follow(std::function<bool()> look) { followers_.push_back(std::move(look)); }

    void close() { leave(&kit::session::close); }
    void abandon() { leave(&kit::session::abandon); }

private:
    struct host {
        found where;
        std::shared_ptr<kit::session> probe{};
        std::optional<standing> says{};
        node_reply trouble{};  ///< why there is no answer; no error: the host is still being asked
        std::optional<kit::timer> retry{};
    };

    node_reply check_server(kit::session&, kit::introduction const&) override { return {}; }
    void up(kit::session&) override {}
    void down(kit::session&, bool was_up, node_reply why) override;
    void notified(std::string_view) override {}
    void log(log_level, std::string const&) const override {}

    void probe(host&);
    void told(found const&, standing);
    void leave(void (kit::session::*how)());
    void answer_soon();
    void answer_if_known();
    host* host_of(kit::session const& probe);  ///< null: not a current host
    host* host_at(found const&);
    host const* primary() const;
    node_reply why_none() const;

    asio::any_io_executor executor_;
    probe_maker make_probe_;
    std::vector<std::unique_ptr<host>> hosts_;
    std::vector<find_handler> find_handlers_;
    std::vector<std::function<bool()>> followers_;
};

}  // namespace redlock::stores::postgresql
