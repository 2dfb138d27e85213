#include "stores/etcd/move.hpp"

#include "stores/etcd/json.hpp"

#include <cstddef>
#include <set>
#include <utility>

namespace redlock::stores::etcd {

namespace {

constexpr std::size_t keys_of_part = 100;  // the default of etcd --max-txn-ops is 128

// A key that is missing or has another value stays as it is.
std::string move_one(kit::leased const& l, std::string const& lease, layout const& names)
{
    if (l.what == kit::leased::kind::wanted) {
        auto const wanted = names.wanted(l.key, l.who);
        return transaction_text{{is_missing(wanted)}, {}, {put_under(wanted, lease)}}.step();
    }
    transaction_text t{{}, {put_under(names.lock(l.key), lease)}, {}};
    add_holds(t.conditions, names.lock(l.key), l.who);
    return t.step();
}

}  // namespace

std::string move::next(leases const& to, std::uint32_t connection, layout const& names, kit::expiries const& ours)
{
    auto const all = ours.outliving(clock::now() + to.ttl() / 2, keys_of_part);
    good_until_ = to.good_until();
    under_way_.clear();
    transaction_text t{{is_equal(to.key(), to_text(connection))}, {put_under(to.key(), to.lease())}, {}};
    // Two rounds may have left values at one key. One transaction must not set a key twice.
    std::set<std::string> locks;
    for (auto const& l : all) {
        if (l.what == kit::leased::kind::lock && !locks.insert(l.key).second)
            continue;
        t.then.push_back(move_one(l, to.lease(), names));
        under_way_.push_back(l);
    }
    is_over_ = under_way_.size() < keys_of_part && under_way_.size() == all.size();
    return t.request();
}

// A key that was missing counts as moved. Its extension finds that it is missing.
void move::done(kit::expiries& ours) const
{
    for (auto const& l : under_way_)
        ours.keep(l, good_until_);
}

}  // namespace redlock::stores::etcd
