#pragma once

#include "stores/kit/timer.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
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

using kit::timer;

/// One step of a transaction.
struct step {
    enum class kind { create, set, remove, check };
    kind what;
    std::string path;
    std::string data{};
    int version = -1;          ///< that the node must have; -1: any
    bool is_ephemeral = true;  ///< for a node that the step creates
};

/// The outcome of a request.
struct answer {
    int code = ZOK;                    ///< of ZooKeeper
    std::vector<int> codes{};          ///< of each step, if the transaction was not carried out
    std::string data{};                ///< of the node
    int version = 0;                   ///< of the node that was read or set
    std::int64_t zxid = 0;             ///< of the node's latest change
    std::vector<std::string> names{};  ///< of children
};

/// A request in flight.
class pending {
public:
    explicit pending(asio::any_io_executor const& e) : is_there_(e) { is_there_.expires_at(clock::time_point::max()); }

    void arrive(answer a);

    std::vector<zoo_op_result_t> results{};  ///< of a transaction; the library writes here
    std::vector<Stat> stats{};

private:
    friend asio::awaitable<answer> answer_of(std::shared_ptr<pending>);

    std::optional<answer> answer_;
    timer is_there_;
};

asio::awaitable<answer> answer_of(std::shared_ptr<pending>);

/// How long to wait for answers.
struct time_limits {
    std::chrono::milliseconds to_connect, to_answer;
};

/** Moves requests and answers over one connection to one server, by the single-threaded variant of ZooKeeper's C
   client, which never waits by itself.

    The library would reconnect by itself, and to other servers. To prevent this, the transport gives it only one
   address, and destroys the handle after the first error. The library also resolves no names, for which it would wait.
   The event loop waits on a duplicate of the descriptor, because the library may close its own at any time.

    Used as a std::shared_ptr, on the executor. The transport does not call its owner from within a callback of the
    library.

    The class has a function for each call and each callback of the C library that it uses.
*/
class transport : public std::enable_shared_from_this<transport> {
public:
    class owner {
    public:
        /// A watched node has been created, changed or deleted.
        virtual void touched(std::string const& path) = 0;

    protected:
        ~owner() = default;
    };
    using log_function = std::function<void(log_level, std::string_view)>;

    transport(asio::any_io_executor, time_limits, log_function, owner&);
    ~transport();

    /// Sets "user:password". Nodes that this connection creates then belong to the user. Empty: no user, and the nodes
    /// are for everybody. Call this before @ref open.
    void identify(std::string credentials) { credentials_ = std::move(credentials); }

    /// Connects, and begins a session. If @p session has a number, continues that session.
    /// @return the code: ZOK, ZSESSIONEXPIRED, or why this failed
    asio::awaitable<answer> open(asio::ip::tcp::endpoint where, std::chrono::milliseconds timeout, clientid_t session);

    // Valid once the connection is open, and after its end.
    clientid_t const& session() const noexcept { return session_; }
    std::chrono::milliseconds timeout() const noexcept { return timeout_; }

    /// Waits for the end of the connection. @return why
    asio::awaitable<int> end();

    /// The library's message about the latest error.
    std::string const& words() const noexcept { return words_; }

    // The server carries out requests in the order of these calls.
    std::shared_ptr<pending> commit(std::vector<step> const&);
    std::shared_ptr<pending> create(std::string const& path, std::string const& data, int mode);
    std::shared_ptr<pending> set(std::string const& path, std::string const& data);
    std::shared_ptr<pending> remove(std::string const& path);
    std::shared_ptr<pending> get(std::string const& path, bool watch);
    /// Watches the node, which may be missing, for its creation, changes and deletion.
    std::shared_ptr<pending> watch(std::string const& path);
    std::shared_ptr<pending> children(std::string const& path);
    std::shared_ptr<pending> sync(std::string const& path);  ///< later reads are no older than this call

    void close(int why);  ///< at once; the owner gets no more calls
    void abandon();       ///< like @ref close; touches nothing that belongs to the context
    void end_session();   ///< like @ref close, and ends the session; no request may be in flight

private:
    static void to_log(char const* message);
    static void on_event(zhandle_t*, int type, int state, char const* path, void* self);
    static asio::awaitable<void> leave(std::shared_ptr<transport>);

    template <class Call>
    auto in_library(Call call)
    {
        auto const* const before = put_in_use(this);
        auto const result = call();
        put_in_use(before);
        return result;
    }
    static transport const* put_in_use(transport const*) noexcept;
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
    time_limits const limits_;
    log_function const log_;
    owner* owner_;  ///< null after the end
    std::string credentials_;
    zhandle_t* handle_ = nullptr;
    clientid_t session_{};
    std::chrono::milliseconds timeout_{};
    asio::posix::basic_stream_descriptor<asio::any_io_executor> descriptor_;
    timer deadline_;
    bool reading_ = false, writing_ = false, is_soon_ = false, is_abandoned_ = false;
    std::shared_ptr<pending> opened_, ended_;  ///< null: nobody waits for it any more
    int asked_ = 0;                            ///< unanswered requests
    clock::time_point heard_{};                ///< when the latest answer came, or the wait for one began
    std::vector<std::string> touched_;         ///< not reported yet
    std::string words_;
};

}  // namespace redlock::stores::zookeeper
