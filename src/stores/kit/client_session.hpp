#pragma once

#include "stores/kit/session.hpp"

#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::sql {

namespace asio = boost::asio;

/// Lets nothing that is written to @p socket reach the server any more. This may be a fork: what is said here would
/// reach the server as the parent's word.
void silence(int socket);

/// What sessions over the client libraries of all databases share: the way from `open` to the end, and its time limits.
class client_session : public session, public std::enable_shared_from_this<client_session> {
public:
    void open() final;
    void close() override;
    void abandon() override;
    void cut(node_reply why) final;

    bool up() const noexcept final { return state_ == state::up; }
    bool busy() const noexcept final { return state_ != state::down; }
    introduction const& server() const noexcept final { return server_; }

protected:
    client_session(asio::any_io_executor, std::chrono::milliseconds connect_timeout, owner&);

    virtual void connect() = 0;
    virtual void disconnect() = 0;     ///< at once; also what is not connected
    virtual void go_silent() = 0;      ///< forgets all questions, and says no more to the server
    virtual void tell_all_lost() = 0;  ///< answers all questions

    /// @p f of the present connection: it keeps this alive, and is not called after the end.
    template <class F>
    auto in_this_life(F f)
    {
        return [this, self = shared_from_this(), life = life_, f = std::move(f)](auto&&... values) mutable {
            if (life == life_)
                f(std::forward<decltype(values)>(values)...);
        };
    }

    using address_handler = std::function<void(std::vector<std::string> const&, std::string const& why_none)>;

    /// @p then gets the addresses of @p host, or why there are none. The libraries would block here.
    void look_up(std::string const& host, address_handler then);

    /// Ends the connection, unless it is up by then.
    void set_limit(std::chrono::milliseconds);
    void after(std::chrono::milliseconds, std::function<void()> then);  ///< in place of a limit

    void greeting() { state_ = state::greeting; }
    bool is_greeting() const noexcept { return state_ == state::greeting; }
    std::uint64_t life() const noexcept { return life_; }  ///< each connection has another

    /// The server could vote. @return whether it is up now
    bool admit(introduction);

    /// Calls @p done. If the tables are gone, the next connection makes them, or says what is missing.
    void deliver(std::function<void(node_reply)> const& done, node_reply);

    void refuse(error_code, std::string why);  ///< ends a connection, on which nothing was done

    asio::any_io_executor executor_;
    std::chrono::milliseconds const connect_timeout_;
    owner* owner_;  ///< null after the end

private:
    enum class state { down, connecting, greeting, up };
    using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

    void take_down();

    state state_ = state::down;
    std::uint64_t life_ = 0;
    std::optional<asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor>> resolver_;
    std::optional<timer> limit_;
    introduction server_;
};

}  // namespace redlock::sql
