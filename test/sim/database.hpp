#pragma once

#include "sim/server.hpp"
#include "sim/wire.hpp"
#include "stores/kit/session.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {

/** A database with a table of locks, as the functions of src/stores/postgresql/schema.sql keep it: what is committed lasts.

    A statement waits while another transaction has one of its rows, and all behind it on its connection wait with it. A standby that is
    promoted has missed the last commits.
*/
class database final : public server {
public:
    database(sim::world&, std::size_t index, double rate);

    /// Who asks becomes a backend, which is told of changes if it @p listens.
    sql::introduction introduce(client&, bool listens) const;

    node_reply carry_out(node_command const&, bool tombstone, std::shared_ptr<client> const& from, clock::time_point sent);

    /// Until when another transaction has one of these rows: in true time.
    clock::time_point rows_taken_until(key_view) const;

    void crash(bool forget) override;
    void lock_a_row(clock::duration) override;
    bool tells_of_promotions() const override { return true; }
    std::shared_ptr<node> make_node(process&, config const&, std::shared_ptr<redis::group> const&) override;

private:
    void replicate();
    void notify(std::string const& what);

    std::int64_t timeline_ = 1;
    clock::time_point promoted_{};
    clock::time_point up_since_{};
    detail::lock_table standby_;                            ///< as it was a moment ago
    std::map<std::string, clock::time_point> rows_taken_;   ///< until when
    std::set<std::string, std::less<>> released_;           ///< values
    std::uint64_t by_ = 0;                                  ///< the backend that is at work
};

/** A connection to a database, in place of src/stores/postgresql/session.cpp: libpq waits for sockets of its own, which nobody can put in the place of.

    What it does with its owner is the same: it connects, introduces the server, answers in order, and answers all before it says that it is down.
*/
class database_session final : public sql::session, wire::owner, public std::enable_shared_from_this<database_session> {
public:
    /// @p listens: it is to be notified of changes. @p patience: of the server, with rows that others have.
    database_session(world&, process&, database&, asio::any_io_executor, bool listens, std::chrono::milliseconds patience, sql::session::owner&);

    void open() override;
    void close() override;
    void abandon() override { close(); }
    void cut(node_reply why) override;

    bool up() const noexcept override { return state_ == state::up; }
    bool busy() const noexcept override { return state_ != state::down; }
    bool notifies() const noexcept override { return listens_; }
    sql::introduction const& server() const noexcept override { return introduction_; }
    std::optional<clock::time_point> waiting_since() const override;

    void carry_out(node_command const&, bool tombstone, std::function<void(node_reply)> done) override;
    void end(sql::backend const&, std::function<void(bool)> done) override;
    void look(std::function<void(bool durable)> done) override;
    void clean() override {}  // the table keeps nothing that nobody needs

private:
    enum class state { down, connecting, up };

    void opened(std::shared_ptr<client> const&) override;
    void told(std::string const& what) override;
    void broken(std::string_view why, std::vector<std::function<void()>> lost) override;

    void introduced(sql::introduction);
    void ask(wire::packet);
    void down(node_reply why);

    world& world_;
    process& process_;
    database& database_;
    bool const listens_;
    std::chrono::milliseconds const patience_;
    sql::session::owner* owner_;  ///< null after the end
    std::shared_ptr<wire> const wire_;
    state state_ = state::down;
    std::uint64_t life_ = 0;      ///< of the present connection, or the next
    std::deque<clock::time_point> asked_;
    sql::introduction introduction_;
    std::optional<node_reply> why_;  ///< it is being cut
};

}  // namespace redlock::sim
