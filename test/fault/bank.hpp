#pragma once

#include "fault/request_loop.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace redlock::test {

/** Keeps accounts for other processes, like a database. It carries out or refuses each request as a whole.

    With fences, each account follows the rules of docs/fencing.md. It keeps the highest token of a writer and the
    highest number of a reader that have entered it. One rule is stricter: no writer enters twice with one token. A
    write counts from its commit on. If another client enters before the commit, the bank undoes the write, because the
    writer has died or its lock has expired.

    Without fences, the bank carries out each request at once.
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
        accounts of{};             ///< one account to read or to write
        std::int64_t balance = 0;  ///< to write
    };

    struct answer {
        bool accepted = false;
        std::int64_t balance = 0;  ///< of the account that was read
    };

    struct record {
        std::uint64_t refused = 0;  ///< requests that the fences refused
        std::uint64_t undone = 0;   ///< writes
        std::int64_t sum = 0;       ///< of all accounts, without uncommitted writes
    };

    explicit bank(bool fenced) : fenced_(fenced) {}

    request_loop& requests() noexcept { return requests_; }

    /// Called once. Afterwards, requests get no answers.
    record stop()
    {
        requests_.stop();
        for (auto& a : accounts_) {
            undo(a);
            record_.sum += a.balance;
        }
        return record_;
    }

private:
    struct account {
        std::int64_t balance = total / size;
        std::optional<std::int64_t> before{};  // the balance before an uncommitted write
        std::uint64_t writer = 0, reader = 0;  // the fences
    };

    answer decide(request const& r)
    {
        for (std::size_t i = 0; i < size; ++i) {
            if (r.of[i] && !may(r, accounts_[i])) {
                ++record_.refused;
                return {};
            }
        }
        answer done{.accepted = true};
        for (std::size_t i = 0; i < size; ++i) {
            if (!r.of[i])
                continue;
            auto& a = accounts_[i];
            switch (r.what) {
            case request::kind::enter_as_writer:
                undo(a);
                a.writer = r.token;
                break;
            case request::kind::enter_as_reader:
                undo(a);
                a.reader = std::max(a.reader, r.token);
                break;
            case request::kind::read:
                done.balance = a.balance;
                break;
            case request::kind::write:
                if (fenced_ && !a.before)
                    a.before = a.balance;
                a.balance = r.balance;
                break;
            case request::kind::commit:
                a.before.reset();
                break;
            }
        }
        return done;
    }

    bool may(request const& r, account const& a) const
    {
        if (!fenced_)
            return true;
        switch (r.what) {
        case request::kind::enter_as_writer:
            return a.writer < r.token && a.reader < r.token;
        case request::kind::enter_as_reader:
        case request::kind::read:
            return a.writer <= r.token;
        case request::kind::write:
        case request::kind::commit:
            return a.writer == r.token && a.reader < r.token;
        }
        return false;
    }

    void undo(account& a)
    {
        if (!a.before)
            return;
        a.balance = *a.before;
        a.before.reset();
        ++record_.undone;
    }

    bool const fenced_;
    std::array<account, size> accounts_;
    record record_;
    request_loop requests_{answer_with<request>([this](request const& r) { return decide(r); })};
};

}  // namespace redlock::test
