#include "tools/redlock/locks/wait_graph.hpp"

#include "tools/redlock/args/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace redlock::cli {

namespace {

constexpr std::size_t waits_max = 100'000;

std::set<std::string_view> holders_of(lock_info const& l)
{
    std::set<std::string_view> holders;
    if (l.locked && l.mode == mode::exclusive)
        holders.insert(l.owner);
    for (auto const& r : l.readers) {
        if (l.locked && r.nodes >= l.nodes.size() / 2 + 1)
            holders.insert(r.owner);
    }
    holders.erase(std::string_view());
    return holders;
}

/// Finds cycles by a search in depth.
class cycle_search {
public:
    explicit cycle_search(std::vector<process_wait> const& all)
    {
        for (auto const& w : all)
            waits_of_[w.waiter].push_back(&w);
    }

    std::vector<std::vector<process_wait>> run()
    {
        for (auto const& [process, waits] : waits_of_) {
            enter(process);
            while (!path_.empty())
                go_on();
        }
        return std::move(found_);
    }

private:
    struct step {
        std::string_view process;
        std::size_t next = 0;  ///< the first wait of the process that is not followed yet
    };

    void enter(std::string_view process)
    {
        if (seen_.insert(process).second)
            path_.push_back({process});
    }

    void go_on()
    {
        auto& last = path_.back();
        auto const waits = waits_of_.find(last.process);
        if (waits == waits_of_.end() || last.next == waits->second.size())
            return path_.pop_back();
        auto const& holder = waits->second[last.next++]->holder;
        auto const begin = std::ranges::find(path_, std::string_view(holder), &step::process);
        if (begin == path_.end())
            return enter(holder);
        std::vector<process_wait> cycle;
        for (auto s = begin; s != path_.end(); ++s)
            cycle.push_back(*waits_of_.at(std::string(s->process))[s->next - 1]);
        found_.push_back(std::move(cycle));
        path_.erase(begin, path_.end());
    }

    std::map<std::string, std::vector<process_wait const*>, std::less<>> waits_of_;
    std::set<std::string_view> seen_;
    std::vector<step> path_;
    std::vector<std::vector<process_wait>> found_;
};

}  // namespace

void wait_graph::add(lock_info const& l)
{
    for (auto const& holder : holders_of(l)) {
        for (auto const& w : l.waiters) {
            bool const waits = !w.owner.empty() && w.owner != holder && !(w.shares && l.mode == mode::shared);
            if (!waits)
                continue;
            if (waits_.size() == waits_max) {
                is_complete_ = false;
                return;
            }
            waits_.push_back({w.owner, std::string(holder), l.resource, w.note, w.shares});
        }
    }
}

std::vector<std::vector<process_wait>> wait_graph::cycles() const { return cycle_search(waits_).run(); }

std::string text_of(std::vector<process_wait> const& cycle)
{
    std::string text;
    for (auto const& w : cycle)
        text += fmt::format("{}{} waits for \"{}\", which {} holds", text.empty() ? "" : "; ", printable(w.waiter),
                            printable(w.resource), printable(w.holder));
    return text;
}

}  // namespace redlock::cli
