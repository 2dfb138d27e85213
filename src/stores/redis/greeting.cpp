#include "stores/redis/greeting.hpp"

#include "stores/redis/decoder.hpp"
#include "core/key.hpp"
#include "core/told_time.hpp"
#include "stores/redis/scripts.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace redlock::stores::redis {

namespace {

using namespace std::chrono_literals;
using redlock::stores::redis::resp::type;

// The replies to the fixed questions, in their order. Then follow SELECT (if a database is chosen), the scripts, and
// the trial.
enum question : std::size_t {
    hello,
    server_info,
    memory_info,
    persistence_info,
    policy,
    native_commands,
    tracking,
    questions
};

constexpr std::size_t trial_steps = 5;
constexpr std::size_t record_steps = 2;
constexpr std::size_t type_trial = 2;  // trial commands that the server may refuse: `SET … NX … GET`, twice

// The trial commands. No other client uses the key, and it is deleted before another client's command runs. All
// connections use one counter: where an access list forbids to delete it, one counter remains, not one per connection.
std::array<node_command, trial_steps> trial_at(std::string const& key, std::string const& counter)
{
    std::array<commands::variant, trial_steps> const trials{commands::acquire{.contender = "trial"}, commands::extend{},
                                                            commands::inspect{}, commands::raise{.fence = 1},
                                                            commands::release{}};
    std::array<node_command, trial_steps> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        bool const raises = std::holds_alternative<commands::raise>(trials[i]);
        all[i] = {.what = trials[i],
                  .keys = {raises ? &counter : &key, 1},
                  .value = "trial",
                  .ttl = i == 0 ? 1s : 2s};  // the extension must have something to prolong
    }
    return all;
}

// Redis before 6.2 does not know `ZADD … GT`.
bool is_before_6_2(std::string_view version)
{
    unsigned major = 0, minor = 0;
    auto const* const end = version.data() + version.size();
    auto const dot = std::from_chars(version.data(), end, major);
    if (dot.ec != std::errc() || dot.ptr == end || std::from_chars(dot.ptr + 1, end, minor).ec != std::errc())
        return false;
    return major < 6 || (major == 6 && minor < 2);
}

std::chrono::milliseconds uptime_in(std::string_view info)
{
    long long seconds = 0;
    auto const digits = value_after(info, "uptime_in_seconds:");
    std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    return std::max(core::told_time<std::chrono::seconds>(seconds), std::chrono::seconds(1));
}

}  // namespace

bool is_temporary(error_code ec)
{
    return ec == errc::node_out_of_memory || ec == errc::node_refuses_writes || ec == errc::node_busy
           || ec == errc::node_loading;
}

greeting::greeting(net::url const& server, manager_options const& c)
    : hello_(server, c.credentials),
      server_(server),
      prefix_(c.prefix),
      fencing_(c.fencing),
      allow_eviction_(c.allow_eviction),
      wants_record_(c.record && !c.read_only),
      needs_record_(c.restart_guard != restart_guard::off && !c.read_only),
      read_only_(c.read_only),
      record_(server, c)
{
}

std::size_t greeting::scripts_at() const noexcept { return questions + (selects_database() ? 1 : 0); }

std::size_t greeting::trial_at() const noexcept { return scripts_at() + greeted_scripts.size(); }

void greeting::ask(redis::request& r, std::string_view word)
{
    hello_.say(r);
    if (read_only_)
        return ask_to_read(r);
    r.push("INFO", "server");
    r.push("INFO", "memory");
    r.push("INFO", "persistence");
    ask_for_policy(r);
    r.push("COMMAND", "LIST", "FILTERBY", "PATTERN", "del*");
    r.push("CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP");
    if (selects_database())
        r.push("SELECT", std::to_string(server_.database));
    for (auto const& script : greeted_scripts)
        r.push("SCRIPT", "LOAD", script.source);

    auto const counter = prefix_ + "=trial" + server_.tag;
    auto const key = counter + ':' + std::string(word);
    for (auto const* value : {"trial", "another"})
        r.push("SET", key, value, "NX", "PX", 1000, "GET");
    // Each command that the scripts use is tried alone: the error of a script does not always name the command.
    r.push("SET", key, "trial", "NX", "PX", 1000);
    r.push("GET", key);
    r.push("PTTL", key);
    r.push("PEXPIRE", key, 1000);
    r.push("DEL", key);
    encoder e;
    for (auto const& c : redis::trial_at(key, counter)) {
        if (c.which() != node_command::kind::raise || fencing_)
            r.append(e.encode(c, {.by = deletion::script}));
    }
    if (fencing_)
        r.push("DEL", core::fence_key(counter));
    if (wants_record()) {
        r.push("SCRIPT", "LOAD", record_script.source);
        record_.ask(r, {.word = word});
    }
}

