#include "sim/commands.hpp"

#include "core/key.hpp"
#include "sim/server.hpp"
#include "sim/world.hpp"
#include "stores/redis/scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

namespace redlock::sim {

namespace {

using redlock::stores::redis::resp::type;
using stores::redis::reply;
using kind = node_command::kind;

stores::redis::reply text(std::string t)
{
    return {.type = stores::redis::resp::type::blob_string, .text = std::move(t), .elements = {}};
}
stores::redis::reply ok() { return {.type = stores::redis::resp::type::simple_string, .text = "OK", .elements = {}}; }
stores::redis::reply nothing() { return {.type = stores::redis::resp::type::null, .text = {}, .elements = {}}; }
stores::redis::reply number(auto n)
{
    return {.type = stores::redis::resp::type::number, .text = fmt::to_string(n), .elements = {}};
}
stores::redis::reply list(stores::redis::resp::type t, std::vector<std::string> all)
{
    return {.type = t, .text = {}, .elements = std::move(all)};
}
stores::redis::reply error(std::string words)
{
    return {.type = stores::redis::resp::type::simple_error, .text = std::move(words), .elements = {}};
}

template <class Integer = std::int64_t>
Integer integer(std::string_view digits)
{
    Integer n = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return n;
}

std::chrono::milliseconds time(std::string_view digits) { return std::chrono::milliseconds(integer(digits)); }

constexpr std::size_t text_max = 512;  // of a text in the answer of a script

std::string run_id_of(server const& s) { return fmt::format("{}-{}", s.name, s.life()); }

/// One command of one client.
class call {
public:
    call(server& s, std::shared_ptr<client> const& from, clock::time_point sent) : server_(s), from_(from), sent_(sent)
    {
    }

    stores::redis::reply set(command const& c)
    {
        bool const get = c.back() == "GET";
        auto const* const before = get ? server_.keys.find(c[1], server_.clock_now()) : nullptr;
        auto old = before ? text(before->value) : nothing();
        auto const r = apply({.what = commands::acquire{}, .keys = keys(c[1]), .value = c[2], .ttl = time(c[5])});
        return get ? old : r.vote == vote::granted ? ok() : nothing();
    }

    // Carries out a script. The call has the script's keys, then its arguments.
    reply evalsha(command const& c)
    {
        auto const count = integer<std::size_t>(c[2]);
        auto const k = std::span(c).subspan(3, count), args = std::span(c).subspan(3 + count);
        if (!server_.scripts.contains(c[1]))
            return error("NOSCRIPT No matching script. Please use EVAL.");
        auto const is = [&](stores::redis::script const& s) { return c[1] == s.sha1; };
        if (is(stores::redis::contend_script))
            return contend(k[0], args);
        if (is(stores::redis::share_script))
            return share(k[0], args);
        if (is(stores::redis::extend_shared_script))
            return granted({.what = commands::extend{.heal = args[2] == "1", .alone = args[3] == "1"},
                            .mode = mode::shared,
                            .keys = keys(k[0]),
                            .value = args[0],
                            .ttl = time(args[1])});
        if (is(stores::redis::upgrade_script))
            return upgrade(k[0], args);
        if (is(stores::redis::downgrade_script))
            return granted({.what = commands::downgrade{}, .mode = mode::shared, .keys = keys(k[0]), .value = args[0]});
        if (is(stores::redis::release_shared_script))
            return granted({.what = commands::release{}, .mode = mode::shared, .keys = keys(k[0]), .value = args[0]},
                           count > 2);
        if (is(stores::redis::inspect_script))
            return inspect(k[0]);
        if (is(stores::redis::record_script))
            return record(args[1], args[4]);
        if (is(stores::redis::extend_script))
            return granted({.what = commands::extend{.heal = args[2] == "1"},
                            .keys = keys(k[0]),
                            .value = args[0],
                            .ttl = time(args[1])});
        if (is(stores::redis::replace_script)) {
            auto const all = locks(k, args[3]);
            return granted({.what = commands::replace{.former = args[2]},
                            .mode = count > all.size() + 1 ? mode::shared : mode::exclusive,
                            .keys = all,
                            .value = args[0],
                            .ttl = time(args[1])});
        }
        if (is(stores::redis::acquire_any_script))
            return acquire_any(k, args);
        if (is(stores::redis::acquire_all_script) || is(stores::redis::contend_all_script))
            return acquire_all(k, args, is(stores::redis::contend_all_script));
        if (is(stores::redis::extend_all_script))
            return granted({.what = commands::extend{.heal = args[3] == "1"},
                            .keys = locks(k, args[2]),
                            .value = args[0],
                            .ttl = time(args[1])});
        if (is(stores::redis::release_all_script)) {
            auto const all = locks(k, args[1]);
            return number(apply({.what = commands::release{}, .keys = all, .value = args[0]}, count > all.size()).ours);
        }
        if (is(stores::redis::raise_all_script))
            return raise_all(k, integer<std::uint64_t>(args[0]));
        if (is(stores::redis::release_script))
            return release(k[0], args[0], count > 1 ? commands::handovers::end : commands::handovers::unsaid);
        return release(k[0], args[0], count > 2 ? commands::handovers::end : commands::handovers::unsaid, true);
    }

