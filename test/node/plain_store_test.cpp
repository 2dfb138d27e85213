// Nodes of plain stores: stores without scripts.

#include "support/node_suite.hpp"
#include "testing/node_client.hpp"

#include <redlock/plain_store.hpp>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(plain_stores)

namespace {

/// The keys of a store, for all its clients.
struct table {
    struct row {
        std::string value;
        clock::time_point expires;
    };

    row* find(std::string const& key)
    {
        auto const at = rows.find(key);
        return at == rows.end() || at->second.expires <= clock::now() ? nullptr : &at->second;
    }

    row* find(std::string const& key, std::string const& value)
    {
        auto* const r = find(key);
        return r && r->value == value ? r : nullptr;
    }

    std::map<std::string, row> rows;
    clock::duration delay{};              ///< how long the next sets take
    std::vector<std::string> failures{};  ///< for the next deletions, after they took effect
    int calls = 0;
};

class plain : public plain_store {
public:
    explicit plain(std::shared_ptr<table> t) : table_(std::move(t)) {}

    asio::awaitable<bool> set_if_absent(std::string key, std::string value, milliseconds ttl) override
    {
        ++table_->calls;
        if (table_->delay > 0ms) {
            asio::steady_timer timer(co_await asio::this_coro::executor, std::exchange(table_->delay, {}));
            co_await timer.async_wait(asio::use_awaitable);
        }
        bool const is_free = !table_->find(key);
        if (is_free)
            table_->rows[key] = {value, clock::now() + ttl};
        co_return is_free;
    }

    asio::awaitable<bool> compare_and_delete(std::string key, std::string value) override
    {
        ++table_->calls;
        bool const is_ours = table_->find(key, value);
        if (is_ours)
            table_->rows.erase(key);
        if (!table_->failures.empty()) {
            auto const why = table_->failures.back();
            table_->failures.pop_back();
            throw std::runtime_error(why);
        }
        co_return is_ours;
    }

protected:
    std::shared_ptr<table> const table_;
};

/// With the optional functions.
class full : public plain {
public:
    using plain::plain;

    asio::awaitable<bool> compare_and_extend(std::string key, std::string value, milliseconds ttl) override
    {
        auto* const r = table_->find(key, value);
        if (r)
            r->expires = std::max(r->expires, clock::now() + ttl);
        co_return r != nullptr;
    }

    asio::awaitable<std::optional<entry>> read(std::string key) override
    {
        auto const* const r = table_->find(key);
        if (!r)
            co_return std::nullopt;
        co_return entry{r->value, std::chrono::ceil<milliseconds>(r->expires - clock::now())};
    }
};

template <class Store>
testing::node_kind over(std::shared_ptr<table> t, milliseconds timeout = 1s)
{
    return {.make = [=] { return make_plain_node("table://a", std::make_shared<Store>(t), {.timeout = timeout}); },
            .fences = false,
            .heals = false,
            .contends = false,
            .locks_several = false,
            .locks_any = false,
            .shares = false,
            .replaces = false};
}

std::shared_ptr<testing::request> put(testing::client& c, commands::variant what, std::string value)
{
    return c.put({.what = what, .ttl = 10s}, "lock:stock", std::move(value));
}

}  // namespace

BOOST_AUTO_TEST_CASE(plain_node_with_all_functions_passes_the_suite)
{
    auto const failed = failed_cases(over<full>(std::make_shared<table>()));
    for (auto const& f : failed)
        BOOST_ERROR(f);
    BOOST_TEST(failed.empty());
}

BOOST_AUTO_TEST_CASE(plain_node_without_optional_functions_returns_unsupported)
{
    testing::client c(over<plain>(std::make_shared<table>()));
    BOOST_TEST(c.acquires("lock:stock", "v"));

    for (commands::variant const what :
         {commands::variant(commands::extend{}), commands::variant(commands::inspect{})}) {
        auto const r = c.answer_of(put(c, what, "v"));
        BOOST_TEST((r.vote == vote::unknown && r.untouched && r.error == errc::unsupported));
    }

    BOOST_TEST(c.releases("lock:stock", "v"));
}

