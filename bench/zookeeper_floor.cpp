#include "zookeeper_floor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/time.h>
#include <zookeeper/zookeeper.h>

#include <array>
#include <deque>
#include <stdexcept>
#include <string>

namespace redlock::bench {

namespace {

void check(int code)
{
    if (code != ZOK)
        throw std::runtime_error(fmt::format("ZooKeeper: {}", zerror(code)));
}

class session {
public:
    explicit session(std::uint16_t port)
        : handle_(zookeeper_init2(fmt::format("127.0.0.1:{}", port).c_str(), nullptr, 10'000, nullptr, nullptr,
                                  ZOO_NO_LOG_CLIENTENV, [](char const*) {}))
    {
        zoo_set_servers_resolution_delay(handle_, -1);
        while (zoo_state(handle_) != ZOO_CONNECTED_STATE)
            step();
    }

    ~session() { zookeeper_close(handle_); }
    session(session const&) = delete;
    session& operator=(session const&) = delete;

    zhandle_t* handle() { return handle_; }

    void step()
    {
        pollfd p{-1, 0, 0};
        int interest = 0;
        timeval tv{};
        check(zookeeper_interest(handle_, &p.fd, &interest, &tv));
        p.events = static_cast<short>(((interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0)
                                      | ((interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0));
        ::poll(&p, 1, static_cast<int>(tv.tv_sec * 1000 + tv.tv_usec / 1000) + 1);
        int const events = ((p.revents & POLLIN) != 0 ? ZOOKEEPER_READ : 0)
                           | ((p.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0);
        int code = ZOK;
        if ((events & ZOOKEEPER_WRITE) != 0)
            code = zookeeper_process(handle_, ZOOKEEPER_WRITE);
        while (code == ZOK && (events & ZOOKEEPER_READ) != 0)
            code = zookeeper_process(handle_, ZOOKEEPER_READ);
        if (code != ZNOTHING)
            check(code);
    }

private:
    zhandle_t* const handle_;
};

/// Locks and unlocks until @p is_over is true.
class locker {
public:
    locker(session& s, std::size_t number, bool const& is_over)
        : session_(s),
          is_over_(is_over),
          lock_(fmt::format("/redlock/locks/floor{}", number)),
          holder_(lock_ + "=" + value)
    {
    }

    void go()
    {
        std::array<zoo_op_t, 2> operations;
        auto const name = [](std::string const& s) { return s.c_str(); };
        if (!is_locked_) {
            zoo_create_op_init(&operations[0], name(lock_), value, sizeof(value) - 1, &ZOO_OPEN_ACL_UNSAFE,
                               ZOO_EPHEMERAL, nullptr, 0);
            zoo_create_op_init(&operations[1], name(holder_), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, nullptr,
                               0);
        } else {
            zoo_delete_op_init(&operations[0], name(holder_), -1);
            zoo_delete_op_init(&operations[1], name(lock_), -1);
        }
        check(zoo_amulti(session_.handle(), 2, operations.data(), results_.data(), done, this));
        is_locked_ = !is_locked_;
    }

    bool ended = false;
    std::uint64_t cycles = 0;

private:
    static constexpr char value[] = "a value of the usual length, of about 50 bytes";

    static void done(int code, void const* data)
    {
        auto& self = *static_cast<locker*>(const_cast<void*>(data));
        self.failed_ = self.failed_ || code != ZOK;
        self.cycles += self.is_locked_ ? 0 : 1;
        self.ended = self.failed_ || (self.is_over_ && !self.is_locked_);
        if (!self.ended)
            self.go();
    }

    session& session_;
    bool const& is_over_;
    std::string const lock_, holder_;
    std::array<zoo_op_result_t, 2> results_{};
    bool is_locked_ = false, failed_ = false;
};

}  // namespace

sample run_zookeeper_floor(std::uint16_t port, std::size_t clients, std::chrono::milliseconds duration)
{
    session s(port);
    bool is_over = false;
    std::deque<locker> all;
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < clients; ++i)
        all.emplace_back(s, i, is_over).go();
    sample result;
    for (auto& l : all) {
        while (!l.ended) {
            s.step();
            is_over = std::chrono::steady_clock::now() - begin >= duration;
        }
        result.cycles += l.cycles;
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

}  // namespace redlock::bench
