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

/// The answer of one host about itself.
struct standing {
    std::string system;         ///< the same for all copies of one database
    std::int64_t timeline = 0;  ///< grows with each promotion; 0: a standby
};

/** Which of several hosts is the primary. Each is asked once a second, on a connection of its own: an old primary that
    goes on after the promotion of another does not know that it is old, and takes writes.

    Used as a std::shared_ptr, on the executor.
*/
class hosts final : public kit::session::owner, public std::enable_shared_from_this<hosts> {
public:
    using seeker = std::function<void(found const* primary, node_reply const& why_none)>;
    using teller = std::function<void(standing)>;
    using scout_maker = std::function<std::shared_ptr<kit::session>(found const&, kit::session::owner&, teller)>;

    /// @p make_scout makes a connection that asks one host again and again, and tells of its answers.
    hosts(asio::any_io_executor, scout_maker make_scout);
    ~hosts();

    /// @p done is told later which of @p all to connect to, once all have answered or failed. A host that has answered
    /// counts although its name is not known any more.
    void find(std::vector<found> const& all, seeker done);

    /// Whether a primary on a later timeline has answered.
    bool is_outdated(std::string const& system, std::int64_t timeline) const;

    /// @p look is called when a primary is on another timeline than before, until it returns false.
    void follow(std::function<bool()> look) { followers_.push_back(std::move(look)); }

    void close() { leave(&kit::session::close); }
    void abandon() { leave(&kit::session::abandon); }

private:
    struct host {
        found where;
        std::shared_ptr<kit::session> scout{};
        std::optional<standing> says{};
        node_reply trouble{};  ///< why it says nothing; no error: it has not been heard yet
        std::optional<kit::timer> retry{};
    };

    node_reply check_server(kit::session&, kit::introduction const&) override { return {}; }
    void up(kit::session&) override {}
    void down(kit::session&, bool was_up, node_reply why) override;
    void notified(std::string_view, std::int64_t) override {}
    void log(log_level, std::string const&) const override {}

    void scout(host&);
    void told(found const&, standing);
    void leave(void (kit::session::*how)());
    void answer_soon();
    void answer_if_known();
    host* host_of(kit::session const& scout);  ///< null: it is none of ours any more
    host* host_at(found const&);
    host const* primary() const;
    node_reply why_none() const;

    asio::any_io_executor executor_;
    scout_maker make_scout_;
    std::vector<std::unique_ptr<host>> hosts_;
    std::vector<seeker> seekers_;
    std::vector<std::function<bool()>> followers_;
};

}  // namespace redlock::stores::postgresql
