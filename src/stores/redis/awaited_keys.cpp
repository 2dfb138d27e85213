#include "stores/redis/awaited_keys.hpp"

#include "core/key.hpp"

namespace redlock::stores::redis {

namespace {

using kind = node_command::kind;

std::vector<std::string> keys_of_readers(std::string const& lock) { return {lock, core::readers_key(lock)}; }

std::vector<std::string> keys_of_inspection(std::string const& lock, node_reply const& r)
{
    return r.text == core::shared_word ? keys_of_readers(lock) : std::vector{lock};
}

// The lock matters to a client that stands by, too: another node may say that it comes first.
std::vector<std::string> keys_of_one(node_command const& c, node_reply const& r)
{
    auto const& lock = c.key();
    if (r.stands_by)
        return {core::place_key(lock, c.contender()), lock};
    return {r.handed_on ? core::handovers_key(lock) : r.behind_writer ? core::wanted_key(lock) : lock};
}

}  // namespace

std::vector<std::string> awaited_keys(node_command const& c, node_reply const& r)
{
    if (!c.watches())
        return {};
    if (c.which() == kind::inspect)
        return r.vote == vote::granted ? keys_of_inspection(c.key(), r) : std::vector<std::string>();
    if (r.vote != vote::denied)
        return {};
    if (c.which() == kind::upgrade)
        return r.ours > 0 ? keys_of_readers(c.key()) : std::vector<std::string>();
    if (!c.has_several_keys())
        return keys_of_one(c, r);
    std::vector<std::string> keys;
    for (auto const& k : r.taken) {
        if (k.index < c.keys.size())
            keys.push_back(k.handed_on ? core::handovers_key(c.keys[k.index]) : c.keys[k.index]);
    }
    return keys;
}

}  // namespace redlock::stores::redis