// A second connection: the manager then asks again until the ttl is over.
BOOST_AUTO_TEST_CASE(release_after_a_lost_answer_is_sent_on_another_connection)
{
    auto const t = std::make_shared<table>();
    testing::client c(over<full>(t));
    BOOST_TEST(c.acquires("lock:stock", "v"));
    t->failures = {"the line is broken"};

    auto const first = put(c, commands::release{}, "v");
    auto const lost = c.answer_of(first);
    BOOST_TEST((lost.vote == vote::unknown && !lost.untouched && lost.text == "the line is broken"));
    auto const second = put(c, commands::release{}, "v");
    BOOST_TEST((c.answer_of(second).vote == vote::denied));

    BOOST_TEST(first->sent_on() != second->sent_on());
    BOOST_TEST(c.node().may_still_execute(first->sent_on()));
}

BOOST_AUTO_TEST_CASE(acquire_beyond_the_timeout_is_cancelled_and_the_next_goes_on)
{
    auto const t = std::make_shared<table>();
    testing::client c(over<full>(t, 50ms));
    t->delay = 10s;

    auto const slow = put(c, commands::acquire{}, "v"), next = put(c, commands::acquire{}, "w");
    auto const late = c.answer_of(slow);

    BOOST_TEST((late.vote == vote::unknown && !late.untouched && late.error == errc::node_timeout));
    BOOST_TEST((c.answer_of(next).vote == vote::granted));
    BOOST_TEST(slow->answers == 1);
    BOOST_TEST(c.releases("lock:stock", "w"));
}

BOOST_AUTO_TEST_CASE(acquire_withdrawn_behind_a_slow_call_is_not_sent)
{
    auto const t = std::make_shared<table>();
    testing::client c(over<full>(t));
    t->delay = 100ms;

    auto const slow = put(c, commands::acquire{}, "v"), withdrawn = put(c, commands::acquire{}, "w");
    withdrawn->is_withdrawn = true;

    BOOST_TEST((c.answer_of(slow).vote == vote::granted));
    auto const r = c.answer_of(withdrawn);
    BOOST_TEST((r.untouched && withdrawn->sent_on() == 0));
    BOOST_TEST(t->calls == 1);
    BOOST_TEST(c.releases("lock:stock", "v"));
}

BOOST_AUTO_TEST_CASE(acquire_of_another_key_passes_a_slow_call)
{
    auto const t = std::make_shared<table>();
    testing::client c(over<full>(t));
    t->delay = 200ms;

    auto const slow = put(c, commands::acquire{}, "v");
    BOOST_TEST(c.acquires("lock:other", "w"));

    BOOST_TEST(slow->answers == 0);
    BOOST_TEST((c.answer_of(slow).vote == vote::granted));
}

BOOST_AUTO_TEST_CASE(close_cancels_calls_and_completes_all_operations_once)
{
    auto const t = std::make_shared<table>();
    testing::client c(over<full>(t));
    t->delay = 10s;
    auto const slow = put(c, commands::acquire{}, "v"), next = put(c, commands::acquire{}, "w");
    c.run_to([&] { return slow->sent_on() != 0; }, "the first acquisition is not sent");

    c.close();

    BOOST_TEST((slow->answers == 1 && !slow->reply.untouched && slow->reply.error == errc::node_closed));
    BOOST_TEST((next->answers == 1 && next->reply.untouched));
    BOOST_TEST(t->rows.empty());
}

// Not a coroutine, so it throws before there is an awaitable.
BOOST_AUTO_TEST_CASE(acquire_with_a_function_that_throws_at_once_completes)
{
    class offline : public plain {
    public:
        using plain::plain;

        asio::awaitable<bool> set_if_absent(std::string, std::string, milliseconds) override
        {
            throw system_error(make_error_code(errc::node_unreachable), "offline");
        }
    };
    testing::client c(over<offline>(std::make_shared<table>()));
    for (int i = 0; i < 2; ++i) {  // the first one does not block the next one
        auto const r = c.answer_of(put(c, commands::acquire{}, "v"));
        BOOST_TEST((r.vote == vote::unknown && r.untouched && r.error == errc::node_unreachable));
    }
}

BOOST_AUTO_TEST_CASE(make_plain_node_with_a_wrong_argument_throws)
{
    auto const s = std::make_shared<plain>(std::make_shared<table>());
    BOOST_CHECK_THROW(make_plain_node("", s), std::invalid_argument);
    BOOST_CHECK_THROW(make_plain_node("table://a", nullptr), std::invalid_argument);
    BOOST_CHECK_THROW(make_plain_node("table://a", s, {.timeout = 0ms}), std::invalid_argument);
    BOOST_CHECK_THROW(make_plain_node("table://a", s, {.timeout = 61s}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
