#include "redis/batch.hpp"

#include <algorithm>
#include <utility>

namespace redlock::redis {

namespace {

// What a server may make us remember of one reply; a longer one is cut off and then has an unexpected shape.
constexpr std::size_t text_max = 16 * 1024;
constexpr std::size_t elements_max = 1024;  // of which a set of locks takes up to 769
constexpr std::size_t pushes_max = 4096;  // of which more than this are told as one: all

boost::redis::request::config one_try()
{
    boost::redis::request::config c;
    // A command whose answer is lost is never sent again: a repeated SET NX is a lock that nobody timed.
    c.cancel_if_unresponded = true;
    c.cancel_on_connection_lost = true;
    return c;
}

}  // namespace

batch::batch() : request(one_try()) {}

void batch::clear()
{
    request.clear();
    indexed_ = false;
    by_key_.clear();
    entries.clear();
    look = {};
    for (std::size_t i = 0; i <= complete_ && i < replies.size(); ++i) {  // the last may have broken off
        replies[i].text.clear();
        replies[i].elements.clear();
    }
    complete_ = 0;
}

void batch::index()
{
    if (std::exchange(indexed_, true))
        return;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].tracked_from == 0)
            continue;
        for (auto const& key : entries[i].operation->command().keys)
            by_key_.emplace(key, i);
    }
}

void batch::put(reply r)
{
    replies.resize(std::max(replies.size(), complete_ + 1));
    replies[complete_++] = std::move(r);
}

boost::redis::any_adapter batch::adapter()
{
    // It accepts every reply, errors included: one that complained would end the connection.
    return boost::redis::any_adapter::impl_t(
        [this](auto event, boost::redis::resp3::node_view const& node, boost::system::error_code&) { take(event, node); });
}

void batch::take(boost::redis::any_adapter::parse_event event, boost::redis::resp3::node_view const& node)
{
    using event_type = boost::redis::any_adapter::parse_event;
    switch (event) {
    case event_type::init:
        if (replies.size() <= complete_)
            replies.resize(complete_ + 1);
        break;
    case event_type::node: {
        auto& r = replies[complete_];
        if (node.depth == 0) {
            r.type = node.data_type;
            r.text = node.value.substr(0, text_max);
        } else if (node.depth == 1 && r.elements.size() < elements_max) {
            r.elements.emplace_back(node.value.substr(0, text_max));
        }
        break;
    }
    case event_type::done:
        ++complete_;
        break;
    }
}

boost::redis::any_adapter push_reader::adapter(std::function<void(std::string_view)> parsed)
{
    parsed_ = std::move(parsed);
    return boost::redis::any_adapter::impl_t(
        [this](auto event, boost::redis::resp3::node_view const& node, boost::system::error_code& ec) { read(event, node, ec); });
}

// >2 invalidate [key, …], or a null instead of the keys when the server has been flushed.
void push_reader::read(boost::redis::any_adapter::parse_event event, boost::redis::resp3::node_view const& node, error_code& ec)
{
    using boost::redis::resp3::type;
    if (event != boost::redis::any_adapter::parse_event::node)
        return;
    if (node.depth == 0 && node.data_type != type::push)
        ec = errc::unexpected_reply;  // Boost.Redis hands replies that no request waits for to us, too: who knows what the next ones answer
    else if (node.depth == 0)
        invalidates_ = false;
    else if (node.depth == 1 && node.data_type == type::null && invalidates_)
        add({});
    else if (node.depth == 1)
        invalidates_ = invalidates_ || node.value == "invalidate";
    else if (node.depth == 2 && invalidates_)
        add(node.value);
}

void push_reader::add(std::string_view key)
{
    parsed_(key);
    if (changed_.size() < pushes_max)
        changed_.emplace_back(key);
    else
        changed_.back().clear();
}

}  // namespace redlock::redis
