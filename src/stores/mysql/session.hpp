#pragma once

#include "stores/kit/database_session.hpp"
#include "stores/mysql/address.hpp"
#include "stores/mysql/transport.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::mysql {

/** One connection to a MySQL server. The server answers one question after the other. Further questions wait here.

    Used as a std::shared_ptr, on the executor.
*/
class session final : public kit::database_session<address> {
public:
    session(asio::any_io_executor, std::shared_ptr<address const>, std::chrono::milliseconds connect_timeout, owner&);
    ~session() override;

    std::optional<clock::time_point> waiting_since() const override { return sent_at_; }

    void carry_out(node_command const&, bool tombstone, std::function<void(node_reply)> done) override;
    void end(kit::backend const&, std::function<void(bool)> done) override;
    void look(std::string verdict, std::function<void(core::memory_record const*)> done) override;
    void clean() override;

private:
    struct question {
        std::string text;
        std::function<void(answer const&)> tell;
    };

    /// Settings of the server.
    struct settings {
        std::string name{};  ///< identifies the server
        bool durable = false, writable = false, shares_decisions = false, logs_statements = false;
    };

    void connect() override;
    void disconnect() override;
    void abandon_connection() override;
    void fail_all() override;
    void connect_next();
    void greet();
    void prepare_tables(settings const&);
    void introduce(settings const&);
    void sign(settings const&, kit::introduction, bool may_make_tables);
    std::string encode_signature(settings const&, std::string_view life, std::string_view verdict) const;
    bool may_make_tables() const { return address_->options.create_table && !address_->read_only; }
    void make_tables(std::function<void()> then);
    void make_tables(std::shared_ptr<std::vector<std::string> const> statements, std::size_t next,
                     std::function<void()> then);
    void name_right(node_reply why, std::string_view rights, std::function<void(node_reply)> then);
    void refuse_with_grant(answer const&, std::string_view rights, std::string_view what = {});
    void request(std::string text, std::function<void(answer const&)> then);
    void ask(std::string text, std::function<void(answer const&)> tell);
    void inspect(node_command const&, std::function<void(node_reply)> done);
    void scan(node_command const&, std::function<void(node_reply)> done);
    void send();
    void answered(answer);
    static settings read_settings(answer const&);

    std::vector<std::string> addresses_;  ///< of the host, still to try; empty text: the Unix socket
    std::shared_ptr<transport> transport_;
    std::deque<question> questions_;
    std::optional<clock::time_point> sent_at_;  ///< when the first question was sent
    bool may_read_tables_ = true;               ///< false: the server has denied it to this account
};

}  // namespace redlock::stores::mysql
