#pragma once

#include "stores/etcd/layout.hpp"
#include "stores/etcd/session.hpp"
#include "stores/kit/expiries.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace redlock::stores::etcd {

/** Moves all keys of a node from their leases to the latest lease of the session. Each transaction moves some of the
    keys, so that other commands get a turn in between. New keys are under the latest lease from the start.
*/
class move {
public:
    /// The next transaction, on connection number @p connection.
    std::string next(session const&, std::uint32_t connection, layout const&, kit::expiries const&);

    /// The latest transaction was the last one.
    bool done() const noexcept { return done_; }

private:
    std::optional<kit::leased> last_;
    bool done_ = false;
};

}  // namespace redlock::stores::etcd
