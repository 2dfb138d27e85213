#pragma once

#include "stores/kit/database_session.hpp"
#include "stores/postgresql/address.hpp"
#include "stores/postgresql/decoder.hpp"
#include "stores/postgresql/encoder.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::stores::postgresql {

/// A connection of libpq that does not block. It sends plain queries, one at a time, and then a pipeline of questions.
class transport : public kit::database_session<address> {
public:
    ~transport() override;
    std::optional<clock::time_point> waiting_since() const final;

protected:
    /// Gets the result. Null: the connection was lost before the answer.
    using answer = std::function<void(PGresult const*)>;

    transport(asio::any_io_executor, std::shared_ptr<address const>, std::chrono::milliseconds timeout, owner&);

    void connect_to(address const&);
    virtual void greet() = 0;  ///< called when the connection is established

    /// One text may hold several statements. @p then gets the first error, or the last result if there is no error.
    void simple_query(std::string const& text, std::function<void(PGresult const&)> then);

    bool begin_pipeline();  ///< @return false: the connection has ended
    bool prepare(statement const&);
    void ask(statement const&, parameters const&, answer);
    void flush();

    PGconn* handle() const noexcept { return handle_.get(); }

private:
    struct question {
        answer tell;
        clock::time_point asked;
        result last{nullptr, PQclear};
    };
    using descriptor = asio::posix::basic_stream_descriptor<asio::any_io_executor>;

    void disconnect() final;
    void abandon_connection() final;
    void fail_all() final;
    void poll();
    void wait_for(descriptor::wait_type);
    void on_io(descriptor::wait_type, error_code);
    void read_simple();
    void read();
    void fail();

    std::unique_ptr<PGconn, void (*)(PGconn*)> handle_{nullptr, PQfinish};
    std::optional<descriptor> descriptor_;
    bool reading_ = false, writing_ = false;
    std::function<void(PGresult const&)> then_;  ///< gets the result of a plain query
    result simple_{nullptr, PQclear};
    std::deque<question> questions_;
};

}  // namespace redlock::stores::postgresql
