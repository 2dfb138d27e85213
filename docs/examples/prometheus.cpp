// An HTTP handler that answers a scrape of Prometheus.

#include <redlock.hpp>
#include <redlock/prometheus.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;

//[handler
// Returns the field Content-Type and the body of the response. accept: the field Accept of the request; may be empty.
std::pair<std::string, std::string> metrics(redlock::lock_manager const& locks, std::string_view accept)
{
    auto const format = redlock::metrics_format_for(accept);
    return {content_type(format), prometheus_text(locks.stats(), format)};
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    asio::io_context context;
    redlock::lock_manager orders(context, {.nodes = nodes}), reports(context, {.nodes = nodes});
    orders.async_try_acquire("order:7", [](redlock::error_code, redlock::lock) {});
    context.run_for(std::chrono::milliseconds(100));

    std::cout << metrics(orders, "text/plain").second;
    //[several
    std::vector<redlock::metrics_source> const all{{.stats = orders.stats(), .labels = {{"manager", "orders"}}},
                                                   {.stats = reports.stats(), .labels = {{"manager", "reports"}}}};
    auto const text = redlock::prometheus_text(all);
    //]
    bool const both = text.find("redlock_released_total{manager=\"orders\"} 1\n") != text.npos
                      && text.find("redlock_released_total{manager=\"reports\"} 0\n") != text.npos;
    return both ? 0 : 1;
}