    stores::redis::reply release(std::string const& key, std::string_view value, commands::handovers handed_on = {},
                                 bool tombstone = false)
    {
        return granted({.what = commands::release{.handed_on = handed_on}, .keys = keys(key), .value = value},
                       tombstone);
    }

    stores::redis::reply raise(command const& c)
    {
        return number(raise(c[1], integer<std::uint64_t>(c[c.size() - 2])) ? 1 : 0);
    }

    stores::redis::reply add_one(command const& c)
    {
        auto const n = ++server_.keys.counters[c[1]];
        world().tell("{} raise {}: {}", server_.name, c[1], n);
        return {.type = stores::redis::resp::type::real, .text = fmt::to_string(n), .elements = {}};
    }

    stores::redis::reply withdraw(command const& c)
    {
        std::string const key(core::what_changed(c[1]).second);
        apply({.what = commands::withdraw{.contender = c[2]}, .keys = keys(key)});
        return number(1);
    }

    // How long a key lives; the client may ask for notifications about it.
    stores::redis::reply left(command const& c)
    {
        if (from_->tracks_next)
            server_.watch(c[1], from_);
        auto const end = end_of(c[1]), now = server_.clock_now();
        return number(end == clock::time_point::max() ? -1 : end > now ? (end - now) / 1ms : -2);
    }

    // Somebody sets a key and takes it back, so that the server forgets whom to tell of it.
    stores::redis::reply touch(std::string const& key)
    {
        server_.keys.tell(key, from_.get());
        return number(1);
    }

    stores::redis::reply score(command const& c)
    {
        auto const known = server_.keys.counters.find(c[1]);
        return known == server_.keys.counters.end() ? nothing()
                                                    : stores::redis::reply{.type = stores::redis::resp::type::real,
                                                                           .text = fmt::to_string(known->second),
                                                                           .elements = {}};
    }

private:
    class world& world() { return server_.world(); }

    static key_view keys(std::string const& key) { return {&key, 1}; }

    // When the key expires; in the past if there is none.
    clock::time_point end_of(std::string const& key)
    {
        auto& all = server_.keys;
        auto const in = [&](auto const& map, auto const& name, auto end) {
            auto const known = map.find(name);
            return known == map.end() ? clock::time_point::min() : end(known->second);
        };
        auto const itself = [](clock::time_point end) { return end; };
        auto const [of, lock] = core::what_changed(key);
        if (of == core::watched::handovers)
            return in(all.handovers, lock, itself);
        if (of == core::watched::place)
            return in(all.places, key, itself);
        if (of == core::watched::wanted)
            return in(all.wanted, lock, [](auto& list) { return list.second; });
        return in(all.entries, lock, [](auto& e) { return e.expires; });
    }

