// Breadth-first search through every state that a model can reach.
#pragma once

#include "model/layout.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::model {

/// The result of the search.
struct report {
    std::uint64_t states = 0;
    unsigned depth = 0;              ///< steps to the violation, or to the farthest states
    bool complete = true;            ///< false: there were more states than allowed
    std::string wrong;               ///< the property that broke; empty: none
    std::vector<std::string> trace;  ///< the shortest way to the violation: the initial state, then the steps
    double seconds = 0;
};

/// A list that grows without moving its elements, because moving would need twice the memory.
template <class T>
class store {
public:
    void push_back(T const& value)
    {
        if (size_ % chunk == 0)
            chunks_.push_back(std::make_unique_for_overwrite<T[]>(chunk));
        chunks_.back()[size_++ % chunk] = value;
    }
    T const& operator[](std::size_t i) const { return chunks_[i / chunk][i % chunk]; }
    std::size_t size() const noexcept { return size_; }

private:
    static constexpr std::size_t chunk = std::size_t(1) << 18;
    std::vector<std::unique_ptr<T[]>> chunks_;
    std::size_t size_ = 0;
};

/** Visits every state of @p Model once, nearest first.

    A model has:
    - `state` and `step`, plain values;
    - `begin(visit)`: calls `visit(state)` for each initial state;
    - `steps(state, visit)`: calls `visit(step)` for each step that may be possible;
    - `carry_out(state, step)`: changes the state; returns false if the step is not possible or changes nothing;
    - `settle(before, after, step)`: tidies up, and returns the property that the step broke, or null;
    - `nodes()`, `attempts()` and the fields of its state, as @ref layout describes;
    - `tell(state)` and `tell(before, step, after)`: describe an initial state, and a step;
    - if it has goals, `is_goal(state)`, and `stuck`: the message about a state from which no goal can be reached.

    Each state needs 20 bytes, and 6 to 11 more in the index. With goals, each step needs 8 bytes.
*/
template <class Model>
class explorer {
public:
    explorer(Model const& m, std::uint64_t states_max)
        : model_(m), layout_(m), states_max_(std::min<std::uint64_t>(states_max, none / 2)), slots_(1 << 16, none)
    {
    }

    report run()
    {
        auto const begun = std::chrono::steady_clock::now();
        model_.begin([this](auto const& s) { add(layout_.pack(s), none); });
        std::size_t level_end = states_.size();
        for (std::size_t i = 0; i < states_.size() && report_.wrong.empty(); ++i) {
            if (i == level_end) {
                ++report_.depth;
                level_end = states_.size();
            }
            if (states_.size() > states_max_) {
                report_.complete = false;
                break;
            }
            visit(static_cast<std::uint32_t>(i));
        }
        if constexpr (has_goals) {
            if (report_.complete && report_.wrong.empty())
                find_stuck();
        }
        report_.states = states_.size();
        report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        return std::move(report_);
    }

private:
    using state = typename Model::state;
    using step = typename Model::step;
    static constexpr std::uint32_t none = ~std::uint32_t(0);
    static constexpr bool has_goals = requires { Model::stuck; };

    // Calls visit(step, after, wrong) for each possible step.
    void each_step(state const& before, auto visit) const
    {
        model_.steps(before, [&](step const& how) {
            auto after = before;
            if (!model_.carry_out(after, how))
                return;
            auto const* const wrong = model_.settle(before, after, how);
            visit(how, after, wrong);
        });
    }

    void visit(std::uint32_t from)
    {
        auto const before = layout_.unpack(states_[from]);
        each_step(before, [&](step const&, state const& after, char const* wrong) {
            if (wrong && report_.wrong.empty()) {
                report_.wrong = wrong;
                report_.trace = trace_to(from, layout_.pack(after), true);
                report_.depth = static_cast<unsigned>(report_.trace.size()) - 1;
            }
            auto const to = add(layout_.pack(after), from);
            if constexpr (has_goals)
                edges_.emplace_back(to, from);
        });
    }

    std::uint32_t add(packed const& key, std::uint32_t from)
    {
        auto& slot = find(key);
        if (slot != none)
            return slot;
        auto const added = slot = static_cast<std::uint32_t>(states_.size());
        states_.push_back(key);
        parents_.push_back(from);
        if (states_.size() > slots_.size() / 5 * 3)
            grow();
        return added;
    }

