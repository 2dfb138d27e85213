#pragma once

#include "net/url.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

// What the members of a cluster are asked, and what their answers mean.

constexpr std::uint16_t slot_count = 16'384;

/// CRC-16 of the key, or of what stands between its first braces if that is not empty.
std::uint16_t slot_of(std::string_view key) noexcept;

/// Which member has which slots.
class cluster_map {
public:
    cluster_map() { owners_.fill(nobody); }

    /// Null: no member has it.
    net::place const* owner(std::uint16_t slot) const noexcept
    {
        return owners_[slot] == nobody ? nullptr : &masters_[owners_[slot]];
    }

    void set_owner(std::uint16_t slot, net::place const&);

    /// Whether it is a master that has not failed, as far as the member that was asked knows.
    bool is_well(net::place const& p) const { return std::ranges::find(well_, p) != well_.end(); }
    void set_well(net::place const& p) { well_.push_back(p); }

    /// Those that have slots.
    std::vector<net::place> owners() const;

    /// A hash tag, with its braces, in one of the slots of @p p. Empty: it has none.
    std::string tag_of(net::place const& p) const;

private:
    static constexpr std::uint16_t nobody = 0xffff;

    std::vector<net::place> masters_;
    std::vector<net::place> well_;
    std::array<std::uint16_t, slot_count> owners_;
};

/// Who are you all?
redis::request ask_for_cluster();

/// @return with an error: why the answer does not help. @p asked: where it came from.
node_reply read_cluster(reply const& answer, net::place const& asked, cluster_map& map);

/// Where the server that refuses says that a slot is.
struct redirection {
    std::uint16_t slot;
    net::place to;  ///< without a host: where the server is that says so
};

/// What "MOVED 3999 10.0.0.1:6381" says; nothing: it is something else.
std::optional<redirection> read_redirection(std::string_view refusal);

}  // namespace redlock::stores::redis