    stores::redis::reply upgrade(std::string const& key, std::span<std::string const> args)
    {
        auto const r = apply({.what = commands::upgrade{.contender = args[2], .note = args[4]},
                              .mode = mode::shared,
                              .keys = keys(key),
                              .value = args[0],
                              .ttl = time(args[1])});
        return r.ours ? list(stores::redis::resp::type::array, {fmt::to_string(r.remaining.count())})
                      : number(r.vote == vote::granted ? 1 : 0);
    }

    stores::redis::reply contend(std::string const& key, std::span<std::string const> args)
    {
        auto const handed_on = args[4] == "1" ? commands::handovers::follow : commands::handovers::unsaid;
        auto const r = apply({.what = commands::acquire{.handed_on = handed_on, .contender = args[2], .note = args[5]},
                              .keys = keys(key),
                              .value = args[0],
                              .ttl = time(args[1])});
        if (r.vote == vote::granted)
            return number(r.wanted ? 2 : 1);
        std::vector<std::string> words;
        tell_of_taken(r.remaining, r.handed_on, words);
        words.push_back(r.text.substr(0, text_max));
        if (r.ahead > 0)
            words.push_back(fmt::to_string(r.ahead));
        return list(stores::redis::resp::type::array, std::move(words));
    }

    stores::redis::reply share(std::string const& key, std::span<std::string const> args)
    {
        auto const r = apply({.what = commands::acquire{.passes = args[4] == "1", .contender = args[2]},
                              .mode = mode::shared,
                              .keys = keys(key),
                              .value = args[0],
                              .ttl = time(args[1])});
        if (r.vote == vote::granted)
            return number(r.wanted ? 2 : 1);
        std::vector<std::string> words;
        tell_of_taken(r.remaining, r.handed_on, words);
        words.push_back(r.behind_writer ? "1" : "0");
        if (!r.behind_writer)
            words.push_back(r.text.substr(0, text_max));
        return list(stores::redis::resp::type::array, std::move(words));
    }

    // Tells for how long the key is taken, and until when it is handed on.
    static void tell_of_taken(std::chrono::milliseconds remaining, bool handed_on, std::vector<std::string>& words)
    {
        auto const left = fmt::to_string(remaining.count());
        words.insert(words.end(), {left, handed_on ? left : "-2"});
    }

    static key_view locks(std::span<std::string const> keys, std::string_view count)
    {
        return key_view(keys.first(integer<std::size_t>(count)));
    }

    stores::redis::reply acquire_all(std::span<std::string const> k, std::span<std::string const> args, bool contends)
    {
        auto const all = locks(k, args[contends ? 4 : 2]);
        bool const grows = contends && args[5] == "1";
        node_command const c{
            .what = commands::acquire{.grows = grows,
                                      .contender = contends ? std::string_view(args[2]) : std::string_view(),
                                      .note = contends ? std::string_view(args[6]) : std::string_view()},
            .keys = all,
            .value = args[0],
            .ttl = time(args[1])};
        auto const r = apply(c);
        if (r.vote == vote::granted) {
            bool raised = true;
            for (auto const& counter : k.subspan(all.size() * (contends ? 3 : 1) + (grows ? 1 : 0)))
                raised = raise(counter, integer<std::uint64_t>(args.back())) && raised;
            return number((contends ? 1 + r.wanted : 1) + (raised ? contends ? 2 : 1 : 0));
        }
        if (!contends)
            return number(0);
        std::vector<std::string> words{fmt::to_string(r.ours)};
        for (auto const& taken : r.taken) {
            words.push_back(fmt::to_string(taken.index));
            tell_of_taken(taken.remaining, taken.handed_on, words);
        }
        return list(stores::redis::resp::type::array, std::move(words));
    }

    stores::redis::reply acquire_any(std::span<std::string const> k, std::span<std::string const> args)
    {
        auto const all = locks(k, args[2]);
        auto const handed_on = args[5] == "1" ? commands::handovers::follow : commands::handovers::unsaid;
        node_command const c{
            .what = commands::acquire{.any = true, .handed_on = handed_on, .contender = args[3], .note = args[6]},
            .keys = all,
            .value = args[0],
            .ttl = time(args[1])};
        auto const r = apply(c);
        if (r.vote == vote::granted) {
            auto const counters = k.subspan(all.size() * (c.contends() ? 3 : 1));
            bool const raised = !counters.empty() && raise(counters[r.chosen], integer<std::uint64_t>(args[7]));
            return number(4 * r.chosen + r.wanted + (raised ? 2 : 0));
        }
        std::vector<std::string> words;
        for (auto const& taken : r.taken)
            tell_of_taken(taken.remaining, taken.handed_on, words);
        return list(stores::redis::resp::type::array, std::move(words));
    }

