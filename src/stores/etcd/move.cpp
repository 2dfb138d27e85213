#include "stores/etcd/move.hpp"

#include "stores/etcd/json.hpp"

#include <cstddef>
#include <utility>

namespace redlock::stores::etcd {

namespace {

using kit::leased;

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

std::string move::next(session const& s, std::uint32_t connection, layout const& names, kit::expiries const& ours)
{
    auto const some = ours.after(last_ ? &*last_ : nullptr, keys_of_part);
    transaction_text all{{is_equal(s.key(), to_text(connection))}, {put_under(s.key(), s.lease())}, {}};
    done_ = some.size() < keys_of_part;
    for (auto const& l : some) {
        // Two rounds may have left values at one key. One transaction must not set a key twice.
        if (last_ && all.then.size() > 1 && l.what == kit::leased::kind::lock && l.what == last_->what
            && l.key == last_->key) {
            done_ = false;
            break;
        }
        all.then.push_back(move_one(l, s.lease(), names));
        last_ = l;
    }
    return all.request();
}

}  // namespace redlock::stores::etcd
