#include "etcd/session.hpp"

#include "core/key.hpp"
#include "core/validity.hpp"

#include <algorithm>

namespace redlock::etcd_v3 {

answered_by::answered_by(json::object const& answer)
    : member(text(object(answer, "header"), "member_id")), term(text(object(answer, "header"), "raft_term"))
{
}

void session::begin(std::string lease, std::chrono::milliseconds ttl, clock::time_point sent)
{
    lease_ = std::move(lease);
    key_ = core::session_key(prefix_, lease_);
    good_until_ = {};
    prolong(ttl, sent);
}

void session::end()
{
    lease_.clear();
    key_.clear();
    good_until_ = {};
}

void session::prolong(std::chrono::milliseconds ttl, clock::time_point sent)
{
    ttl_ = ttl;
    due_ = sent + ttl / 3;
    good_until_ = std::max(good_until_, sent + ttl - core::drift(ttl, drift_factor_));
}

}  // namespace redlock::etcd_v3
