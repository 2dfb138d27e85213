#include "stores/zookeeper/transport.hpp"

#include "runtime/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace redlock::stores::zookeeper {

namespace {

using namespace std::chrono_literals;

constexpr auto offer_max = std::chrono::hours(24);  // of a session; a server that offers more is not ZooKeeper
constexpr int frames_max = 256;                     // the most frames to read in one call

thread_local transport const* in_use = nullptr;  // the transport that called the library; its log lines do not name it

bool is_connected(zhandle_t* handle)
{
    return zoo_state(handle) == ZOO_CONNECTED_STATE || zoo_state(handle) == ZOO_READONLY_STATE;
}

}  // namespace

transport::transport(asio::any_io_executor e, time_limits l, log_function log, owner& o)
    : executor_(e), limits_(l), log_(std::move(log)), owner_(&o), descriptor_(e), deadline_(e)
{
}

transport::~transport()
{
    is_abandoned_ = true;
    destroy();
}

transport const* transport::put_in_use(transport const* c) noexcept { return std::exchange(in_use, c); }

// A log line looks like "2026-01-01 10:20:30,123:4711(0x7f00):ZOO_ERROR@function@123: words".
void transport::to_log(char const* message)
{
    std::string_view line(message);
    auto const level = std::min(line.find(":ZOO_"), line.size());
    auto const words = line.find(": ", level);
    bool const is_error = line.substr(level).starts_with(":ZOO_ERROR");
    line.remove_prefix(words == line.npos ? 0 : words + 2);
    if (!in_use)
        return;
    if (in_use->log_)
        in_use->log_(log_level::debug, line);
    if (is_error)
        const_cast<transport*>(in_use)->words_ = line;
}

void transport::on_event(zhandle_t*, int type, int, char const* path, void* self)
{
    if (type != ZOO_SESSION_EVENT)
        static_cast<transport*>(self)->touched_.emplace_back(path);
}

asio::awaitable<answer> transport::open(asio::ip::tcp::endpoint where, std::chrono::milliseconds timeout,
                                        clientid_t session)
{
    auto const self = shared_from_this();
    auto const host = where.address().is_v6() ? fmt::format("[{}]:{}", where.address().to_string(), where.port())
                                              : fmt::format("{}:{}", where.address().to_string(), where.port());
    auto const milliseconds = static_cast<int>(timeout.count());
    handle_ = in_library([&] {
        return zookeeper_init2(host.c_str(), nullptr, milliseconds, &session, this, ZOO_NO_LOG_CLIENTENV, to_log);
    });
    if (!handle_)
        co_return answer{.code = ZSYSTEMERROR};
    zoo_set_servers_resolution_delay(handle_, -1);
    if (!credentials_.empty())
        zoo_add_auth(handle_, "digest", credentials_.data(), static_cast<int>(credentials_.size()), nullptr, nullptr);
    auto const opened = opened_ = std::make_shared<pending>(executor_);
    ended_ = std::make_shared<pending>(executor_);
    heard_ = clock::now();
    prepare();
    co_return co_await answer_of(opened);
}

asio::awaitable<int> transport::end()
{
    auto const self = shared_from_this();
    auto const ended = ended_;
    co_return ended ? (co_await answer_of(ended)).code : ZCONNECTIONLOSS;
}

// Calls the library, and waits for more work.

void transport::process(int events)
{
    auto const self = shared_from_this();
    int code = ZOK;
    for (int i = 0; handle_ && code == ZOK && i < frames_max; ++i) {
        auto const asked = asked_;
        code = in_library([&] { return zookeeper_process(handle_, events); });
        if (asked_ < asked)
            heard_ = clock::now();
        if (events != ZOOKEEPER_READ || opened_)
            break;
    }
    if (code != ZOK && code != ZNOTHING)
        close(code);
    if (handle_ && opened_ && is_connected(handle_)) {
        session_ = *zoo_client_id(handle_);
        timeout_ = std::chrono::milliseconds(zoo_recv_timeout(handle_));
        // With a read-only server, which the transport did not ask for, the library would look for another server,
        // and wait.
        bool const is_one = zoo_state(handle_) == ZOO_CONNECTED_STATE && timeout_ > 0ms && timeout_ < offer_max;
        if (is_one)
            std::exchange(opened_, {})->arrive({});
        else
            close(ZRUNTIMEINCONSISTENCY);
    }
    tell();
    prepare();
}