// Asks for nothing that a user who only reads need not do, because each refusal leaves a line in the server's ACL LOG.
void greeting::ask_to_read(redis::request& r) const
{
    r.push("CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP");
    if (selects_database())
        r.push("SELECT", std::to_string(server_.database));
}

introduction greeting::read_to_read(std::span<reply const> replies) const
{
    introduction i;
    for (auto const& r : replies) {
        if (!r.is_error())
            continue;
        auto refusal = decode_error(r.text, {secret()});
        bool const is_optional = &r == &replies[1] && !is_temporary(refusal.error);
        if (!is_optional)
            i.refusal = std::move(refusal);
        else
            i.no_tracking = shown(r.text);
    }
    return i;
}

void greeting::ask_for_policy(redis::request& r)
{
    r.push("CONFIG", "GET", "*appendfsync*");  // one pattern for two settings, because Redis 6 takes only one argument
}

introduction greeting::read(std::span<reply const> replies) const
{
    introduction i;
    auto const& welcome = replies[hello];
    i.refusal = refusal_of_welcome(welcome);
    if (i.refusal.error)
        return i;
    if (read_only_ && welcome.type == resp::type::map && replies.size() > 1)
        return read_to_read(replies);
    if (!answers_questions(replies)) {
        i.refusal = {.error = errc::unexpected_reply, .text = "its replies do not match the greeting"};
        return i;
    }
    if (selects_database() && replies[questions].is_error()) {
        i.refusal = decode_error(replies[questions].text, {secret()});
        return i;
    }
    i.refusal = not_now(replies);
    if (i.refusal.error)
        return i;

    auto const& server = replies[server_info].text;
    i.run_id = value_after(server, "run_id:");
    i.policy = read_log_policy(replies[policy]);
    i.tells_of_policy = !replies[policy].is_error();  // a forbidden question would fill the server's ACL LOG
    i.tells_of_memory = !allow_eviction_ && !replies[memory_info].is_error();
    i.client_id = value_of(welcome.elements, "id");
    auto const& known = replies[native_commands].elements;
    auto const has = [&](std::string_view name) { return std::find(known.begin(), known.end(), name) != known.end(); };
    i.by = has("delifeq") ? deletion::delifeq : has("delex") ? deletion::delex : deletion::script;
    if (replies[tracking].is_error())
        i.no_tracking = shown(replies[tracking].text);

    i.refusal = unfit(replies);
    auto const trial = replies.subspan(trial_at(), replies.size() - trial_at() - (wants_record() ? record_steps : 0));
    if (!i.refusal.error)
        i.refusal = fails_trial(trial.subspan(type_trial));
    if (wants_record() && !i.refusal.error) {
        server_record record;
        auto why = record_.read(replies.back(), secret(), record);
        record.memory.up = uptime_in(server);
        if (!why.error)
            i.record = std::move(record);
        else
            i.refusal = refusal_without_record(std::move(why));
    }
    i.checks_type = checks_type(trial);
    return i;
}

node_reply greeting::refusal_without_record(node_reply why) const
{
    if (!needs_record() || is_temporary(why.error))
        return {};
    if (why.error == errc::permission_denied || why.error == errc::server_error)
        why.text = "without a record of its memory, nobody can tell whether it has restarted and forgotten locks: "
                   + why.text + "; the user needs +info, +get, +set, +pttl and the keys " + shown(record_.key())
                   + " and " + shown(core::settings_key(prefix_) + server_.tag) + ": redlock acl";
    return why;
}

void greeting::move_to(std::string_view tag)
{
    server_.tag = tag;
    record_.move_to(tag);
}

// Whether the server knows `SET … NX … GET`: it grants the first trial, and answers the second with the value of the
// first.
bool greeting::checks_type(std::span<reply const> trial)
{
    auto const& value = trial[type_trial + 1];  // the answer to the GET that follows both
    return trial[0].type == resp::type::null && trial[1].type == resp::type::blob_string && trial[1].text == "trial"
           && value.text == "trial";
}