    // Searches backwards from the goals. The nearest state that is not reached is stuck.
    void find_stuck()
    {
        std::sort(edges_.begin(), edges_.end());
        std::vector<bool> visited(states_.size());
        std::vector<std::uint32_t> way;
        auto const visit = [&](std::uint32_t i) {
            if (!visited[i])
                way.push_back(i);
            visited[i] = true;
        };
        for (std::uint32_t i = 0; i < states_.size(); ++i) {
            if (model_.is_goal(layout_.unpack(states_[i])))
                visit(i);
        }
        while (!way.empty()) {
            auto const to = way.back();
            way.pop_back();
            for (auto e = std::lower_bound(edges_.begin(), edges_.end(), std::pair(to, 0u));
                 e != edges_.end() && e->first == to; ++e)
                visit(e->second);
        }
        auto const stuck =
            static_cast<std::uint32_t>(std::find(visited.begin(), visited.end(), false) - visited.begin());
        if (stuck == visited.size())
            return;
        report_.wrong = Model::stuck;
        report_.trace = trace_to(parents_[stuck], states_[stuck], false);
        report_.depth = static_cast<unsigned>(report_.trace.size()) - 1;
    }

    std::uint32_t& find(packed const& key)
    {
        auto const mask = slots_.size() - 1;
        auto i = hash(key) & mask;
        while (slots_[i] != none && states_[slots_[i]] != key)
            i = (i + 1) & mask;
        return slots_[i];
    }

    void grow()
    {
        auto const size = slots_.size() * 2;
        slots_ = {};  // freed first, so that both never exist together
        slots_.resize(size, none);
        for (std::size_t i = 0; i < states_.size(); ++i) {
            auto at = hash(states_[i]) & (size - 1);
            while (slots_[at] != none)
                at = (at + 1) & (size - 1);
            slots_[at] = static_cast<std::uint32_t>(i);
        }
    }

    static std::uint64_t hash(packed const& key)
    {
        auto h = (key.low ^ (key.high * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
        h = (h ^ h >> 29) * 0x94d049bb133111ebu;
        return h ^ h >> 32;
    }

    // States are stored with nodes and attempts renumbered. The trace repeats the steps with the original numbers.
    std::vector<std::string> trace_to(std::uint32_t last, packed const& end, bool breaks)
    {
        std::vector<packed> way{end};
        for (auto i = last; i != none; i = parents_[i])
            way.push_back(states_[i]);
        auto now = layout_.unpack(way.back());
        std::vector<std::string> text{model_.tell(now)};
        for (auto i = way.size() - 1; i-- > 0;) {
            bool found = false;
            auto const before = now;
            each_step(before, [&](step const& how, state const& after, char const* wrong) {
                if (found || (wrong != nullptr) != (breaks && i == 0) || layout_.pack(after) != way[i])
                    return;
                found = true;
                now = after;
                text.push_back(model_.tell(before, how, after));
            });
            assert(found);
        }
        return text;
    }

    Model const& model_;
    layout<Model> const layout_;
    std::uint64_t const states_max_;
    store<packed> states_;
    store<std::uint32_t> parents_;
    std::vector<std::uint32_t> slots_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // with goals: to, from
    report report_;
};

template <class Model>
report explore(Model const& m, std::uint64_t states_max)
{
    return explorer<Model>(m, states_max).run();
}

/// The name of a client in a trace.
inline char letter(unsigned client) { return static_cast<char>('A' + client); }

/// A model with its rules, and its expected result.
struct world {
    std::string name;
    std::string about;
    bool safe = true;    ///< false: a control, in which a violation must be found
    bool large = false;  ///< only with --large
    std::function<report(std::uint64_t states_max)> run{};
};

/// Collects the worlds of a model.
template <class Model, class Rules>
struct worlds {
    void safe(std::string name, std::string about, Rules r) { add({.name = name, .about = about}, r); }
    void large(std::string name, std::string about, Rules r) { add({.name = name, .about = about, .large = true}, r); }
    void control(std::string name, std::string about, Rules r)
    {
        add({.name = name, .about = about, .safe = false}, r);
    }

    std::vector<world> all;

private:
    void add(world w, Rules const& rules)
    {
        w.run = [rules](std::uint64_t states_max) { return explore(Model(rules), states_max); };
        all.push_back(std::move(w));
    }
};

}  // namespace redlock::model
