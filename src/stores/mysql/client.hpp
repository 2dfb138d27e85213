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

/// What the server said to one statement.
struct answer {
    unsigned error = 0;                            ///< its number, or one of the client library; 0: none
    std::string text{};                            ///< the words for it
    bool begun = false;                            ///< There was a result before the error.
    std::vector<std::vector<std::string>> rows{};  ///< of the first result; what is null is empty
};

/** A connection of the C library, without its waiting: the library's calls are suspended where they would wait, and go
    on from the event loop.

    One question at a time. Handlers are never called from within a call. Used as a std::shared_ptr, on the executor;
    not used any more once closed.

    It has many members because the C library wants the arguments of a suspended call to stay where they are.
*/
class client : public std::enable_shared_from_this<client> {
public:
    using handler = std::function<void(answer)>;

    /// @p where: a number, or empty: the socket of the address. @p unasked: there is something to read that belongs to
    /// no question
    client(asio::any_io_executor, std::shared_ptr<address const>, std::string where, std::function<void()> unasked);
    ~client();

    void connect(handler done);
    void ask(std::string text, handler done);
    void close();
    void abandon();  ///< without a word to the server

    bool is_mariadb() const;
    unsigned long id() const;  ///< the server's number for it

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
    void let_go();

    asio::any_io_executor executor_;
    std::shared_ptr<address const> const address_;
    std::string where_;
    std::function<void()> unasked_;
    std::unique_ptr<st_mysql, void (*)(st_mysql*)> handle_;
    std::optional<descriptor> descriptor_;
    bool reading_ = false, writing_ = false, closed_ = false;

    int wanted_ = 0;                 ///< what the suspended call waits for; 0: there is none
    std::function<int(int)> go_on_;  ///< the suspended call
    std::function<void()> then_;     ///< what follows it
    st_mysql* made_ = nullptr;       ///< what calls return
    st_mysql_res* result_ = nullptr;
    int outcome_ = 0;
    std::string text_;  ///< of the question
    handler done_;
    answer answer_;
    bool within_call_ = false;
};

}  // namespace redlock::stores::mysql