node_reply greeting::refusal_of_welcome(reply const& welcome) const
{
    if (welcome.is_error()) {
        auto r = decode_error(welcome.text, {secret()});
        if (r.error == errc::server_error && r.untouched)  // the server does not know HELLO
            r.error = errc::unsupported_server;
        if (r.error == errc::unsupported_server)
            r.text += "; Redis 6 or newer, or Valkey, is needed";
        return r;
    }
    if (value_of(welcome.elements, "mode") == "sentinel")
        return {
            .error = errc::unsupported_server,
            .text = "this is a Sentinel; name it as one, with what it calls the master: redis-sentinel://host/name"};
    bool const in_cluster = value_of(welcome.elements, "mode") == "cluster";
    bool const should_be = server_.topology == net::topology::member;
    if (in_cluster && !should_be)
        return {
            .error = errc::wrong_cluster_node,
            .text = "this is a member of a cluster; name independent servers, or all of it: redis-cluster://host,…"};
    if (should_be && !in_cluster)
        return {.error = errc::unsupported_server, .text = "this is no member of a cluster"};
    return {};
}

// Whether each reply has the type that the question asks for, or is an error. Otherwise the replies are out of step,
// and a later +OK could answer any command.
bool greeting::answers_questions(std::span<reply const> replies) const
{
    auto const is = [&](std::size_t i, auto... shapes) {
        auto const& r = replies[i];
        return r.is_error() || ((r.type == shapes) || ...);
    };
    bool good = replies[hello].type == resp::type::map && !value_of(replies[hello].elements, "role").empty();
    for (auto const info : {server_info, memory_info, persistence_info})
        good = good && is(info, resp::type::verbatim_string, resp::type::blob_string);
    good = good && is(policy, resp::type::map, resp::type::array) && is(native_commands, resp::type::array)
           && is(tracking, resp::type::simple_string);
    for (std::size_t i = 0; i < greeted_scripts.size(); ++i)
        good = good
               && (replies[scripts_at() + i].is_error() || replies[scripts_at() + i].text == greeted_scripts[i].sha1);
    return good && (!selects_database() || is(questions, resp::type::simple_string));
}

// A server that loads its data or runs a long script gives answers that do not last:
// - its log is off until it is loaded;
// - a refused question would not be asked again on this connection.
// So the client refuses the server for now, and greets it again on the next connection.
node_reply greeting::not_now(std::span<reply const> replies) const
{
    for (auto const& r : replies) {
        if (!r.is_error())
            continue;
        auto refusal = decode_error(r.text, {secret()});
        if (refusal.error == errc::node_busy || refusal.error == errc::node_loading)
            return refusal;
    }
    if (value_after(replies[persistence_info].text, "loading:") == "1")
        return {.error = errc::node_loading, .text = "it is loading its data"};
    return {};
}

node_reply greeting::unfit(std::span<reply const> replies) const
{
    if (auto const role = value_of(replies[hello].elements, "role"); role != "master")
        return {.error = errc::node_read_only, .text = "its role is " + shown(role)};

    auto const version = value_after(replies[server_info].text, "redis_version:");
    if (fencing_ && !version.empty() && is_before_6_2(version))
        return {.error = errc::unsupported_server,
                .text = "fencing needs Redis 6.2, and this is version " + shown(version)};

    return may_evict(replies[memory_info]);
}

node_reply greeting::may_evict(reply const& memory) const
{
    auto const limit = value_after(memory.text, "maxmemory:");
    auto const policy = value_after(memory.text, "maxmemory_policy:");
    if (!allow_eviction_ && !limit.empty() && limit != "0" && !policy.empty() && policy != "noeviction")
        return {.error = errc::node_may_evict,
                .text = "its maxmemory-policy is " + shown(policy) + ", and maxmemory is " + shown(limit)
                        + " bytes; correct it with CONFIG SET maxmemory-policy noeviction"};
    return {};
}

node_reply greeting::fails_trial(std::span<reply const> replies) const
{
    bool const may_set = !replies[0].is_error();
    for (auto const& r : replies) {
        if (!r.is_error())
            continue;
        auto refusal = decode_error(r.text, {secret()});
        // An access list may allow only some names of locks; then each vote shows whether it allows ours. But if the
        // list allows SET for a key, it must allow the other commands, too.
        bool const about_keys = refusal.error == errc::permission_denied && r.text.find(" key") != std::string::npos;
        if (is_temporary(refusal.error) || (about_keys && !may_set))
            continue;
        if (refusal.error == errc::script_missing)
            refusal = {.error = errc::permission_denied, .text = "it does not accept scripts (SCRIPT LOAD)"};
        else if (refusal.error == errc::server_error)
            refusal.error = errc::unsupported_server;
        refusal.text = "a trial lock was refused: " + refusal.text;
        return refusal;
    }
    return {};
}

}  // namespace redlock::stores::redis