void transport::prepare()
{
    if (!handle_)
        return;
    int descriptor = -1, interest = 0;
    timeval tv{};
    auto const code = in_library([&] { return zookeeper_interest(handle_, &descriptor, &interest, &tv); });
    auto const now = clock::now();
    auto const limit = opened_      ? heard_ + limits_.to_connect
                       : asked_ > 0 ? heard_ + limits_.to_answer
                                    : clock::time_point::max();
    if (code != ZOK || descriptor < 0 || now >= limit)
        return close(code != ZOK ? code : descriptor < 0 ? ZCONNECTIONLOSS : ZOPERATIONTIMEOUT);
    if (!descriptor_.is_open())
        descriptor_.assign(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    wait(asio::posix::stream_descriptor::wait_read, reading_, ZOOKEEPER_READ);
    if ((interest & ZOOKEEPER_WRITE) != 0)
        wait(asio::posix::stream_descriptor::wait_write, writing_, ZOOKEEPER_WRITE);
    deadline_.expires_at(
        std::min(limit, now + std::chrono::seconds(tv.tv_sec) + std::chrono::microseconds(tv.tv_usec) + 1ms));
    deadline_.async_wait([weak = weak_from_this()](error_code ec) {
        if (auto const self = weak.lock(); !ec && self)
            self->prepare();
    });
}

void transport::wait(asio::posix::stream_descriptor::wait_type what, bool& waiting, int events)
{
    if (std::exchange(waiting, true))
        return;
    descriptor_.async_wait(what, [weak = weak_from_this(), &waiting, events](error_code ec) {
        auto const self = weak.lock();
        if (!self || ec)
            return;
        waiting = false;
        self->process(events);
    });
}

// The library may have more bytes to write than the socket takes.
void transport::prepare_soon()
{
    if (std::exchange(is_soon_, true))
        return;
    asio::post(executor_, [weak = weak_from_this()] {
        if (auto const self = weak.lock()) {
            self->is_soon_ = false;
            self->prepare();
        }
    });
}

void transport::tell()
{
    for (auto const& path : std::exchange(touched_, {})) {
        if (owner_)
            owner_->touched(path);
    }
}

// The end.

void transport::close(int why)
{
    owner_ = nullptr;
    destroy();
    deadline_.cancel();
    error_code ignored;
    descriptor_.close(ignored);
    for (auto* const p : {&opened_, &ended_}) {
        if (auto const waiting = std::exchange(*p, {}))
            waiting->arrive({.code = why});
    }
}

void transport::abandon()
{
    owner_ = nullptr;
    is_abandoned_ = true;
    destroy();
}

// If the handle is connected, zookeeper_close ends the session and waits for the answer. So disconnect first.
void transport::destroy() noexcept
{
    auto* const handle = std::exchange(handle_, nullptr);
    if (!handle)
        return;
    ::shutdown(descriptor_.native_handle(), SHUT_RDWR);
    in_library([&] {
        for (int code = ZOK; is_connected(handle) && (code == ZOK || code == ZNOTHING);)
            code = zookeeper_process(handle, ZOOKEEPER_READ);
        return zookeeper_close(handle);
    });
}

void transport::end_session()
{
    owner_ = nullptr;
    asio::co_spawn(executor_, leave(shared_from_this()), asio::detached);
}

// The library's own function waits for the answer. The request has the number of a ping, and so has its answer. For any
// other number, the library would look for its own request.
asio::awaitable<void> transport::leave(std::shared_ptr<transport> self)
{
    constexpr std::uint32_t size = 8, ping = static_cast<std::uint32_t>(-2),
                            close_session = static_cast<std::uint32_t>(-11);
    std::array const request{htonl(size), htonl(ping), htonl(close_session)};
    self->asked_ = 1;
    self->heard_ = clock::now();
    self->prepare();
    if (::send(self->descriptor_.native_handle(), request.data(), sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT)
        == sizeof(request))
        co_await self->end();
    self->close(ZCLOSING);
}

}  // namespace redlock::stores::zookeeper
