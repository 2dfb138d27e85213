#include "memory/lock_table.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::detail {

lock_table::entry* lock_table::find(std::string_view key, clock::time_point now)
{
    auto const it = entries.find(key);
    if (it == entries.end())
        return nullptr;
    if (it->second.expires > now)
        return &it->second;
    entries.erase(it);
    return nullptr;
}

node_reply lock_table::carry_out(node_operation const& o, clock::time_point now)
{
    auto* const e = find(o.key, now);
    bool const ours = e && e->value == o.value;
    auto const vote_if = [](bool yes) { return yes ? vote::granted : vote::denied; };
    node_reply r;
    switch (o.what) {
    case node_operation::kind::acquire:
        r.vote = vote_if(!e);
        if (!e)
            entries.insert_or_assign(std::string(o.key), entry{std::string(o.value), now + o.ttl});
        break;
    case node_operation::kind::extend:
        r.vote = vote_if(ours);
        if (ours && e->expires != clock::time_point::max())
            e->expires = std::max(e->expires, now + o.ttl);
        break;
    case node_operation::kind::release:
        r.vote = vote_if(ours);
        if (ours)
            entries.erase(entries.find(o.key));
        break;
    case node_operation::kind::inspect:
        r.vote = vote_if(e);
        if (e) {
            r.text = e->value;
            r.remaining = e->expires == clock::time_point::max()
                            ? std::chrono::milliseconds(-1)
                            : std::chrono::duration_cast<std::chrono::milliseconds>(e->expires - now);
        }
        break;
    case node_operation::kind::connect:
        r.vote = vote::granted;
        break;
    }
    return r;
}

}  // namespace redlock::detail
