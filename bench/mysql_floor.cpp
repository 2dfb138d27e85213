#include "mysql_floor.hpp"

#include "threads.hpp"

#include <fmt/format.h>
#include <mysql.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace redlock::bench {

namespace {

constexpr auto value =
    "x'6120c3a476616c7565206f662074686520757375616c206c656e6774682c206f662061626f757420353020627974'";

class connection {
public:
    explicit connection(std::uint16_t port) : handle_(mysql_init(nullptr), mysql_close)
    {
        if (!mysql_real_connect(handle_.get(), "127.0.0.1", "redlock", "", "redlock", port, nullptr,
                                CLIENT_MULTI_RESULTS))
            throw std::runtime_error(mysql_error(handle_.get()));
        ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }

    void ask(std::string const& text)
    {
        int more = mysql_real_query(handle_.get(), text.data(), text.size());
        for (; more == 0; more = mysql_next_result(handle_.get()))
            mysql_free_result(mysql_store_result(handle_.get()));
        if (more > 0)
            throw std::runtime_error(mysql_error(handle_.get()));
    }

private:
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> const handle_;
};

}  // namespace

sample run_mysql_floor(std::uint16_t port, std::size_t connections, std::chrono::milliseconds duration)
{
    std::vector<std::unique_ptr<connection>> all;
    for (std::size_t i = 0; i < connections; ++i)
        all.push_back(std::make_unique<connection>(port));
    return run_threads(all, duration, [](auto& c, auto number) {
        auto const key = fmt::format("'0016{:016}'", number);
        c->ask(fmt::format("CALL redlock_acquire({}, {}, 10000, 0, NULL, 0, 0)", key, value));
        c->ask(fmt::format("CALL redlock_release({}, {}, NULL, 0)", key, value));
    });
}

}  // namespace redlock::bench
