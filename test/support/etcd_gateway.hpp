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

/// A model of an etcd cluster behind its JSON gateway, with the requests that locks need. It loses no data, and its
/// answers are those of a majority.
class etcd_gateway {
public:
    using object = stores::etcd::json::object;
    using told = std::function<void(std::string const&)>;

    virtual ~etcd_gateway() = default;

    /// Carries out a request. @return the answer, or an error object
    object carry_out(std::string_view path, std::string const& body);

    /// Handles a message of a watch stream. @p tell sends messages to its client.
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

    /// The time of its clock.
    virtual clock::time_point time() const = 0;
    virtual void note(std::string_view /*lease*/, std::string_view /*what*/) const {}
    /// Called after keys were set or deleted.
    virtual void changed(values const& /*before*/) {}

    object error(std::string_view why, int code) const;
    values const& all() const noexcept { return values_; }
    void erase(std::string const& key);
    void forget_watches() { watches_.clear(); }
    /// Elects a new leader, which restarts the time of each lease.
    void elect();
    std::vector<std::string> leases_that_are_over() const;
    /// A leader that was stopped does not know that the new leader has restarted the leases. When it is resumed, it
    /// ends the leases that were granted before the stop and have expired by its own clock.
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
        bool hears_puts;
        told tell;
    };

    object header() const;
    object grant(object const& asked);
    object revoke(object const& asked);
    object transaction(object const& asked);
    bool is_met(object const& condition) const;
    object carry_out(object const& transaction, values& after);
    object step(object const& what, values& after);
    object range(object const& asked, values const& in) const;
    void put(object const& asked, values& after);
    void commit(values after);
    struct change {
        std::string key;
        std::int64_t revision;
        bool is_put;
    };
    void note_changes(values const& before);
    void tell_of(change const&, watch const&) const;

    std::string const id_;
    values values_;
    std::int64_t revision_ = 1;
    std::int64_t term_ = 2;
    std::map<std::string, lease> leases_;
    std::int64_t last_lease_ = 0;
    std::vector<watch> watches_;
    std::vector<change> changes_;
};

}  // namespace redlock::test
