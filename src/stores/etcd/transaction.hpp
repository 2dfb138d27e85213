#pragma once

#include "stores/etcd/json.hpp"
#include "stores/etcd/layout.hpp"
#include "stores/kit/expiries.hpp"

#include <redlock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::stores::etcd {

using kit::expiries;
using kit::leased;

/// So many keys go into one transaction, at the most: `etcd --max-txn-ops` is 128 if nobody changes it, and a key takes
/// two conditions.
inline constexpr std::size_t keys_max = 50;

/// What transactions are about.
struct scope {
    etcd::layout layout;
    std::string lease{};
    std::chrono::milliseconds session{};  ///< for how long what somebody else has may last, if nobody knows better
    kit::expiries const* ours = nullptr;
};

/** One command on its way: what to ask etcd next, and what the answer says.

    It is a transaction, to be a step of another one together with those of other commands, about other keys. Its
    conditions are judged before anything is done.
*/
class transaction {
public:
    explicit transaction(std::shared_ptr<node_operation> o) : operation(std::move(o)) {}

    std::string text(scope const&) const;

    /// Whether it may add to the database.
    bool adds(scope const&) const;

    /// What it is answered to @ref text, as a transaction that was a step of another. Nothing: that was only a look,
    /// and it must ask again.
    std::optional<node_reply> hear(json::object const& answer, scope const&);

    std::shared_ptr<node_operation> operation;
    bool alone = false;  ///< it was refused together with others

private:
    /// What was there.
    struct seen {
        std::int64_t revision = 0;  ///< zero: nothing
        bool ours = false;
        std::uint64_t counter = 0;  ///< likewise
    };

    node_command const& command() const noexcept { return operation->command(); }
    transaction_text of_each_key(transaction_text, std::vector<std::vector<std::string>> then,
                                 std::vector<std::vector<std::string>> otherwise) const;
    bool lasts_longer(std::string const& key, scope const&) const;
    json::object const& of_key(json::object const& answer, std::size_t i) const;

    transaction_text acquire(scope const&) const;
    transaction_text grow(scope const&) const;
    transaction_text raise(scope const&) const;
    transaction_text extend(scope const&) const;
    transaction_text release(scope const&) const;
    std::vector<std::string> to_grant(std::string const& key, scope const&) const;
    std::vector<std::string> to_deny(std::string const& key, bool wants, scope const&) const;
    std::size_t kept() const;

    node_reply granted(json::object const& answer) const;
    node_reply denied(json::object const& answer, scope const&) const;
    taken_key taken_key_of(json::object const& answer, std::size_t i, scope const&) const;
    std::optional<node_reply> grown(json::object const& answer, scope const&);
    std::optional<node_reply> raised(json::object const& answer);
    node_reply released(json::object const& answer) const;
    node_reply inspected(json::object const& answer, scope const&) const;

    std::vector<seen> seen_;  ///< of one that has looked: of each key
};

inline std::shared_ptr<node_operation>& operation_of(transaction& t) { return t.operation; }

}  // namespace redlock::stores::etcd
