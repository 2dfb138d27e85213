#pragma once

#include "stores/etcd/json.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

/// What an etcd cluster does with the texts of its JSON gateway, as far as locks need it. It loses nothing, and answers
/// for a majority.
class etcd_gateway {
public:
    using object = stores::etcd::json::object;
    using told = std::function<void(std::string const&)>;

    virtual ~etcd_gateway() = default;

    /// @return the answer, or an error in its place
    object carry_out(std::string_view path, std::string const& body);

    /// A message of a stream. @p tell: how to reach the sender.
    void hear(std::weak_ptr<void const> const& from, std::string const& message, told tell);

protected:
    struct value {
        std::string bytes;
        std::int64_t created = 0, changed = 0;
        std::string lease;
        friend bool operator==(value const&, value const&) = default;
    };
    using values = std::map<std::string, value>;

    explicit etcd_gateway(std::string id) : id_(std::move(id)) {}

    /// What its clock shows.
    virtual clock::time_point time() const = 0;
    virtual void note(std::string_view /*lease*/, std::string_view /*what*/) const {}
    /// Something has been set or deleted.
    virtual void changed(values const& /*before*/) {}

    object error(std::string_view why, int code) const;
    values const& all() const noexcept { return values_; }
    void erase(std::string const& key);
    void forget_watches() { watches_.clear(); }
    /// A new leader lets each lease begin anew.
    void elect();
    std::vector<std::string> leases_that_are_over() const;
    /// A leader that was stopped does not know what the new one has done for them. When it goes on, it ends those that
    /// it knew by its own clock.
    std::vector<std::string> leases_that_a_stopped_leader_ends(clock::time_point stopped) const;
    void end(std::string const& lease);

private:
    struct lease {
        std::chrono::seconds ttl;
        clock::time_point granted, expires;
    };

    struct watch {
        std::weak_ptr<void const> from;
        std::int64_t id;
        std::string key;
        told tell;
    };

    object header() const;
    object grant(object const& asked);
    object revoke(object const& asked);
    object transaction(object const& asked);
    bool judge(object const& condition) const;
    object carry_out(object const& transaction, values& after);
    object step(object const& what, values& after);
    object range(object const& asked, values const& in) const;
    void put(object const& asked, values& after);
    void commit(values after);
    void tell_of(std::string const& key, std::int64_t revision, watch const&) const;

    std::string const id_;
    values values_;
    std::int64_t revision_ = 1;
    std::int64_t term_ = 2;
    std::map<std::string, lease> leases_;
    std::int64_t last_lease_ = 0;
    std::vector<watch> watches_;
    std::vector<std::pair<std::string, std::int64_t>> deleted_;  ///< and at which revision
};

}  // namespace redlock::test
