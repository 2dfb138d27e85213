// The numbers of readers between the tokens of writers, without any clock or lock: do they keep the order?
#pragma once

#include "model/explorer.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::model {

/// When a reader believes that it has a number.
enum class reading : std::uint8_t {
    exact,      ///< as the protocol says: a quorum has answered this number, or has been raised to it
    highest,    ///< a quorum has answered: the highest answer is the number, and is not written back
    lowest,     ///< the same with the lowest answer
    one_write,  ///< the highest answer, written back to one node
};

/// What is explored, and which rule of the protocol is broken.
struct reader_tokens_rules {
    std::string_view attempts = "wwrr";  ///< writers and readers
    unsigned quorum = 2;
    unsigned numbers = 4;    ///< tokens and counters are anything up to here
    unsigned forgetful = 0;  ///< so many nodes may forget their counters, as often as they like

    model::reading reading = model::reading::exact;
    bool compares = true;  ///< false: what is written back overwrites a higher counter, too
};

/** Readers draw no tokens: two of them would refuse each other at the resource. A reader's number is what a quorum of the writers' counters are.

    Writers do what @ref fencing tells of them: TAKE, and if need be INCR. A reader asks all nodes for their counters (`ZSCORE`). If a
    quorum answered the same, this is its number. If not, it writes the highest answer of a quorum, at least 1, back to the nodes (`ZADD GT`);
    it is the number when a quorum has answered it, or has carried that out.

    - F1: no two writers have the same token.
    - F2: a writer that begins when another, or a reader, has completed gets a higher token.
    - F3: a reader that begins when another, or a writer, has completed has no lower number.

    What is more than in the protocol, and what need not be explored, is told with @ref fencing. To a reader it means:
    - *A reader begins* with the first answer that counts, and knows then which number it will be: an answer that does not fit is lost.
    - *Just before a node answers this number* it may have been raised to that, by commands of attempts that came to nothing. Where it answers
      another, it need not be raised before.
*/
class reader_tokens {
public:
    static constexpr unsigned node_count = 3;

    struct node {
        std::uint8_t counter = 0;
        bool forgot = false;
    };
    struct attempt {
        bool writes = false;
        bool completed = false;
        std::uint8_t number = 0;  ///< of a writer's TAKE, or a reader's; when it has completed, what it has
        std::uint8_t value = 0;   ///< the answer to a writer's INCR
        std::uint8_t floor = 0;   ///< the highest number that was complete when it began
        std::array<std::uint8_t, node_count> at{};  ///< for each node, what the client has in hand
    };
    /// Of a writer: the node has taken its number, or has answered its value. Of a reader: the node has answered, and is at its number.
    static constexpr std::uint8_t taken = 1, counted = 2, answered = 1, reached = 2;

    struct state {
        std::array<node, node_count> nodes{};
        std::array<attempt, attempts_max> attempts{};
    };
    struct step {
        enum class kind : std::uint8_t { take, increment, read, read_other, write_back } what;
        std::uint8_t attempt = 0;
        std::uint8_t node = 0;
        std::uint8_t number = 0;  ///< what a writer's node takes or answers; what the reader has or will have
        bool forgets = false;     ///< the node has just forgotten its counter
    };

    explicit reader_tokens(reader_tokens_rules);

    template <class Visit>
    void begin(Visit visit) const;
    template <class Visit>
    void steps(state const&, Visit visit) const;
    packed pack(state const&) const;
    state unpack(packed) const;
    std::string tell(state const&) const;
    std::string tell(state const& before, step const&, state const& after) const;

private:
    bool carry_out(state&, step const&) const;
    bool forget(state&, unsigned n) const;
    bool take(state&, step const&) const;
    bool increment(state&, step const&) const;
    bool read(state&, step const&) const;
    bool write_back(state&, step const&) const;
    void note_floor(state&, unsigned a) const;
    std::uint8_t number_of(attempt const&, step const&) const;
    char const* settle(state&, step const&) const;

    reader_tokens_rules const rules_;
    unsigned const attempts_, number_bits_;
    shape const shape_;
};

std::vector<world> reader_tokens_worlds();

}  // namespace redlock::model
