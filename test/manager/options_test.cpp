// A call copies what its options name before it returns. Here, those objects are destroyed immediately afterwards.

#include "support/manager_test.hpp"

#include <boost/asio/deferred.hpp>

#include <tuple>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(options_of_calls)

namespace {

// Longer than what std::string keeps without an allocation, so that a sanitizer sees the end of each.
std::string const group_text = "a group of acquisitions: checkout";
std::string const note_text = "order 7777777777777777777777777777777777777777";
std::string const owner_text = "web-3.example.org, for a client of the service";
std::string const token_text = "0123456789abcdef0123456789abcdef:a token that replaces the ticket's";

/// The objects that the options of a call name. Their destructor overwrites them.
struct named_objects {
    explicit named_objects(std::shared_ptr<void const> of) : context(std::move(of)) {}
    named_objects(named_objects const&) = delete;
    ~named_objects()
    {
        for (auto* text : {&group, &note, &owner, &token})
            std::ranges::fill(*text, '?');
        context = std::make_shared<int>(-1);
    }

    acquire_options options() const
    {
        return {.ttl = 60s, .wait = 60s, .group = group, .context = &context, .note = note, .owner = owner};
    }

    std::string group = group_text, note = note_text, owner = owner_text, token = token_text;
    std::shared_ptr<void const> context;
};

/// The outcome of a call, from whatever its token passes on.
struct ending {
    void operator()(error_code e, lock l)
    {
        done = true;
        ec = e;
        held = std::move(l);
    }
    void operator()(std::exception_ptr e)
    {
        done = true;
        ec = code_of(e);
    }
    template <class... Results>
    void operator()(std::tuple<Results...> results)
    {
        std::apply(*this, std::move(results));
    }

    bool done = false;
    error_code ec;
    lock held;
};

auto into(ending& e)
{
    return [&e](auto... results) { e(std::move(results)...); };
}

struct observing : observer {
    void acquisition_begun(events::acquisition_begun const& e) override { contexts.push_back(e.context); }

    std::vector<std::shared_ptr<void const>> contexts;
};

struct borrowing {
    /// Makes the call @p start with each token, while another manager holds the lock, which it releases later. The
    /// value of the lock must then be as the options say.
    /// @p start gets the named objects and the token
    template <class Start>
    void check_each_token(Start start, std::string const& new_token = {})
    {
        auto const ask = [&](auto token) {
            named_objects const objects(context);
            return start(objects, std::move(token));
        };
        check("callback", new_token, [&](ending& e) { ask(into(e)); });
        check("deferred", new_token, [&](ending& e) {
            auto operation = ask(asio::deferred);
            std::move(operation)(into(e));
        });
        check("a copy of the deferred operation", new_token, [&](ending& e) {
            auto const operation = ask(asio::deferred);
            operation(into(e));
        });
        check("as_tuple", new_token, [&](ending& e) {
            auto operation = ask(asio::as_tuple(asio::deferred));
            std::move(operation)(into(e));
        });
        check("use_awaitable", new_token, [&](ending& e) { end_of(ask(asio::use_awaitable), e); });
        check("use_future", new_token, [&](ending& e) {
            // On the executor of the virtual time: alone, use_future would complete on another thread.
            auto future = ask(asio::bind_executor(w.context.get_executor(), asio::use_future));
            w.run_for(1ms);
            release_other();
            BOOST_TEST_REQUIRE(w.run_to([&] { return future.wait_for(0s) == std::future_status::ready; }));
            if constexpr (std::is_void_v<decltype(future.get())>)
                future.get();
            else
                e.held = future.get();
            e.done = true;
        });
    }

    /// The call returns an awaitable.
    template <class Start>
    void check_awaitable(Start start)
    {
        check("awaitable", {}, [&](ending& e) {
            auto const ask = [&] {
                named_objects const objects(context);
                return start(objects);
            };
            end_of(ask(), e);
        });
    }

    template <class T>
    void end_of(asio::awaitable<T> operation, ending& e)
    {
        spawned<T> running(w, std::move(operation));
        w.run_for(1ms);
        release_other();
        w.run_to([&] { return running.done; });
        e.done = running.done;
        e.ec = running.code();
        if constexpr (!std::is_void_v<T>) {
            if (running.value)
                e.held = std::move(*running.value);
        }
    }

