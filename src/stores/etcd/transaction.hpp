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

/// The highest number of keys in one transaction. The default of `etcd --max-txn-ops` is 128, and a key takes two
/// conditions.
inline constexpr std::size_t keys_max = 50;

/// The settings that all transactions of a node share.
struct scope {
    etcd::layout layout;
    std::string lease{};             ///< the latest
    clock::time_point good_until{};  ///< it lives at least until then.
    /// The assumed remaining time of a lock whose key has a lease but no ttl, because another program wrote it.
    std::chrono::milliseconds session{};
    kit::expiries const* ours = nullptr;
};

/** One command: the requests to etcd, and the meaning of the answers.

    Its request is a transaction. It becomes a step of a larger transaction, together with the requests of commands on
    other keys. etcd evaluates all conditions before it carries out any step.
*/
class transaction {
public:
    explicit transaction(std::shared_ptr<node_operation> o) : operation(std::move(o)) {}

    std::string encode(scope const&) const;

    /// The same for an extension of one key whose text the node knows, with one condition. Several of these become one
    /// step. It changes nothing if one of the conditions fails.
    std::optional<transaction_text> plain(scope const&) const;

    /// Whether the transaction may add to the database.
    bool adds(scope const&) const;

    /// The reply, from the answer to @ref encode. Nothing: the transaction has only read, and must be sent again.
    std::optional<node_reply> decode(json::object const& answer, scope const&);

    std::shared_ptr<node_operation> operation;
    bool alone = false;    ///< etcd refused it together with others
    std::size_t step = 0;  ///< of the larger transaction
    bool shared = false;   ///< its step has the conditions of other extensions, too
    bool apart = false;    ///< a step that it shared failed

private:
    /// A key when the transaction read it.
    struct seen {
        std::int64_t revision = 0;  ///< zero: missing
        bool ours = false;
        std::uint64_t counter = 0;  ///< zero: missing
    };

    node_command const& command() const noexcept { return operation->command(); }
    transaction_text of_each_key(transaction_text, std::vector<std::vector<std::string>> then,
                                 std::vector<std::vector<std::string>> otherwise) const;
    leased lock_of(std::string const& key) const;
    std::vector<std::string> to_extend(std::string const& key, scope const&) const;
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
    transaction_text scan(scope const&) const;
    node_reply scanned(json::object const& answer, scope const&) const;

    std::vector<seen> seen_;  ///< each key, if the transaction has read them
};

inline std::shared_ptr<node_operation>& operation_of(transaction& t) { return t.operation; }

}  // namespace redlock::stores::etcd
