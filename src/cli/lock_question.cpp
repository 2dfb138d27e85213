#include "cli/lock_question.hpp"

#include "core/key.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

namespace redlock::cli {

namespace {

using std::chrono::milliseconds;

// The server's clock. The list of readers has their ends by that clock.
std::optional<milliseconds> time_of(reply const& time)
{
    if (time.elements.size() != 2)
        return std::nullopt;
    auto const seconds = time.elements[0].number(), micros = time.elements[1].number();
    return seconds && micros ? std::optional(milliseconds(*seconds * 1000 + *micros / 1000)) : std::nullopt;
}

// The end of a reader: a score is a double, and a server may write it with an exponent.
std::optional<milliseconds> end_of(reply const& score)
{
    double value = 0;
    auto const [end, ec] = std::from_chars(score.text.data(), score.text.data() + score.text.size(), value);
    constexpr double never = 1e15;  // another client may have written infinity
    return ec == std::errc() ? std::optional(milliseconds(static_cast<std::int64_t>(std::clamp(value, -never, never))))
                             : std::nullopt;
}

void count_readers(std::map<std::string, reader_view>& readers, reply const& list, reply const& time)
{
    auto const now = time_of(time);
    for (auto const& entry : list.elements) {
        if (entry.elements.size() != 2 || !now)
            continue;
        auto const end = end_of(entry.elements[1]);
        if (!end)
            continue;
        auto& reader = readers[entry.elements[0].text];
        reader.ttl = reader.votes == 0 ? *end - *now : std::max(reader.ttl, *end - *now);
        ++reader.votes;
    }
}

// Reads an entry of the list of denied clients: "r" for one that wants to share the lock, else "1" and its note. A
// client that wants both on different nodes wants it alone.
void add_wish(waiting_view& client, std::string_view entry)
{
    client.shares = client.shares && entry == "r";
    if (entry.starts_with('1') && client.note.empty())
        client.note = entry.substr(1);
}

}  // namespace

asio::awaitable<lock_answer> ask_about(servers& all, std::string prefix, std::string key)
{
    auto const at = prefix + key;
    questions about;
    about.push_back({"GET", at});
    about.push_back({"PTTL", at});
    about.push_back({"HGETALL", core::wanted_key(at)});
    about.push_back({"TIME"});
    about.push_back({"ZRANGE", core::readers_key(at), "0", "-1", "WITHSCORES"});
    auto const told = co_await all.ask_all(std::move(about));

    lock_answer answer;
    std::vector<node_view> nodes;
    std::map<std::string, reader_view> readers;
    std::map<std::string, waiting_view> waiting;  // by process
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& r = told[i].replies;
        nodes.push_back(view_of(all.name(i), r[0], r[1]));
        if (nodes.back().state == lock_state::shared) {  // otherwise the list of readers is not valid
            count_readers(readers, r[4], r[3]);
            if (r[3].failed() || r[4].failed())
                answer.readers_hidden = (r[3].failed() ? r[3] : r[4]).text;
        }
        if (r[2].failed())
            continue;
        answer.waiting.emplace();
        for (std::size_t w = 0; w + 1 < r[2].elements.size(); w += 2) {
            auto const& process = r[2].elements[w].text;
            auto& wish = waiting.try_emplace(process, waiting_view{.shares = true}).first->second;
            add_wish(wish, r[2].elements[w + 1].text);
        }
    }
    answer.lock = lock_view_of(std::move(key), std::move(nodes));
    for (auto& [value, reader] : readers) {
        reader.owner = core::owner_in(value);
        reader.value = value;
        answer.readers.push_back(std::move(reader));
    }
    for (auto& [process, wish] : waiting) {
        wish.owner = core::owner_of_contender(process);
        answer.waiting->push_back(std::move(wish));
    }
    co_return answer;
}

}  // namespace redlock::cli