    template <class Call>
    void check(std::string const& token, std::string const& new_token, Call call)
    {
        BOOST_TEST_CONTEXT("with the token " << token) {
            prepare();
            told->contexts.clear();
            seen.clear();
            auto const before = in_group();
            ending e;
            call(e);
            w.run_for(1ms);
            release_other();
            w.run_to([&] { return e.done; });

            BOOST_TEST(e.done);
            BOOST_TEST(!e.ec, e.ec.message());
            if (e.held.held())
                seen = e.held.token();
            if (new_token.empty()) {
                BOOST_TEST(contains(seen, ':' + owner_text + '\x1f'));
                BOOST_TEST(seen.ends_with('\x1f' + note_text));
            } else {
                BOOST_TEST(seen == new_token);
            }
            BOOST_TEST(in_group() == before + acquisitions);
            BOOST_TEST_REQUIRE(!told->contexts.empty());
            BOOST_TEST((told->contexts.front() == context));
            told->contexts.clear();
            e.held = {};
            w.run_for(1s);
            BOOST_TEST(w.keys("lock:stock") == 0u);
            BOOST_TEST(context.use_count() == 1);
        }
    }

    std::uint64_t in_group() const
    {
        auto const s = locks->stats();
        auto const at = std::ranges::find(s.groups, group_text, &group_stats::name);
        return at == s.groups.end() ? 0 : at->acquired;
    }

    /// Releases the lock of the other manager, if it holds one, so that the call under way gets it.
    void release_other() { others = {}; }

    lock_world w{3};
    std::shared_ptr<observing> const told = std::make_shared<observing>();
    std::unique_ptr<lock_manager> const locks = w.manager({.owner = "mine", .observer = told});
    std::unique_ptr<lock_manager> const other = w.manager();
    std::shared_ptr<void const> const context = std::make_shared<int>(7);
    lock others;
    std::string seen;                ///< the token of the lock
    std::uint64_t acquisitions = 1;  ///< for which a call counts
    std::function<void()> prepare = [this] { others = std::move(w.acquire(*other, "stock", {.ttl = 60s}).held); };

    /// The body of `with_lock`.
    struct note_token {
        asio::awaitable<void> operator()(lock& l) const
        {
            seen = l.token();
            co_return;
        }

