#pragma once

#include "net/url.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

#include <redlock/node.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

// The questions to the members of a cluster, and the meaning of the answers.

constexpr std::uint16_t slot_count = 16'384;

/// CRC-16 of the key's hash tag, or of the whole key if it has no hash tag, modulo @ref slot_count.
std::uint16_t slot_of(std::string_view key) noexcept;

/// Maps the slots of a cluster to the masters that own them.
class cluster_map {
public:
    cluster_map() { owners_.fill(nobody); }

    /// The master that owns the slot. Null: no member owns it.
    net::place const* owner(std::uint16_t slot) const noexcept
    {
        return owners_[slot] == nobody ? nullptr : &masters_[owners_[slot]];
    }

    void set_owner(std::uint16_t slot, net::place const&);

    /// Whether @p p is a master that has not failed, as far as the member that answered knows.
    bool is_well(net::place const& p) const { return std::ranges::find(well_, p) != well_.end(); }
    void set_well(net::place const& p) { well_.push_back(p); }

    /// The masters that own slots.
    std::vector<net::place> owners() const;

    /// The place of a member, which may be named by the host name that it announces.
    net::place place_of(net::place const& announced) const;

    /// Where to connect for the member at @p p.
    net::place target_of(net::place const& p) const;

    /// Adds a member, which announces the host name of @p named , too; an empty one: none.
    void add(net::place const& p, net::place const& named, net::place const& target)
    {
        members_.push_back({p, named, target});
    }

    /// A hash tag, with its braces, in one of the slots of @p p. Empty: @p p owns no slot.
    std::string tag_of(net::place const& p) const;

private:
    static constexpr std::uint16_t nobody = 0xffff;

    std::vector<net::place> masters_;
    std::vector<net::place> well_;
    struct member {
        net::place at, named, target;
    };

    std::vector<member> members_;  ///< replicas, too
    std::array<std::uint16_t, slot_count> owners_;
};

/// Asks a member for all members and their slots.
redis::request ask_for_cluster();

/// Reads the answer of the member @p asked. @return with an error: why the answer is of no use
///
/// With TLS, the way to a member is the host name that it announces: certificates often have no addresses. Its place is
/// its address all the same, because a name can appear or change.
node_reply read_cluster(reply const& answer, net::url const& asked, cluster_map& map);

/// The new place of a slot, from a MOVED error.
struct redirection {
    std::uint16_t slot;
    net::place to;  ///< without a host: the host of the server that sent the error
};

/// Reads an error such as "MOVED 3999 10.0.0.1:6381". Nothing: the text is another error.
std::optional<redirection> read_redirection(std::string_view refusal);

}  // namespace redlock::stores::redis
