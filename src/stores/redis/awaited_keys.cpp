#include "stores/redis/awaited_keys.hpp"

#include "core/key.hpp"

namespace redlock::stores::redis {

namespace {

using kind = node_command::kind;

std::vector<std::string> keys_of_readers(std::string const& lock) { return {lock, core::readers_key(lock)}; }

std::vector<std::string> keys_of_inspection(std::string const& lock, node_reply const& r)
{
    auto keys = r.text == core::shared_word ? keys_of_readers(lock) : std::vector{lock};
    if (r.details && !r.details->waiters.empty())
        keys.push_back(core::wanted_key(lock));
    return keys;
}

std::string key_of_one(node_command const& c, node_reply const& r)
{
    auto const& lock = c.key();
    return r.stands_by       ? core::place_key(lock, c.contender)
           : r.handed_on     ? core::handovers_key(lock)
           : r.behind_writer ? core::wanted_key(lock)
                             : lock;
}

}  // namespace

std::vector<std::string> awaited_keys(node_command const& c, node_reply const& r)
{
    if (!c.watch)
        return {};
    if (c.what == kind::inspect)
        return r.vote == vote::granted ? keys_of_inspection(c.key(), r) : std::vector<std::string>();
    if (r.vote != vote::denied)
        return {};
    if (c.what == kind::upgrade)
        return r.ours > 0 ? keys_of_readers(c.key()) : std::vector<std::string>();
    if (!c.has_several_keys())
        return {key_of_one(c, r)};
    std::vector<std::string> keys;
    for (auto const& k : r.taken) {
        if (k.index < c.keys.size())
            keys.push_back(k.handed_on ? core::handovers_key(c.keys[k.index]) : c.keys[k.index]);
    }
    return keys;
}

}  // namespace redlock::stores::redis
