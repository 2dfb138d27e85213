#include "mysql_floor.hpp"

#include <fmt/format.h>
#include <mysql.h>

#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace redlock::bench {

namespace {

class connection {
public:
    explicit connection(std::uint16_t port) : handle_(mysql_init(nullptr), mysql_close)
    {
        if (!mysql_real_connect(handle_.get(), "127.0.0.1", "redlock", "", "redlock", port, nullptr, CLIENT_MULTI_RESULTS))
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
    constexpr auto value = "x'6120c3a476616c7565206f662074686520757375616c206c656e6774682c206f662061626f757420353020627974'";
    std::atomic<std::uint64_t> cycles{0};
    std::vector<std::unique_ptr<connection>> all;
    for (std::size_t i = 0; i < connections; ++i)
        all.push_back(std::make_unique<connection>(port));
    auto const begin = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> threads;
        for (auto& c : all) {
            threads.emplace_back([&, begin] {
                std::minstd_rand random(std::random_device{}());
                while (std::chrono::steady_clock::now() - begin < duration) {
                    auto const key = fmt::format("'0016{:016}'", random() % 1'000'000);
                    c->ask(fmt::format("CALL redlock_acquire({}, {}, 10000, 0, NULL, 0, 0)", key, value));
                    c->ask(fmt::format("CALL redlock_release({}, {}, NULL, 0)", key, value));
                    ++cycles;
                }
            });
        }
    }
    sample result;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result.cycles = cycles;
    return result;
}

}  // namespace redlock::bench
