#pragma once

#include "stores/kit/session.hpp"
#include "stores/postgresql/address.hpp"
#include "stores/postgresql/hosts.hpp"
#include "stores/postgresql/statements.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::pg {

using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

/** One connection to a PostgreSQL server: libpq's, without its waiting. Commands are sent as they come, and answered in their order.

    Used as a std::shared_ptr, on the executor.
*/
class session final : public sql::session, public std::enable_shared_from_this<session> {
public:
    /// @p of_several: if the address has several hosts, it says which of them is the primary.
    session(asio::any_io_executor, std::shared_ptr<address const>, std::shared_ptr<hosts> of_several,
            std::chrono::milliseconds connect_timeout, bool listens, owner&);

    /// A scout: it is never up, but asks what the host is once a second, and tells.
    session(asio::any_io_executor, std::shared_ptr<address const>, std::chrono::milliseconds connect_timeout,
            hosts::teller, owner&);
    ~session() override;

    void open() override;
    void close() override;
    void abandon() override;
    void cut(node_reply why) override { end(std::move(why)); }

    bool up() const noexcept override { return state_ == state::up; }
    bool busy() const noexcept override { return state_ != state::down; }
    bool notifies() const noexcept override { return listens_; }
    sql::introduction const& server() const noexcept override { return server_; }
    std::optional<clock::time_point> waiting_since() const override;

    void carry_out(node_command const&, bool tombstone, std::function<void(node_reply)> done) override;
    void end(sql::backend const&, std::function<void(bool)> done) override;
    void look(std::function<void(bool durable)> done) override;
    void clean() override;

private:
    enum class state { down, resolving, connecting, greeting, up };
    enum class wait { read, write };

    /// Null: the connection was lost first.
    using answer = std::function<void(PGresult const*)>;

    struct question {
        answer tell;
        clock::time_point asked;
        result last{nullptr, PQclear};
    };
    using descriptor = asio::posix::basic_stream_descriptor<asio::any_io_executor>;

    void ask(statement const&, parameters const&, answer);
    void resolve(std::vector<std::string> hosts, std::size_t next, std::vector<found>);
    void choose(std::vector<found> const& all);
    void connect(address const&);
    void poll();
    void greet();
    void ask_for_standing();
    bool is_outdated() const;
    void follow_hosts();
    void introduce(PGresult const&);
    void make_tables();
    void make_ready();
    bool is_pooled() const;
    node_reply with_grant(node_reply why, std::string const& rights) const;
    void ready();
    void simple(std::string const& text, std::function<void(PGresult const&)> then);
    void read_simple();
    void wait_for(wait);
    void on_io(wait, error_code, std::uint64_t life);
    void read();
    void hear();
    void flush();
    void set_limit(std::chrono::milliseconds);
    void end(node_reply why);
    void take_down();
    node_reply failure() const;

    asio::any_io_executor executor_;
    std::shared_ptr<address const> const address_;
    std::chrono::milliseconds const connect_timeout_;
    std::shared_ptr<hosts> const hosts_;
    hosts::teller const tell_;  ///< of a scout
    bool const listens_;
    owner* owner_;

    state state_ = state::down;
    std::uint64_t life_ = 0;  ///< handlers of an earlier connection have another
    std::unique_ptr<PGconn, void (*)(PGconn*)> connection_{nullptr, PQfinish};
    std::optional<descriptor> descriptor_;
    std::optional<asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor>> resolver_;
    std::optional<timer> limit_;
    bool reading_ = false, writing_ = false;
    bool follows_ = false;      ///< It hears from the hosts when another is promoted.
    std::int64_t backend_ = 0;  ///< The number of the server's process.
    std::function<void(PGresult const&)> then_;  ///< of a question outside the pipeline
    result simple_{nullptr, PQclear};
    std::deque<question> questions_;
    sql::introduction server_;
};

}  // namespace redlock::pg
