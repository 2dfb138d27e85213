#pragma once

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <zookeeper/zookeeper.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::zookeeper {

using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

/// One step of a transaction.
struct step {
    enum class kind { create, set, remove, check };
    kind what;
    std::string path;
    std::string data{};
    int version = -1;          ///< that the node must have; -1: any
    bool is_ephemeral = true;  ///< what is created
};

/// What became of a request.
struct answer {
    int code = ZOK;                    ///< of ZooKeeper
    std::vector<int> codes{};          ///< of a transaction that was not carried out: of each step
    std::string data{};                ///< of a node that was read
    int version = 0;                   ///< likewise, or of one that was set
    std::int64_t zxid = 0;             ///< of the change that was its last
    std::vector<std::string> names{};  ///< of children
};

/// A request on its way.
class pending {
public:
    explicit pending(asio::any_io_executor e) : is_there_(std::move(e))
    {
        is_there_.expires_at(clock::time_point::max());
    }

    void arrive(answer a);

    std::vector<zoo_op_result_t> results{};  ///< of a transaction; the library writes here
    std::vector<Stat> stats{};

private:
    friend asio::awaitable<answer> answer_of(std::shared_ptr<pending>);

    std::optional<answer> answer_;
    timer is_there_;
};

asio::awaitable<answer> answer_of(std::shared_ptr<pending>);

/// For how long answers are waited for.
struct patience {
    std::chrono::milliseconds to_connect, to_answer;
};

/** One connection to one server, by ZooKeeper's C client: its single-threaded kind, which waits for nothing itself.

    The library would connect again by itself, and to others. It never gets to that: one address is all that it knows,
    and after the first trouble the handle goes. So it resolves no name, which it would wait for. The descriptor that is
    waited on is a duplicate, because the library closes its own whenever it likes.

    Used as a std::shared_ptr, on the executor. What is told is told from outside of the library.

    It has a function for each call and each callback of the C library that is in use.
*/
class client : public std::enable_shared_from_this<client> {
public:
    class owner {
    public:
        /// A node that was read with @p watch has been changed or deleted.
        virtual void touched(std::string const& path) = 0;

    protected:
        ~owner() = default;
    };
    using log_function = std::function<void(log_level, std::string_view)>;

    client(asio::any_io_executor, patience, log_function, owner&);
    ~client();

    /// Who asks: "user:password", to which what is created belongs then; empty: anybody, and it is for everybody.
    /// Before @ref open.
    void identify(std::string credentials) { credentials_ = std::move(credentials); }

    /// Connects, to begin a session or, if @p session has a number, to go on with it.
    /// @return its code: ZOK, ZSESSIONEXPIRED, or why it cannot be had
    asio::awaitable<answer> open(asio::ip::tcp::endpoint where, std::chrono::milliseconds timeout, clientid_t session);

    // Once it is open, and also when it has ended since.
    clientid_t const& session() const noexcept { return session_; }
    std::chrono::milliseconds timeout() const noexcept { return timeout_; }

    /// Waits for the end of the connection. @return why
    asio::awaitable<int> end();

    /// In the library's own words, what went wrong last.
    std::string const& words() const noexcept { return words_; }

    // Each is carried out after those that were asked before.
    std::shared_ptr<pending> commit(std::vector<step> const&);
    std::shared_ptr<pending> create(std::string const& path, std::string const& data, int mode);
    std::shared_ptr<pending> set(std::string const& path, std::string const& data);
    std::shared_ptr<pending> remove(std::string const& path);
    std::shared_ptr<pending> get(std::string const& path, bool watch);
    std::shared_ptr<pending> children(std::string const& path);
    std::shared_ptr<pending> sync(std::string const& path);  ///< what is read afterwards is no older than this

    void close(int why);  ///< at once; the owner hears of nothing any more
    void abandon();       ///< likewise, and without touching what belongs to the context
    void farewell();      ///< likewise, but the session ends with it; nothing must be under way

private:
    static void to_log(char const* message);
    static void on_event(zhandle_t*, int type, int state, char const* path, void* self);
    static asio::awaitable<void> leave(std::shared_ptr<client>);

    template <class Call>
    auto in_library(Call call)
    {
        auto const* const before = put_in_use(this);
        auto const result = call();
        put_in_use(before);
        return result;
    }
    static client const* put_in_use(client const*) noexcept;
    template <class Call>
    std::shared_ptr<pending> ask(std::shared_ptr<pending>, Call);
    ACL_vector const* rights() const noexcept
    {
        return credentials_.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
    }
    void process(int events);
    void prepare();
    void wait(asio::posix::stream_descriptor::wait_type, bool& waiting, int events);
    void prepare_soon();
    void tell();
    void destroy() noexcept;

    asio::any_io_executor const executor_;
    patience const patience_;
    log_function const log_;
    owner* owner_;  ///< null after the end
    std::string credentials_;
    zhandle_t* handle_ = nullptr;
    clientid_t session_{};
    std::chrono::milliseconds timeout_{};
    asio::posix::basic_stream_descriptor<asio::any_io_executor> descriptor_;
    timer deadline_;
    bool reading_ = false, writing_ = false, is_soon_ = false, is_abandoned_ = false;
    std::shared_ptr<pending> opened_, ended_;  ///< null: not waited for any more
    int asked_ = 0;                            ///< requests that are not answered
    clock::time_point heard_{};                ///< when something was answered, or began to be waited for
    std::vector<std::string> touched_;         ///< not told yet
    std::string words_;
};

}  // namespace redlock::stores::zookeeper
