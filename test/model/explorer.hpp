// Breadth-first search through every state that a model can reach.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace redlock::model {

/// A state in 128 bits. What goes in last comes out first.
struct packed {
    std::uint64_t high = 0, low = 0;

    void push(unsigned bits, std::uint64_t value)
    {
        assert(bits > 0 && bits < 64 && value >> bits == 0 && high >> (64 - bits) == 0);
        high = high << bits | low >> (64 - bits);
        low = low << bits | value;
    }

    std::uint64_t pop(unsigned bits)
    {
        auto const value = low & ((std::uint64_t(1) << bits) - 1);
        low = low >> bits | high << (64 - bits);
        high >>= bits;
        return value;
    }

    friend auto operator<=>(packed const&, packed const&) = default;
};

constexpr unsigned nodes_max = 5;
constexpr unsigned attempts_max = 4;

/// How many nodes and attempts a state has, and how many bits of it belong to each node and to each attempt.
struct shape {
    unsigned nodes, attempts;
    unsigned node_bits, attempt_bits;
};

using numbering = std::array<std::uint8_t, attempts_max>;

/// An attempt plus one, in another numbering; 0, for none, stays.
inline std::uint64_t renumbered(unsigned attempt, numbering const& order)
{
    return attempt == 0 ? 0 : static_cast<std::uint64_t>(std::find(order.begin(), order.end(), attempt - 1) - order.begin()) + 1;
}

/** Packs a state so that all states which differ only in the numbering of nodes and attempts become one.

    Nodes are alike: each sends and receives the same messages, and quorums only count them. Attempts are alike: what
    distinguishes them (phase, token, hint, …) is part of the state. So a renumbered state has renumbered successors, and breaks
    a property exactly if the other does.

    @param own (attempt): what the state says of this attempt alone
    @param column (node, numbering): what it says of this node, with the attempts in this order
*/
template <class Own, class Column>
packed canonical(shape const& s, Own own, Column column)
{
    std::array<std::uint64_t, attempts_max> owns{};
    for (unsigned a = 0; a < s.attempts; ++a)
        owns[a] = own(a);
    numbering order{};
    std::iota(order.begin(), order.end(), std::uint8_t(0));
    auto const end = order.begin() + s.attempts;
    packed best;
    bool first = true;
    do {
        // Sorted by what they are; only among equals every order is tried.
        if (!std::is_sorted(order.begin(), end, [&](auto a, auto b) { return owns[a] < owns[b]; }))
            continue;
        std::array<std::uint64_t, nodes_max> columns{};
        for (unsigned n = 0; n < s.nodes; ++n) {
            auto const next = column(n, order);
            unsigned place = n;
            for (; place > 0 && columns[place - 1] > next; --place)
                columns[place] = columns[place - 1];
            columns[place] = next;
        }
        packed candidate;
        for (unsigned n = s.nodes; n-- > 0;)
            candidate.push(s.node_bits, columns[n]);
        for (unsigned a = s.attempts; a-- > 0;)
            candidate.push(s.attempt_bits, owns[order[a]]);
        if (first || candidate < best)
            best = candidate;
        first = false;
    } while (std::next_permutation(order.begin(), end));
    return best;
}

/// What the search found.
struct report {
    std::uint64_t states = 0;
    unsigned depth = 0;              ///< steps to the violation, or to the states that are farthest away
    bool complete = true;            ///< false: there were more states than allowed
    std::string wrong;               ///< the property that broke, empty if none
    std::vector<std::string> trace;  ///< the shortest way to it: how it begins, then its steps
    double seconds = 0;
};

/// Grows without moving what it has: moving would double the memory.
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

    A model has
    - `state` and `step`, plain values;
    - `begin(visit)`: calls `visit(state)` for each state that it may begin in;
    - `steps(state, visit)`: calls `visit(step, next, wrong)` for each step; `wrong` names the property that it breaks, or is null;
    - `pack(state)` and `unpack(packed)`; `pack` may unite states that behave alike;
    - `tell(state)` and `tell(before, step, after)`: a sentence on how it begins, and on a step;
    - if it has goals, `is_goal(state)` and `stuck`: what is wrong with a state from which no goal can be reached any more.

    Needs 20 bytes for each state, and 6 to 11 more for finding it again; with goals, 8 for each step.
*/
template <class Model>
class explorer {
public:
    explorer(Model const& m, std::uint64_t states_max)
        : model_(m), states_max_(std::min<std::uint64_t>(states_max, none / 2)), slots_(1 << 16, none)
    {
    }

    report run()
    {
        auto const begun = std::chrono::steady_clock::now();
        model_.begin([this](auto const& s) { add(model_.pack(s), none); });
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

    void visit(std::uint32_t from)
    {
        auto const before = model_.unpack(states_[from]);
        model_.steps(before, [&](step const&, state const& after, char const* wrong) {
            if (wrong && report_.wrong.empty()) {
                report_.wrong = wrong;
                report_.trace = trace_to(from, model_.pack(after), true);
                report_.depth = static_cast<unsigned>(report_.trace.size()) - 1;
            }
            auto const to = add(model_.pack(after), from);
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

    // Goes back from the goals; the nearest state that is not met on the way is stuck.
    void find_stuck()
    {
        std::sort(edges_.begin(), edges_.end());
        std::vector<bool> met(states_.size());
        std::vector<std::uint32_t> way;
        auto const meet = [&](std::uint32_t i) {
            if (!met[i])
                way.push_back(i);
            met[i] = true;
        };
        for (std::uint32_t i = 0; i < states_.size(); ++i) {
            if (model_.is_goal(model_.unpack(states_[i])))
                meet(i);
        }
        while (!way.empty()) {
            auto const to = way.back();
            way.pop_back();
            for (auto e = std::lower_bound(edges_.begin(), edges_.end(), std::pair(to, 0u)); e != edges_.end() && e->first == to; ++e)
                meet(e->second);
        }
        auto const stuck = static_cast<std::uint32_t>(std::find(met.begin(), met.end(), false) - met.begin());
        if (stuck == met.size())
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
        slots_ = {};  // first, so that both are never there together
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

    // States are kept with nodes and attempts renumbered. The way is walked again with the numbers that it began with.
    std::vector<std::string> trace_to(std::uint32_t last, packed const& end, bool breaks)
    {
        std::vector<packed> way{end};
        for (auto i = last; i != none; i = parents_[i])
            way.push_back(states_[i]);
        auto now = model_.unpack(way.back());
        std::vector<std::string> text{model_.tell(now)};
        for (auto i = way.size() - 1; i-- > 0;) {
            bool found = false;
            auto const before = now;
            model_.steps(before, [&](step const& how, state const& after, char const* wrong) {
                if (found || (wrong != nullptr) != (breaks && i == 0) || model_.pack(after) != way[i])
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

/// A model with its rules, and what is expected of it.
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
    void control(std::string name, std::string about, Rules r) { add({.name = name, .about = about, .safe = false}, r); }

    std::vector<world> all;

private:
    void add(world w, Rules const& rules)
    {
        w.run = [rules](std::uint64_t states_max) { return explore(Model(rules), states_max); };
        all.push_back(std::move(w));
    }
};

}  // namespace redlock::model
