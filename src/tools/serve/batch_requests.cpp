#include "tools/serve/batch_requests.hpp"

#include "tools/serve/fields.hpp"
#include "tools/serve/long_requests.hpp"
#include "tools/serve/problems.hpp"

#include <redlock/beast.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

constexpr std::size_t operations_max = 100;

// The answers have a body that ends with a line feed, or none.
void add_result(std::string& to, response const& r)
{
    std::string_view body = r.body();
    body.remove_suffix(body.ends_with('\n') ? 1 : 0);
    to.append(to.empty() ? "{\"results\":[" : ",").append("{\"status\":").append(std::to_string(r.result_int()));
    if (!body.empty())
        to.append(",\"body\":").append(body);
    to.append("}");
}

}  // namespace

struct batch_requests::operation {
    using function_type = asio::awaitable<answer> (lock_requests::*)(call const&);

    /// The kinds of operations, and the fields of each.
    struct kind {
        std::string_view name;
        function_type function;
        std::initializer_list<std::string_view> known;
    };
    static kind const kinds[];

    function_type function = nullptr;
    serve::request request{};
    serve::target target{};
};

// An acquisition does not wait: the others would get their answers too late.
batch_requests::operation::kind const batch_requests::operation::kinds[] = {
    {"acquire", &lock_requests::acquire, {"resources", "ttl_ms", "mode", "owner", "note", "session"}},
    {"extend", &lock_requests::extend, {"id", "ttl_ms", "session"}},
    {"release", &lock_requests::release, {"id"}},
};

std::vector<batch_requests::operation> batch_requests::operations_in(call const& c)
{
    auto const wrong = [](std::string const& why) { return wrong_field("an element of operations is wrong: " + why); };
    auto const key = std::string(c.r["Idempotency-Key"]);
    fields const body(c.r.body(), {"operations"});
    std::vector<operation> all;
    for (auto& element : body.objects("operations", operations_max)) {
        auto const* const k = std::ranges::find_if(
            operation::kinds, [&](auto const& one) { return element.size() == 1 && element.contains(one.name); });
        if (k == std::end(operation::kinds) || !element.begin()->value().is_object())
            throw wrong("it must have one field, acquire, extend or release, which is an object");
        auto& given = element.begin()->value().get_object();
        for (auto const& field : given) {
            if (std::ranges::find(k->known, std::string_view(field.key())) == k->known.end())
                throw wrong(unknown_field("field", field.key(), k->known).what());
        }
        operation o{.function = k->function};
        if (k->function != &lock_requests::acquire) {
            auto const* const id = given.if_contains("id");
            if (!id || !id->is_string())
                throw wrong("id must be a text");
            o.target.path = {"v1", "held", std::string(id->get_string())};
            given.erase("id");
        } else if (!key.empty()) {
            o.request.set("Idempotency-Key", key + '\n' + std::to_string(all.size()));  // no header has a line feed
        }
        o.request.method(http::verb::post);
        o.request.body() = json::serialize(given);
        all.push_back(std::move(o));
    }
    return all;
}

asio::awaitable<answer> batch_requests::run(call const& c)
{
    auto const operations = operations_in(c);
    auto const executor = co_await asio::this_coro::executor;
    auto const start = [&](operation const& o) { return asio::co_spawn(executor, run_one(o, c), asio::deferred); };
    std::vector<decltype(start(operations.front()))> started;
    for (auto const& o : operations)
        started.push_back(start(o));
    auto [order, failures, answers] = co_await asio::experimental::make_parallel_group(std::move(started))
                                          .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    // From here on, nothing may wait or fail: nobody else knows the locks.
    answer all;
    std::string results;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        auto const& a = answers[i];
        add_result(results, failures[i] ? problem_response(c.r, asio::error::operation_aborted) : a.response);
        all.acquired.insert(all.acquired.end(), a.acquired.begin(), a.acquired.end());
    }
    all.response = document_of(c.r, http::status::ok, results + "]}\n");
    co_return all;
}

asio::awaitable<answer> batch_requests::run_one(operation const& o, call const& batch)
{
    call const c{.r = o.request, .target = o.target, .client = batch.client, .connection = batch.connection};
    bool const is_short = o.function != &lock_requests::acquire;  // the other ones count themselves
    answer a;
    try {
        if (auto refusal = is_short ? refusal_of_short_request(all_, c) : std::nullopt) {
            a.response = std::move(*refusal);
        } else {
            client_loads::place const place(all_.loads, c.client, {.others = is_short ? 1u : 0u});
            a = co_await (locks_.*o.function)(c);
        }
    } catch (wrong_field const& e) {
        a.response = bad_request(c.r, e.what());
    }
    log_refusal(all_, c, a.response);
    co_return a;
}

}  // namespace redlock::serve