        std::string& seen;
    } body{seen};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(async_acquire_copies_what_its_options_name, borrowing)
{
    check_each_token([&](auto& o, auto token) { return locks->async_acquire("stock", o.options(), std::move(token)); });
}

BOOST_FIXTURE_TEST_CASE(async_acquire_upgradeable_copies_what_its_options_name, borrowing)
{
    acquisitions = 2;
    check_each_token([&](auto& o, auto token) {
        auto options = o.options();
        options.mode = mode::upgradeable;
        return locks->async_acquire("stock", options, std::move(token));
    });
}

BOOST_FIXTURE_TEST_CASE(async_acquire_any_copies_what_its_options_name, borrowing)
{
    check_each_token(
        [&](auto& o, auto token) { return locks->async_acquire_any("stock", o.options(), std::move(token)); });
}

BOOST_FIXTURE_TEST_CASE(scope_async_acquire_copies_what_its_options_name, borrowing)
{
    lock_scope const scope(*locks);
    check_each_token([&](auto& o, auto token) { return scope.async_acquire("stock", o.options(), std::move(token)); });
}

BOOST_FIXTURE_TEST_CASE(async_resume_copies_what_its_options_name, borrowing)
{
    lock_ticket ticket;
    prepare = [&] { ticket = w.acquire(*other, "stock", {.ttl = 60s}).held.detach(); };
    check_each_token(
        [&](auto& o, auto token) {
            auto options = o.options();
            options.new_token = o.token;
            return locks->async_resume(ticket, options, std::move(token));
        },
        token_text);
}

BOOST_FIXTURE_TEST_CASE(with_lock_copies_what_its_options_name, borrowing)
{
    check_each_token(
        [&](auto& o, auto token) { return locks->with_lock("stock", o.options(), body, std::move(token)); });
    check_awaitable([&](auto& o) { return locks->with_lock("stock", o.options(), body); });
}

BOOST_FIXTURE_TEST_CASE(with_any_lock_copies_what_its_options_name, borrowing)
{
    check_each_token(
        [&](auto& o, auto token) { return locks->with_any_lock("stock", o.options(), body, std::move(token)); });
    check_awaitable([&](auto& o) { return locks->with_any_lock("stock", o.options(), body); });
}

BOOST_FIXTURE_TEST_CASE(scope_with_lock_copies_what_its_options_name, borrowing)
{
    lock_scope const scope(*locks);
    check_each_token(
        [&](auto& o, auto token) { return scope.with_lock("stock", o.options(), body, std::move(token)); });
    check_awaitable([&](auto& o) { return scope.with_lock("stock", o.options(), body); });
}

// g++ 12 destroys a temporary aggregate with a destructor twice within a co_await.
BOOST_FIXTURE_TEST_CASE(async_list_copies_what_its_options_name, borrowing)
{
    for (int i = 0; i < 20; ++i)
        w[0].entries["lock:" + std::to_string(i)] = {std::string(32, 'a') + ":web-1", w.now + 1h};
    auto const count = [&]() -> asio::awaitable<std::size_t> {
        std::size_t all = 0;
        std::string next;
        do {
            lock_page page = co_await locks->async_list("*", {.page_size = 3, .from = std::string(next)});
            all += page.locks.size();
            next = page.next;
            page.next.assign(next.size(), '?');
        } while (!next.empty());
        co_return all;
    };
    auto const counted = run(w, count());
    BOOST_TEST_REQUIRE(counted.succeeded());
    BOOST_TEST(*counted.value == 20u);

    auto const begin = [&](std::string from) {
        return locks->async_list("*", {.from = std::string(40, ' ') + from}, asio::deferred);
    };
    error_code refused;
    begin("x")([&](error_code ec, lock_page) { refused = ec; });
    w.run_for(1ms);
    BOOST_TEST((refused == errc::invalid_argument));
}

BOOST_FIXTURE_TEST_CASE(acquire_with_texts_that_are_too_long_names_the_limit, borrowing)
{
    std::string const text(1'000'000, 'x');
    auto const refusal = [&](acquire_options const& options) {
        auto const o = w.acquire(*locks, "stock", options);
        BOOST_TEST((o.ec == errc::invalid_argument));
        return o.report.message;
    };
    BOOST_TEST(refusal({.group = text}).ends_with("group has more than 64 bytes, but must have 0 to 64"));
    BOOST_TEST(refusal({.note = text}).ends_with("note has more than 200 bytes, but must have 0 to 200"));
    BOOST_TEST(refusal({.owner = text}).ends_with("owner has more than 256 bytes, but must have 0 to 256"));
}

BOOST_FIXTURE_TEST_CASE(call_options_without_texts_allocate_nothing_and_are_small, borrowing)
{
    static_assert(sizeof(detail::call_options) == sizeof(acquire_options) + sizeof(std::shared_ptr<void>));
    static_assert(!std::is_aggregate_v<detail::call_options>);
    detail::call_options const plain = acquire_options{.ttl = 5s, .wait = 1s};
    BOOST_TEST((plain.context == nullptr && plain.note.empty()));

    detail::call_options copy;
    {
        named_objects const objects(context);
        detail::call_options const first(objects.options());
        copy = first;
        BOOST_TEST(copy.note.data() == first.note.data());  // copies share the texts
    }
    BOOST_TEST((copy.group == group_text && copy.note == note_text && copy.owner == owner_text));
    BOOST_TEST((*copy.context == context));
}

BOOST_FIXTURE_TEST_CASE(lock_report_is_there_if_it_was_asked_for, borrowing)
{
    ending e;
    locks->async_acquire("stock", {.explain = true}, into(e));
    w.run_to([&] { return e.done; });
    auto const report = e.held.report();
    BOOST_TEST_REQUIRE(report);
    BOOST_TEST(report->message == "acquired");
    BOOST_TEST(report->nodes.size() == 3u);
    lock moved = std::move(e.held);
    BOOST_TEST((moved.report() == report && !e.held.report()));
    BOOST_TEST(!moved.share().report());

    ending refused;
    other->async_acquire("stock", {.explain = true}, into(refused));
    w.run_to([&] { return refused.done; });
    BOOST_TEST(refused.held.empty());
    BOOST_TEST_REQUIRE(refused.held.report());
    BOOST_TEST((refused.held.report()->outcome == errc::contended));

    ending silent;
    other->async_acquire("stock", into(silent));
    w.run_to([&] { return silent.done; });
    BOOST_TEST(!silent.held.report());
    moved = {};
    BOOST_TEST(!moved.report());
}

BOOST_AUTO_TEST_SUITE_END()
