#include "stores/etcd/leases.hpp"

#include "core/key.hpp"
#include "core/validity.hpp"

#include <utility>

namespace redlock::stores::etcd {

leases::leases(std::string prefix, double drift_factor, bool reads_only)
    : prefix_(std::move(prefix)),
      drift_factor_(drift_factor),
      reads_only_(reads_only),
      key_(reads_only ? core::session_key(prefix_, "reader") : "")
{
}

void leases::begin(std::string lease, std::chrono::milliseconds ttl, clock::time_point sent)
{
    key_ = core::session_key(prefix_, lease);
    renew(std::move(lease), ttl, sent);
}

void leases::end()
{
    lease_.clear();
    key_.clear();
    good_until_ = {};
}

void leases::renew(std::string lease, std::chrono::milliseconds ttl, clock::time_point sent)
{
    while (!all_.empty() && all_.front().second < sent)
        all_.pop_front();
    all_.emplace_back(lease, sent + 2 * ttl);
    lease_ = std::move(lease);
    ttl_ = ttl;
    due_ = sent + ttl_ / 3;
    good_until_ = sent + ttl_ - core::drift(ttl_, drift_factor_);
}

std::vector<std::string> leases::all() const
{
    std::vector<std::string> names;
    for (auto const& [lease, over] : all_)
        names.push_back(lease);
    return names;
}

}  // namespace redlock::stores::etcd
