#include "tools/serve/service_log.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <utility>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;
using namespace std::chrono_literals;

constexpr auto line_interval = 1s;
constexpr std::size_t detail_max = 300;

// A text of a client must not look like another part of the line.
std::string in_quotes(std::string_view text)
{
    std::string all = "\"";
    for (char const c : text) {
        if (c == '"' || c == '\\')
            all += '\\';
        all += c;
    }
    return all + '"';
}

// Why the request is refused, as its client reads it.
// A client may send the id of a lock, or a token, where a name belongs. The reason has it in quotation marks.
std::string without_secret(std::string_view text, std::function<bool(std::string_view)> const& is_secret)
{
    auto const begin = text.find('"'), end = text.rfind('"');
    if (begin == end || !is_secret(text.substr(begin + 1, end - begin - 1)))
        return std::string(text);
    return std::string(text.substr(0, begin + 1)) + "…" + std::string(text.substr(end));
}

std::string detail_of(response const& r, std::function<bool(std::string_view)> const& is_secret)
{
    boost::system::error_code ec;
    auto const body = boost::json::parse(r.body(), ec);
    auto const* const fields = body.if_object();
    auto const* const detail = fields ? fields->if_contains("detail") : nullptr;
    if (ec || !detail || !detail->is_string())
        return {};  // the answer to HEAD
    auto const text = without_secret(detail->get_string(), is_secret);
    return ": " + in_quotes(text.substr(0, detail_max));
}

std::string holder_of(lock_info const& l)
{
    if (l.mode == mode::shared)
        return "readers";
    return (l.owner.empty() ? "an unknown owner" : in_quotes(l.owner))
           + (l.note.empty() ? std::string() : ", note " + in_quotes(l.note));
}

}  // namespace

service_log::service_log(asio::any_io_executor e, std::function<void(std::string const&)> write)
    : executor_(std::move(e)), write_(std::move(write))
{
}

service_log::~service_log()
{
    for (auto const& [status, r] : refusals_) {
        r->is_running = false;
        r->timer.cancel();
    }
}

void service_log::broke(std::string const& who, lock_info const& seen, break_info const& info)
{
    write_(who + " broke the lock " + in_quotes(seen.resource) + " of " + holder_of(seen) + ": deleted on "
           + std::to_string(info.deleted) + " of " + std::to_string(info.nodes.size()) + " nodes");
}

bool service_log::is_refusal(response const& r)
{
    auto const is = r.result();
    return is == http::status::unauthorized || is == http::status::forbidden || is == http::status::too_many_requests;
}

void service_log::refused(std::string const& who, response const& r,
                          std::function<bool(std::string_view)> const& is_secret)
{
    auto& all = refusals_[r.result_int()];
    if (!all)
        all = std::make_shared<refusals>(executor_);
    if (all->is_running) {
        ++all->more;
        all->last_from = who;
        return;
    }
    write_("refused with " + std::to_string(r.result_int()) + ": " + who + detail_of(r, is_secret));
    run(r.result_int(), all);
}

void service_log::run(unsigned status, std::shared_ptr<refusals> const& all)
{
    all->is_running = true;
    all->timer.expires_after(line_interval);
    all->timer.async_wait([this, status, all](boost::system::error_code) {
        if (std::exchange(all->is_running, false))  // otherwise the log is destroyed
            write_rest(status, all);
    });
}

void service_log::write_rest(unsigned status, std::shared_ptr<refusals> const& all)
{
    auto const more = std::exchange(all->more, 0);
    if (more == 0)
        return;
    write_("refused with " + std::to_string(status) + ": " + std::to_string(more)
           + " more in the last second, the last of " + all->last_from);
    run(status, all);
}

}  // namespace redlock::serve
