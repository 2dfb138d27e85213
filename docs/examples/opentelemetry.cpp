// Traces an HTTP handler: the spans of its lock are children of its own span.

#include <redlock.hpp>
#include <redlock/opentelemetry.hpp>

#include <opentelemetry/exporters/ostream/span_exporter.h>
#include <opentelemetry/sdk/trace/simple_processor.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/trace/provider.h>

#include <boost/asio.hpp>

#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace asio = boost::asio;
namespace trace = opentelemetry::trace;
using namespace std::chrono_literals;

//[handler
asio::awaitable<void> handle_order(redlock::lock_manager& locks)
{
    auto const span = trace::Provider::GetTracerProvider()->GetTracer("shop")->StartSpan("handle order");
    auto const parent = redlock::parent_span(span->GetContext());
    redlock::lock order = co_await locks.async_acquire("order:7", {.ttl = 5s, .wait = 1s, .context = &parent});
    // … the work …
    co_await order.async_release();
    span->End();
}
//]

// Prints all spans as text, so that the example needs no collector.
std::ostringstream& print_spans()
{
    static std::ostringstream text;
    namespace sdk = opentelemetry::sdk::trace;
    auto exporter = std::make_unique<opentelemetry::exporter::trace::OStreamSpanExporter>(text);
    auto processor = std::make_unique<sdk::SimpleSpanProcessor>(std::move(exporter));
    std::shared_ptr<trace::TracerProvider> const provider = std::make_shared<sdk::TracerProvider>(std::move(processor));
    trace::Provider::SetTracerProvider(opentelemetry::nostd::shared_ptr<trace::TracerProvider>(provider));
    return text;
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    auto const& printed = print_spans();
    asio::io_context context;
    //[observer
    auto const tracer = trace::Provider::GetTracerProvider()->GetTracer("redlock");
    redlock::lock_manager locks(context, {.nodes = nodes, .observer = redlock::open_telemetry(tracer)});
    //]
    auto run = [&]() -> asio::awaitable<void> {
        co_await handle_order(locks);
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run, [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();

    std::cout << printed.str();
    auto const has = [all = printed.str()](char const* part) { return all.find(part) != all.npos; };
    return has("lock acquire") && has("lock hold") && has("redlock.outcome: released") ? 0 : 1;
}
