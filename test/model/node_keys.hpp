// The keys of a node, and what the scripts for several locks do to them.
#pragma once

#include "model/explorer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::model {

using key_numbers = std::span<std::uint8_t const>;

struct node_keys {
    static constexpr unsigned most = 3;

    struct key {
        std::uint8_t owner = 0;  ///< 0: none, otherwise the client plus one
        std::uint8_t left = 0;   ///< ticks until it expires; unused in models without time
    };
    std::array<key, most> all{};

    bool are_free(key_numbers of) const
    {
        return std::ranges::all_of(of, [&](auto k) { return all[k].owner == 0; });
    }
    bool are_ours(key_numbers of, unsigned who) const { return ours(of, who) == of.size(); }

    /// How many of the keys, from the first on, @p who owns.
    unsigned ours(key_numbers of, unsigned who) const
    {
        return static_cast<unsigned>(std::ranges::find_if(of, [&](auto k) { return all[k].owner != who; })
                                     - of.begin());
    }

    bool has_foreign(key_numbers of, unsigned who) const
    {
        return std::ranges::any_of(of, [&](auto k) { return all[k].owner != 0 && all[k].owner != who; });
    }

    bool has_ours(key_numbers of, unsigned who) const
    {
        return std::ranges::any_of(of, [&](auto k) { return all[k].owner == who; });
    }

    /// *acquire-all*. Returns whether it grants.
    bool acquire(key_numbers of, unsigned who, unsigned ttl)
    {
        bool const granted = are_free(of);
        if (granted)
            set_what_is_free(of, who, ttl);
        return granted;
    }

    /// *contend-all* of a set that grows. It prolongs keys of @p who and sets free ones, up to the first foreign key.
    /// It releases the keys of @p who behind that. Returns whether it grants.
    bool grow(key_numbers of, unsigned who, unsigned ttl)
    {
        auto const taken = std::ranges::find_if(of, [&](auto k) { return all[k].owner != 0 && all[k].owner != who; });
        auto const before = static_cast<std::size_t>(taken - of.begin());
        set_what_is_free(of.first(before), who, ttl);
        release(of.subspan(before), who);
        return before == of.size();
    }

    /// *extend-all* that heals. Changes nothing if others own a key. Returns whether @p who owned all keys.
    bool extend(key_numbers of, unsigned who, unsigned ttl)
    {
        bool const counts = are_ours(of, who);
        if (!has_foreign(of, who))
            set_what_is_free(of, who, ttl);
        return counts;
    }

    /// *release-all*.
    void release(key_numbers of, unsigned who)
    {
        for (auto const k : of) {
            if (all[k].owner == who)
                all[k] = {};
        }
    }

    /// A wrong extension, which no script does: it counts if @p who owns some of the keys.
    bool extend_some(key_numbers of, unsigned who, unsigned ttl)
    {
        bool const counts = has_ours(of, who);
        set_what_is_free(of, who, ttl);
        return counts;
    }

    /// Sets the free keys, and prolongs those of @p who. No script does only this.
    void set_what_is_free(key_numbers of, unsigned who, unsigned ttl)
    {
        for (auto const k : of) {
            if (all[k].owner == 0 || all[k].owner == who)
                all[k] = {static_cast<std::uint8_t>(who), static_cast<std::uint8_t>(ttl)};
        }
    }

    std::string tell() const
    {
        std::string text;
        for (unsigned k = 0; k < most; ++k) {
            if (all[k].owner != 0)
                text += fmt::format(" {}:{}", static_cast<char>('a' + k), letter(all[k].owner - 1u));
            if (all[k].left != 0)
                text += fmt::format(" for {}", all[k].left);
        }
        return text.empty() ? " nothing" : text;
    }
};

/// The sets that clients want: for each client a word with a letter for each key, in the client's order.
class wanted_sets {
public:
    explicit wanted_sets(std::vector<std::string_view> words) : words_(std::move(words))
    {
        for (auto const word : words_) {
            auto& numbers = numbers_.emplace_back();
            for (char const letter : word) {
                numbers.push_back(static_cast<std::uint8_t>(letter - 'a'));
                keys_ = std::max(keys_, numbers.back() + 1u);
            }
        }
        if (keys_ > node_keys::most)
            throw std::logic_error("this world has too many keys");
    }

    unsigned clients() const { return static_cast<unsigned>(words_.size()); }
    unsigned keys() const { return keys_; }
    key_numbers operator[](std::size_t i) const { return numbers_[i]; }

    /// The initial state. Clients that want the same are alike, and have the number of the first of them.
    template <class State>
    State begin() const
    {
        State s;
        for (unsigned c = 0; c < clients(); ++c)
            s.clients[c].wants = static_cast<std::uint8_t>(std::ranges::find(words_, words_[c]) - words_.begin());
        return s;
    }

    /// Visits one initial state for each client, with `looked_at` set for that client.
    template <class State>
    void look_at_each(auto visit) const
    {
        for (unsigned c = 0; c < clients(); ++c) {
            auto s = begin<State>();
            s.clients[c].looked_at = true;
            visit(s);
        }
    }

    std::string tell(auto const& state) const
    {
        std::string text;
        for (unsigned c = 0; c < clients(); ++c) {
            auto const& me = state.clients[c];
            text += fmt::format("; {} wants {}", letter(c), words_[me.wants]);
            if constexpr (requires { me.looked_at; })
                text += me.looked_at ? ", and is looked at" : "";
        }
        return text;
    }

private:
    std::vector<std::string_view> words_;
    std::vector<std::vector<std::uint8_t>> numbers_;
    unsigned keys_ = 0;
};

}  // namespace redlock::model
