#pragma once

#include "stores/mysql/address.hpp"

#include <redlock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct st_mysql;
struct st_mysql_res;

namespace redlock::stores::mysql {

namespace asio = boost::asio;

/// The server's answer to one statement.
struct answer {
    unsigned error = 0;                            ///< the number of the server or of the client library; 0: no error
    std::string text{};                            ///< the message
    bool begun = false;                            ///< there was a result before the error
    std::vector<std::vector<std::string>> rows{};  ///< of the first result; NULL is empty
};

/** A connection of MariaDB Connector/C that does not block. Where a call of the library would wait, the call is
    suspended, and the event loop resumes it.

    One question at a time. No handler is called from within a function of this class. Used as a std::shared_ptr, on the
    executor. Do not use a closed transport.

    The arguments of a suspended call are members, because the library keeps pointers to them.
*/
class transport : public std::enable_shared_from_this<transport> {
public:
    using handler = std::function<void(answer)>;

    /// @p where: a numeric address; empty: the Unix socket of the address. @p unasked: called if the server ends the
    /// connection, or sends bytes without a question.
    transport(asio::any_io_executor, std::shared_ptr<address const>, std::string where, std::function<void()> unasked);
    ~transport();

    void connect(handler done);
    void ask(std::string text, handler done);
    void close();
    void abandon();  ///< sends nothing to the server

    bool is_mariadb() const;
    unsigned long id() const;  ///< the server's number of this connection

private:
    enum class wait { read, write };
    using descriptor = asio::posix::basic_stream_descriptor<asio::any_io_executor>;

    bool set_options();
    void perform(int status, std::function<int(int)> go_on, std::function<void()> then);
    void wait_for(wait);
    void on_io(wait, error_code);
    void look_at_unasked();
    void connected();
    void store();
    void stored();
    void finish();
    void fail();
    void drop_references();

    asio::any_io_executor executor_;
    std::shared_ptr<address const> const address_;
    std::string where_;
    std::function<void()> unasked_;
    std::unique_ptr<st_mysql, void (*)(st_mysql*)> handle_;
    std::optional<descriptor> descriptor_;
    bool reading_ = false, writing_ = false, closed_ = false;

    int wanted_ = 0;                 ///< the event for which the suspended call waits; 0: no call is suspended
    std::function<int(int)> go_on_;  ///< the suspended call
    std::function<void()> then_;     ///< called when the call has ended
    st_mysql* made_ = nullptr;       ///< the result of mysql_real_connect
    st_mysql_res* result_ = nullptr;
    int outcome_ = 0;
    std::string text_;  ///< the question
    handler done_;
    answer answer_;
    bool within_call_ = false;
};

}  // namespace redlock::stores::mysql