    // Raises a counter by its own key.
    bool raise(std::string const& counter, std::uint64_t to)
    {
        auto& is = server_.keys.counters[counter];
        return to > std::exchange(is, std::max(is, to));
    }

    stores::redis::reply raise_all(std::span<std::string const> counters, std::uint64_t to)
    {
        for (auto const& c : counters)
            to = std::max(to, server_.keys.counters[c]);
        for (auto const& c : counters)
            server_.keys.counters[c] = to + 1;
        world().tell("{} raise {}: {}", server_.name, counters.front(), to + 1);
        return text(fmt::to_string(to + 1));
    }

    stores::redis::reply inspect(std::string const& key)
    {
        auto const r = apply({.what = commands::inspect{}, .keys = keys(key)});
        auto const& known = *r.details;
        std::vector<std::string> words{r.text.substr(0, text_max),
                                       fmt::to_string(r.vote == vote::granted ? r.remaining.count() : -2),
                                       fmt::to_string(known.waiters.size()), fmt::to_string(known.readers.size())};
        for (auto const& w : known.waiters)
            words.insert(words.end(), {w.contender, w.shares ? "r" : '1' + w.note});
        for (auto const& reader : known.readers)
            words.insert(words.end(), {reader.value, fmt::to_string(reader.remaining.count())});
        return list(stores::redis::resp::type::array, std::move(words));
    }

    // scripts/record.lua, for a server that has a durable log and no replicas.
    stores::redis::reply record(std::string_view word, std::string_view verdict)
    {
        auto& known = server_.record;
        bool const continues = !known.word.empty() && (known.run == server_.life() || !world().conditions.amnesia);
        if (!continues)
            known = {.word = std::string(word), .began = known.word.empty() ? 'f' : 'r', .since = server_.clock_now()};
        if (!continues)
            known.first_run = server_.life();
        known.run = server_.life();
        std::string lives;
        for (auto life = known.run; life >= known.first_run && life + 4 > known.run; --life)
            lives += fmt::format("{}{}-{}", lives.empty() ? "" : ",", server_.name, life);
        if (known.began == 'f' && verdict.substr(0, 1).find_first_of("Fn") == 0 && verdict.substr(1) == known.word)
            known.began = verdict.front();
        return list(stores::redis::resp::type::array,
                    {known.word, std::string(1, known.began), fmt::to_string((server_.clock_now() - known.since) / 1ms),
                     "0", "", lives});
    }

    // Returns the reply of most scripts: 1 if the command was granted, 2 if it has set a missing key again, otherwise
    // 0.
    reply granted(node_command const& c, bool tombstone = false)
    {
        auto const r = apply(c, tombstone);
        return number(r.healed ? 2 : r.vote == vote::granted ? 1 : 0);
    }

    node_reply apply(node_command const& c, bool tombstone = false)
    {
        // A Redis server caches its clock, in milliseconds. So a key may expire 2 ms early.
        bool const sets = c.which() == kind::acquire || c.prolongs();
        auto const seen = server_.clock_now() - (sets ? world().random.between(0ms, 1ms) : 0ms);
        auto const now = sets ? clock::time_point(std::chrono::floor<std::chrono::milliseconds>(seen)) : seen;
        return server_.apply(c, now, tombstone, from_.get(), sent_);
    }

