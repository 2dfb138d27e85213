#pragma once

#include "stores/etcd/layout.hpp"
#include "stores/etcd/session.hpp"
#include "stores/kit/expiries.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace redlock::stores::etcd {

/** All keys of a node go from the lease that they have to the latest one of the session: a few of them in each
    transaction, so that others have their turn between. What is set meanwhile is under the latest one already.
*/
class move {
public:
    /// The next transaction, on connection number @p connection.
    std::string next(session const&, std::uint32_t connection, layout const&, kit::expiries const&);

    /// There is no other one.
    bool done() const noexcept { return done_; }

private:
    std::optional<kit::leased> last_;
    bool done_ = false;
};

}  // namespace redlock::stores::etcd
