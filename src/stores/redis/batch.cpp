#include "stores/redis/batch.hpp"

#include <algorithm>
#include <utility>

namespace redlock::stores::redis {

namespace {

// The most elements of one reply that the client keeps in memory. A reply about a set of locks has up to 769.
constexpr std::size_t elements_max = 1024;

}  // namespace

void batch::clear()
{
    request.clear();
    indexed_ = false;
    by_key_.clear();
    entries.clear();
    on_answer = {};
    word_at = 0;
    for (std::size_t i = 0; i <= complete_ && i < replies.size(); ++i) {  // the last reply may be incomplete
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

void batch::take(resp::element const& e)
{
    if (keeps_parts)
        parts.push_back({e.type, e.depth, std::string(e.text)});
    if (e.depth == 0) {
        replies.resize(std::max(replies.size(), complete_ + 1));
        replies[complete_].type = e.type;
        replies[complete_].text = e.text;
    } else if (auto& all = replies[complete_].elements; e.depth == 1 && all.size() < elements_max) {
        all.emplace_back(e.text);
    }
}

}  // namespace redlock::stores::redis