    server& server_;
    std::shared_ptr<client> const& from_;
    clock::time_point const sent_;
};

stores::redis::reply hello(client const& from)
{
    return list(stores::redis::resp::type::map, {"server", "redis", "version", "7.0.15", "proto", "3", "id",
                                                 fmt::to_string(from.id), "mode", "standalone", "role", "master"});
}

stores::redis::reply info(server const& s)
{
    // A Redis server counts the second that has only begun.
    auto const uptime = std::chrono::floor<std::chrono::seconds>(s.world().now - s.started()) + 1s;
    return text(fmt::format(
        "redis_version:7.0.15\r\nrun_id:{}\r\nuptime_in_seconds:{}\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
        "loading:0\r\naof_enabled:{}\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
        "aof_last_rewrite_time_sec:-1\r\naof_last_write_status:ok\r\n",
        run_id_of(s), uptime.count(), s.world().conditions.amnesia ? 0 : 1));
}

stores::redis::reply about_clients(server& s, client& from, command const& c)
{
    if (c[1] == "TRACKING" && !s.world().servers_tell)
        return error("NOPERM this user has no permissions to run the 'client|tracking' command");
    if (c[1] == "KILL" && !s.world().servers_end_connections)
        return error("NOPERM this user has no permissions to run the 'client|kill' command");
    if (c[1] == "KILL")
        return number(s.end_client(integer<std::uint64_t>(c[3])) ? 1 : 0);
    from.tracks_next = c[1] == "CACHING";
    return ok();
}

stores::redis::reply load(server& s, std::string_view source)
{
    auto const known = std::find_if(stores::redis::all_scripts.begin(), stores::redis::all_scripts.end(),
                                    [&](auto& one) { return one.source == source; });
    s.scripts.emplace(known->sha1);
    return text(std::string(known->sha1));
}

// The plain commands that only the greeting uses.
reply plain(server& s, command const& c)
{
    auto const now = s.clock_now();
    auto* const e = s.keys.find(c[1], now);
    if (c[0] == "GET" && c[1].find(":=record") != c[1].npos)
        return s.record.word.empty() ? nothing() : text(s.record.word + ' ');
    if (c[0] == "GET")
        return e ? text(e->value) : nothing();
    if (c[0] == "DEL")
        return number(s.keys.entries.erase(c[1]) + s.keys.counters.erase(c[1]));
    if (c[0] == "PEXPIRE" && e)
        e->expires = now + time(c[2]);
    return c[0] == "PEXPIRE" ? number(e ? 1 : 0) : error("ERR unknown command '" + c[0] + "'");
}

stores::redis::reply on_keys(server& s, std::shared_ptr<client> const& from, command const& c, clock::time_point sent)
{
    call one(s, from, sent);
    if (c[0] == "SET")
        return one.set(c);
    if (c[0] == "EVALSHA")
        return one.evalsha(c);
    if (c[0] == "DELIFEQ")
        return one.release(c[1], c[2]);
    if (c[0] == "ZADD")
        return one.raise(c);
    if (c[0] == "ZINCRBY")
        return one.add_one(c);
    if (c[0] == "HDEL")
        return one.withdraw(c);
    if (c[0] == "PTTL")
        return one.left(c);
    if (c[0] == "SADD" || c[0] == "SREM")
        return one.touch(c[1]);
    if (c[0] == "ZSCORE")
        return one.score(c);
    return plain(s, c);
}

}  // namespace

stores::redis::reply carry_out(server& s, std::shared_ptr<client> const& from, command const& c, clock::time_point sent)
{
    auto const& name = c[0];
    ++s.commands;
    if (name == "HELLO")
        return hello(*from);
    if (name == "INFO")
        return info(s);
    if (name == "CONFIG")
        return list(stores::redis::resp::type::map, {"appendfsync", "always", "no-appendfsync-on-rewrite", "no"});
    if (name == "COMMAND")
        return list(stores::redis::resp::type::array, s.deletes_if_equal() ? std::vector<std::string>{"del", "delifeq"}
                                                                           : std::vector<std::string>{"del"});
    if (name == "CLIENT")
        return about_clients(s, *from, c);
    if (name == "PING")
        return {.type = stores::redis::resp::type::simple_string, .text = "PONG", .elements = {}};
    if (!s.refusal().empty())
        return error(std::string(s.refusal()));
    auto r = name == "SCRIPT" ? load(s, c[2]) : on_keys(s, from, c, sent);
    from->tracks_next = false;
    return r;
}

}  // namespace redlock::sim
