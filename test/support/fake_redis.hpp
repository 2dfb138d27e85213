#pragma once

#include "stores/redis/scripts.hpp"
#include "support/resp_commands.hpp"
#include "support/resp_writer.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

/** A server on loopback that speaks RESP and has no keys. It records the commands, and the test may decide each answer.

    Tests use it for answers that a real server gives rarely, or only in another version. It runs in the event loop of
    the test.
*/
class fake_redis {
public:
    using command = test::command;

    /// As an answer, it closes the connection.
    static constexpr std::string_view hang_up = "";

    explicit fake_redis(boost::asio::io_context& context)
        : acceptor_(context, {boost::asio::ip::address_v4::loopback(), 0})
    {
        accept();
    }

    std::string url() const { return "redis://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

    /// Returns the bytes of the answer; nothing: the usual answer, which is a success.
    std::function<std::optional<std::string>(command const&)> answer = [](command const&) { return std::nullopt; };

    std::string first_words;                  ///< sent to each client when it connects
    std::chrono::microseconds byte_pause{0};  ///< if not zero, bytes are sent singly, each after this pause

    std::string role = "master";
    std::vector<std::string> native_deletions;  ///< in lower case
    std::string run_id = std::string(40, 'f');
    std::string uptime = "1";                                              ///< in seconds
    std::string word = "f00d", word_began = "r", word_age = "1000000000";  ///< the record of the server's memory
    /// By default, the log is durable.
    std::string persistence = "loading:0\r\naof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
                              "aof_last_rewrite_time_sec:-1\r\naof_last_write_status:ok\r\n";

    std::vector<command> commands;  ///< answered commands, in order
    int connections = 0;
    int ended = 0;  ///< connections that clients have closed
    int reset = 0;  ///< connections among them that were reset

    /// Closes all connections.
    void hang_up_all()
    {
        for (auto const& weak : std::exchange(sessions_, {})) {
            if (auto const s = weak.lock())
                s->socket.close();
        }
    }

    /// Sends unrequested bytes to all clients.
    void say(std::string_view bytes)
    {
        for (auto const& weak : sessions_) {
            if (auto const s = weak.lock(); s && s->socket.is_open()) {
                s->out += bytes;
                write(s);
            }
        }
    }

    /// Stops answering until @ref resume is called.
    void stop_answering() { still_ = true; }
    void resume()
    {
        still_ = false;
        for (auto const& weak : std::exchange(waiting_, {})) {
            if (auto const s = weak.lock())
                work_off(s);
        }
    }

    /// The number of answered commands that begin with @p beginning.
    std::size_t count(command const& beginning) const
    {
        return static_cast<std::size_t>(std::count_if(commands.begin(), commands.end(), [&](auto& c) {
            return c.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), c.begin());
        }));
    }

