#pragma once

#include "fault/request_loop.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace redlock::test {

/** Keeps accounts for other processes, as a database would. Each request is carried out or refused as a whole.

    With fences, each account keeps the highest token of a writer and the highest number of a reader that have entered it, by the rules of
    docs/fencing.md; but no writer enters twice with one token. What a writer has written counts from its commit on: whoever enters before that
    has it undone, because then the writer has died, or its lock has run out. Without fences everything is done as asked, and at once.
*/
class bank {
public:
    static constexpr std::size_t size = 50;
    static constexpr std::int64_t total = size * 1000;  ///< in all accounts
    using accounts = std::bitset<size>;

    struct request {
        enum class kind : std::uint8_t { enter_as_writer, enter_as_reader, read, write, commit };
        kind what = kind::enter_as_writer;
        std::uint64_t token = 0;
        accounts of{};             ///< one of them to read or to write
        std::int64_t balance = 0;  ///< to write
    };

    struct answer {
        bool accepted = false;
        std::int64_t balance = 0;  ///< the one read
    };

    struct record {
        std::uint64_t refused = 0;  ///< requests, by the fences
        std::uint64_t undone = 0;   ///< writes
        std::int64_t sum = 0;       ///< of all accounts, without what is not committed
    };

    explicit bank(bool fenced) : fenced_(fenced) {}

    request_loop& requests() noexcept { return requests_; }

    /// Once; no requests are answered any more.
    record stop();

private:
    struct account {
        std::int64_t balance = total / size;
        std::optional<std::int64_t> before{};  // what is not committed
        std::uint64_t writer = 0, reader = 0;  // the fences
    };

    answer decide(request const& r);
    bool may(request const& r, account const& a) const;
    void undo(account& a);

    bool const fenced_;
    std::array<account, size> accounts_;
    record record_;
    request_loop requests_{answer_with<request>([this](request const& r) { return decide(r); })};
};

}  // namespace redlock::test
