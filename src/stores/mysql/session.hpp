#pragma once

#include "stores/kit/session.hpp"
#include "stores/mysql/address.hpp"
#include "stores/mysql/client.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::my {

using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

/** One connection to a MySQL server. It answers one question after the other; those that come meanwhile wait here.

    Used as a std::shared_ptr, on the executor.
*/
class session final : public sql::session, public std::enable_shared_from_this<session> {
public:
    session(asio::any_io_executor, std::shared_ptr<address const>, std::chrono::milliseconds connect_timeout, owner&);
    ~session() override;

    void open() override;
    void close() override;
    void abandon() override;
    void cut(node_reply why) override { end(std::move(why)); }

    bool up() const noexcept override { return state_ == state::up; }
    bool busy() const noexcept override { return state_ != state::down; }
    sql::introduction const& server() const noexcept override { return server_; }
    std::optional<clock::time_point> waiting_since() const override;

    void carry_out(node_command const&, bool tombstone, std::function<void(node_reply)> done) override;
    void end(sql::backend const&, std::function<void(bool)> done) override;
    void look(std::function<void(bool durable)> done) override;
    void clean() override;

private:
    enum class state { down, connecting, greeting, up };

    struct question {
        std::string text;
        std::function<void(answer const&)> tell;
    };

    /// What the server says of its set-up.
    struct settings {
        std::string name{};  ///< the server's own
        bool durable = false, writable = false, shares_decisions = false, logs_statements = false;
    };

    void connect();
    void greet();
    void meet(settings const&);
    void introduce(settings const&, answer const&);
    void make_tables(std::shared_ptr<std::vector<std::string> const> statements, std::size_t next, std::function<void()> then);
    void ready();
    void refuse(answer const&, std::string_view rights, std::string_view what = {});
    void request(std::string text, std::function<void(answer const&)> then);
    void ask(std::string text, std::function<void(answer const&)> tell);
    void send();
    void answered(answer);
    static settings read_settings(answer const&);
    std::string for_our_table(std::string_view text) const;
    void set_limit(std::chrono::milliseconds);
    void end(node_reply why);
    void take_down();
    void tell_all_lost();

    asio::any_io_executor executor_;
    std::shared_ptr<address const> const address_;
    std::chrono::milliseconds const connect_timeout_;
    owner* owner_;

    state state_ = state::down;
    std::uint64_t life_ = 0;            ///< handlers of an earlier connection have another
    std::vector<std::string> places_;   ///< the host's addresses that have not been tried; one empty: the socket
    std::shared_ptr<client> client_;
    std::optional<asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor>> resolver_;
    std::optional<timer> limit_;
    std::deque<question> questions_;
    std::optional<clock::time_point> sent_at_;  ///< the first of them
    sql::introduction server_;
};

}  // namespace redlock::my