private:
    struct session {
        explicit session(boost::asio::ip::tcp::socket s) : socket(std::move(s)), pause(socket.get_executor()) {}
        boost::asio::ip::tcp::socket socket;
        boost::asio::steady_timer pause;
        std::array<char, 4096> buffer{};
        std::string in, out, leaving;
        bool writing = false;
    };

    void accept()
    {
        acceptor_.async_accept([this](boost::system::error_code ec, boost::asio::ip::tcp::socket socket) {
            if (ec)
                return;
            ++connections;
            auto const s = std::make_shared<session>(std::move(socket));
            sessions_.push_back(s);
            s->out = first_words;
            write(s);
            read(s);
            accept();
        });
    }

    void read(std::shared_ptr<session> s)
    {
        s->socket.async_read_some(boost::asio::buffer(s->buffer),
                                  [this, s](boost::system::error_code ec, std::size_t n) {
                                      if (!s->socket.is_open())
                                          return;
                                      if (ec) {
                                          ++ended;
                                          reset += ec == boost::asio::error::connection_reset;
                                          return;
                                      }
                                      s->in.append(s->buffer.data(), n);
                                      work_off(s);
                                      read(s);
                                  });
    }

    void work_off(std::shared_ptr<session> const& s)
    {
        if (still_)
            return waiting_.push_back(s);
        std::string_view bytes = s->in;
        while (auto const c = take_command(bytes)) {
            commands.push_back(*c);
            auto const reply = answer(*c);
            if (reply == hang_up)
                return s->socket.close();
            s->out += reply ? *reply : usual_answer(*c);
        }
        s->in.erase(0, s->in.size() - bytes.size());
        write(s);
    }

    void write(std::shared_ptr<session> const& s)
    {
        if (s->writing || s->out.empty())
            return;
        s->writing = true;
        auto const size = byte_pause > byte_pause.zero() ? 1 : s->out.size();
        s->leaving = s->out.substr(0, size);
        s->out.erase(0, size);
        if (byte_pause == byte_pause.zero())
            return write_now(s);
        s->pause.expires_after(byte_pause);
        s->pause.async_wait([this, s](boost::system::error_code) { write_now(s); });
    }

    void write_now(std::shared_ptr<session> const& s)
    {
        auto written = [this, s](boost::system::error_code ec, std::size_t) {
            s->writing = false;
            if (!ec)
                write(s);
        };
        boost::asio::async_write(s->socket, boost::asio::buffer(s->leaving), std::move(written));
    }

    // The reply of the record script.
    std::string record_reply() const
    {
        if (!lives_.starts_with(run_id))
            lives_ = run_id + (lives_.empty() ? "" : ',' + lives_.substr(0, 8));
        return "*6\r\n" + bulk_string(word) + bulk_string(word_began) + bulk_string(word_age) + bulk_string("0")
               + bulk_string("") + bulk_string(lives_);
    }

    std::string usual_answer(command const& c) const
    {
        auto const& name = c[0];
        if (name == "HELLO")
            return "%7\r\n" + bulk_string("server") + bulk_string("redis") + bulk_string("version")
                   + bulk_string("7.0.15") + bulk_string("proto") + ":3\r\n" + bulk_string("id") + ":"
                   + std::to_string(connections) + "\r\n" + bulk_string("mode") + bulk_string("standalone")
                   + bulk_string("role") + bulk_string(role) + bulk_string("modules") + "*0\r\n";
        if (name == "INFO")  // the fields of all sections that clients ask for
            return bulk_string("redis_version:7.0.15\r\nrun_id:" + run_id + "\r\nuptime_in_seconds:" + uptime
                               + "\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n" + persistence);
        if (name == "CONFIG")
            return "%2\r\n" + bulk_string("appendfsync") + bulk_string("always")
                   + bulk_string("no-appendfsync-on-rewrite") + bulk_string("no");
        if (name == "COMMAND") {
            std::string all = "*" + std::to_string(1 + native_deletions.size()) + "\r\n" + bulk_string("del");
            for (auto const& n : native_deletions)
                all += bulk_string(n);
            return all;
        }
        if (name == "SCRIPT") {
            auto const known = std::find_if(stores::redis::all_scripts.begin(), stores::redis::all_scripts.end(),
                                            [&](auto& s) { return c.back() == s.source; });
            return bulk_string(known == stores::redis::all_scripts.end() ? std::string(40, '0')
                                                                         : std::string(known->sha1));
        }
        if (name == "EVALSHA" && c[1] == stores::redis::record_script.sha1)
            return record_reply();
        if (name == "GET" && c[1].find(":=record") != std::string::npos)
            return bulk_string(word + " r");
        if (name == "PING")
            return "+PONG\r\n";
        if (name == "SET" || name == "SELECT" || (name == "CLIENT" && c[1] != "KILL"))
            return "+OK\r\n";
        return ":1\r\n";
    }

    boost::asio::ip::tcp::acceptor acceptor_;
    bool still_ = false;
    mutable std::string lives_;  ///< that the record has seen
    std::vector<std::weak_ptr<session>> waiting_;
    std::vector<std::weak_ptr<session>> sessions_;
};

}  // namespace redlock::test
