// Locks in a store other than Redis. Here the store is a table in this process.
#include <redlock.hpp>

#include <boost/asio.hpp>

#include <map>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

//[table
// Each function is one atomic step, by the store's own clock.
class lock_table : public redlock::plain_store {
    asio::awaitable<bool> set_if_absent(std::string key, std::string value, milliseconds ttl) override
    {
        bool const is_free = rows_[key].expires <= redlock::clock::now();
        if (is_free)
            rows_[key] = {value, redlock::clock::now() + ttl};
        co_return is_free;
    }
    asio::awaitable<bool> compare_and_delete(std::string key, std::string value) override
    {
        co_return holds(key, value) && rows_.erase(key) == 1;
    }
    asio::awaitable<bool> compare_and_extend(std::string key, std::string value, milliseconds ttl) override
    {
        if (holds(key, value))  // never shorten
            rows_[key].expires = std::max(rows_[key].expires, redlock::clock::now() + ttl);
        co_return holds(key, value);
    }
    bool holds(std::string const& key, std::string const& value)
    {
        return rows_[key].value == value && rows_[key].expires > redlock::clock::now();
    }
    struct row {
        std::string value;
        redlock::clock::time_point expires;
    };
    std::map<std::string, row> rows_;
};
//]

int main()
{
    asio::io_context context;
    //[use
    auto const make = [](std::string_view url, auto&, auto&) {  // connect to the server at this URL here
        return redlock::make_plain_node(std::string(url), std::make_shared<lock_table>());
    };
    redlock::lock_manager locks(
        context, {.nodes = {"table://a", "table://b", "table://c"}, .stores = {{.schemes = {"table"}, .make = make}}});
    //]
    auto const work = [&](redlock::lock& l) -> asio::awaitable<void> { co_await l.async_extend(10s); };
    asio::co_spawn(context, locks.with_lock("stock", {.ttl = 5s}, work),
                   [&](auto) { locks.async_shutdown(asio::detached); });
    context.run();
    return locks.stats().released == 1 ? 0 : 1;
}
