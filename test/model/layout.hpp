// How a state of a model is packed into 128 bits.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <type_traits>

namespace redlock::model {

/// A state in 128 bits: a stack of fields, last in, first out.
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

using numbering = std::array<std::uint8_t, attempts_max>;

/// Writes the fields of a state into a number, the first field into the lowest bits. It writes the attempts in another
/// order.
class field_writer {
public:
    explicit field_writer(numbering const& order) : order_(order) {}

    void operator()(auto field, unsigned bits)
    {
        auto const value = static_cast<std::uint64_t>(field);
        fits_ = fits_ && value >> bits == 0;
        value_ |= value << width_;
        width_ += bits;
    }

    /// A field that names an attempt. The first attempt has the number @p first; lower numbers name no attempt.
    void name(unsigned field, unsigned bits, unsigned first = 1)
    {
        if (field >= first) {
            auto const place = std::find(order_.begin(), order_.end(), field - first) - order_.begin();
            field = first + static_cast<unsigned>(place);
        }
        (*this)(field, bits);
    }

    unsigned attempt(unsigned i) const { return order_[i]; }

    std::uint64_t value() const
    {
        if (!fits_)
            throw std::logic_error("this world does not fit into a packed state");
        return value_;
    }

private:
    numbering const& order_;
    std::uint64_t value_ = 0;
    unsigned width_ = 0;
    bool fits_ = true;
};

/// Reads what a field_writer has written, with the attempts in the order of their numbers.
class field_reader {
public:
    explicit field_reader(std::uint64_t value) : value_(value) {}

    void operator()(auto& field, unsigned bits)
    {
        field = static_cast<std::remove_reference_t<decltype(field)>>(value_ & ((std::uint64_t(1) << bits) - 1));
        value_ >>= bits;
        width_ += bits;
    }

    void name(auto& field, unsigned bits, unsigned = 1) { (*this)(field, bits); }
    unsigned attempt(unsigned i) const { return i; }
    unsigned width() const { return width_; }

private:
    std::uint64_t value_;
    unsigned width_ = 0;
};

/// The common part of the models with three nodes.
struct three_nodes {
    static constexpr unsigned node_count = 3, majority = 2;
    static constexpr unsigned nodes() { return node_count; }
};

/** Packs the states of @p Model. All states that differ only in the numbering of nodes and attempts become one.

    Nodes are alike: each sends and receives the same messages, and quorums only count them. Attempts are alike: what
    distinguishes them (phase, token, hint, …) is part of the state. So a renumbered state has renumbered successors,
    and breaks a property exactly if the original state does.

    The model lists its fields once, for a field_writer and for a field_reader:
    - `attempt_fields(bits, s, a)`: the fields of this attempt alone;
    - `node_fields(bits, s, n)`: the fields of this node, also those for each of the attempts `bits.attempt(i)`;
    - `other_fields(bits, s)`, if there are any.
*/
template <class Model>
class layout {
public:
    using state = typename Model::state;

    explicit layout(Model const& m) : model_(m)
    {
        state s;
        auto const width = [](auto list) {
            field_reader bits(0);
            list(bits);
            return bits.width();
        };
        if (m.nodes() > nodes_max || m.attempts() > attempts_max)
            throw std::logic_error("this world has too many nodes or attempts");
        attempt_bits_ = width([&](auto& bits) { m.attempt_fields(bits, s, 0); });
        node_bits_ = width([&](auto& bits) { m.node_fields(bits, s, 0); });
        if constexpr (has_other_fields)
            other_bits_ = width([&](auto& bits) { m.other_fields(bits, s); });
        if (m.nodes() * node_bits_ + m.attempts() * attempt_bits_ + other_bits_ > 128)
            throw std::logic_error("this world does not fit into a packed state");
    }

    packed pack(state const& s) const
    {
        numbering order{};
        std::iota(order.begin(), order.end(), std::uint8_t(0));
        std::array<std::uint64_t, attempts_max> owns{};
        for (unsigned a = 0; a < model_.attempts(); ++a) {
            field_writer bits(order);
            model_.attempt_fields(bits, s, a);
            owns[a] = bits.value();
        }
        auto const end = order.begin() + model_.attempts();
        packed best;
        bool first = true;
        do {
            // Attempts are sorted by their own fields. Every order is tried only among equal ones.
            if (!std::is_sorted(order.begin(), end, [&](auto a, auto b) { return owns[a] < owns[b]; }))
                continue;
            auto const candidate = pack(s, owns, order);
            if (first || candidate < best)
                best = candidate;
            first = false;
        } while (std::next_permutation(order.begin(), end));
        if constexpr (has_other_fields) {
            field_writer bits(order);
            model_.other_fields(bits, s);
            best.push(other_bits_, bits.value());
        }
        return best;
    }

    state unpack(packed p) const
    {
        state s;
        if constexpr (has_other_fields) {
            field_reader bits(p.pop(other_bits_));
            model_.other_fields(bits, s);
        }
        for (unsigned a = 0; a < model_.attempts(); ++a) {
            field_reader bits(p.pop(attempt_bits_));
            model_.attempt_fields(bits, s, a);
        }
        for (unsigned n = 0; n < model_.nodes(); ++n) {
            field_reader bits(p.pop(node_bits_));
            model_.node_fields(bits, s, n);
        }
        return s;
    }

private:
    static constexpr bool has_other_fields =
        requires(Model const& m, field_reader& bits, state& s) { m.other_fields(bits, s); };

    packed pack(state const& s, std::array<std::uint64_t, attempts_max> const& owns, numbering const& order) const
    {
        std::array<std::uint64_t, nodes_max> columns{};
        for (unsigned n = 0; n < model_.nodes(); ++n) {
            field_writer bits(order);
            model_.node_fields(bits, s, n);
            auto const next = bits.value();
            unsigned place = n;
            for (; place > 0 && columns[place - 1] > next; --place)
                columns[place] = columns[place - 1];
            columns[place] = next;
        }
        packed p;
        for (unsigned n = model_.nodes(); n-- > 0;)
            p.push(node_bits_, columns[n]);
        for (unsigned a = model_.attempts(); a-- > 0;)
            p.push(attempt_bits_, owns[order[a]]);
        return p;
    }

    Model const& model_;
    unsigned attempt_bits_ = 0, node_bits_ = 0, other_bits_ = 0;
};

}  // namespace redlock::model
