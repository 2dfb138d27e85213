#pragma once

#include <poll.h>
#include <sys/time.h>
#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace redlock::test {

/// The client of an operator. Each call waits for its answer.
class plain_zookeeper {
public:
    explicit plain_zookeeper(std::uint16_t port)
        : handle_(zookeeper_init2(("127.0.0.1:" + std::to_string(port)).c_str(), nullptr, 60'000, nullptr, nullptr,
                                  ZOO_NO_LOG_CLIENTENV, [](char const*) {}))
    {
        while (zoo_state(handle_) != ZOO_CONNECTED_STATE)
            step();
    }

    ~plain_zookeeper() { zookeeper_close(handle_); }
    plain_zookeeper(plain_zookeeper const&) = delete;
    plain_zookeeper& operator=(plain_zookeeper const&) = delete;

    /// @return a code of ZooKeeper, like all functions here
    int create(std::string const& path, std::string const& data = {})
    {
        return wait([&](std::optional<int>* to) {
            return zoo_acreate(
                handle_, path.c_str(), data.data(), static_cast<int>(data.size()), &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT,
                [](int code, char const*, void const* p) { arrive(code, p); }, to);
        });
    }

    int remove(std::string const& path)
    {
        return wait([&](std::optional<int>* to) { return zoo_adelete(handle_, path.c_str(), -1, arrive, to); });
    }

    int exists(std::string const& path)
    {
        return wait([&](std::optional<int>* to) {
            return zoo_aexists(
                handle_, path.c_str(), 0, [](int code, Stat const*, void const* p) { arrive(code, p); }, to);
        });
    }

private:
    static void arrive(int code, void const* to) { *static_cast<std::optional<int>*>(const_cast<void*>(to)) = code; }

    int wait(std::function<int(std::optional<int>*)> const& ask)
    {
        std::optional<int> code;
        if (auto const asked = ask(&code); asked != ZOK)
            return asked;
        while (!code)
            step();
        return *code;
    }

    void step()
    {
        pollfd p{-1, 0, 0};
        int interest = 0;
        timeval tv{};
        zookeeper_interest(handle_, &p.fd, &interest, &tv);
        p.events = static_cast<short>(((interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0)
                                      | ((interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0));
        ::poll(&p, 1, static_cast<int>(tv.tv_sec * 1000 + tv.tv_usec / 1000) + 1);
        zookeeper_process(handle_, ((p.revents & POLLIN) != 0 ? ZOOKEEPER_READ : 0)
                                       | ((p.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0));
    }

    zhandle_t* const handle_;
};

}  // namespace redlock::test
