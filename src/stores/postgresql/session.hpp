#pragma once

#include "stores/postgresql/transport.hpp"
#include "stores/postgresql/hosts.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::stores::postgresql {

/** One connection to a PostgreSQL server. The session sends commands as they come; the server answers them in this
    order.

    Used as a std::shared_ptr, on the executor.
*/
class session final : public transport {
public:
    /// @p of_several: finds the primary if the address has several hosts.
    session(asio::any_io_executor, std::shared_ptr<address const>, std::shared_ptr<hosts> of_several,
            std::chrono::milliseconds connect_timeout, bool listens, owner&);

    /// A probe. It is never up. It asks its host once a second whether it is a primary, and reports the answers.
    session(asio::any_io_executor, std::shared_ptr<address const>, std::chrono::milliseconds connect_timeout,
            hosts::report, owner&);

    void close() override;
    void abandon() override;
    bool notifies() const noexcept override { return listens_ && !is_standby_; }

    void carry_out(node_command const&, bool tombstone, std::function<void(node_reply)> done) override;
    void end(kit::backend const&, std::function<void(bool)> done) override;
    void look(std::string verdict, std::function<void(core::memory_record const*)> done) override;
    void clean() override;

private:
    void connect() override;
    void resolve(std::size_t next, std::vector<found>);
    void choose(std::vector<found> const& all);
    void greet() override;
    void use_table(std::string name);
    std::string places() const;
    std::string trouble_with_places(kit::rows const&, bool has_tables);
    void ask_for_standing();
    bool is_outdated(kit::introduction const&) const;
    void follow_hosts();
    void introduce(kit::rows const&);
    void make_tables(std::string const& way_out);
    void make_ready();
    bool is_pooled() const;
    std::shared_ptr<bool const> watch(node_command const& inspection);
    void refuse_with_grant(node_reply why, std::string const& rights);
    void request(std::string const& text, std::string rights, std::function<void(kit::rows const&)> then);

    std::shared_ptr<hosts> const hosts_;
    hosts::report const tell_;  ///< only a probe has one
    bool const listens_;
    bool may_watch_ = true;        ///< false: the server has denied this role to change its tables
    bool told_of_places_ = false;  ///< the log has a line about tables in other schemas
    bool follows_ = false;         ///< the hosts report promotions to this session
    bool is_standby_ = false;      ///< only a manager that only reads stays connected to one
    std::int64_t backend_ = 0;     ///< the process number of the server's backend
    std::string mark_;             ///< of the tables that this connection has met
};

}  // namespace redlock::stores::postgresql
