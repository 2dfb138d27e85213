#include "stores/zookeeper/greeting.hpp"

#include "stores/zookeeper/refusal.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace redlock::stores::zookeeper {

namespace {

// Creates the missing nodes. @return the first error, or ZOK
asio::awaitable<int> make_folders(std::shared_ptr<transport> server, layout const& l, std::string const& fresh_id)
{
    std::vector<std::shared_ptr<pending>> made{server->create(l.folder, {}, ZOO_PERSISTENT)};
    for (auto const* const name : {"/locks", "/turns", "/wanted", "/sessions", "/counters"})
        made.push_back(server->create(l.folder + name, {}, ZOO_PERSISTENT));
    made.push_back(server->create(l.id(), fresh_id, ZOO_PERSISTENT));
    int trouble = ZOK;
    for (auto const& m : made) {
        auto const a = co_await answer_of(m);
        if (trouble == ZOK && a.code != ZNODEEXISTS)
            trouble = a.code;
    }
    co_return trouble;
}

// Makes this connection the one that counts.
asio::awaitable<answer> take_over(std::shared_ptr<transport> server, layout const& l, std::string const& fresh_id)
{
    auto const session = l.session(server->session().client_id);
    auto a = co_await answer_of(server->set(session, {}));
    if (a.code != ZNONODE)
        co_return a;
    a = co_await answer_of(server->create(session, {}, ZOO_EPHEMERAL));
    if (a.code == ZNONODE) {
        a.code = co_await make_folders(server, l, fresh_id);
        if (a.code == ZOK)
            a = co_await answer_of(server->create(session, {}, ZOO_EPHEMERAL));
    }
    if (a.code == ZOK)
        a = co_await answer_of(server->set(session, {}));
    co_return a;
}

node_reply no_folder(layout const& l)
{
    auto const chroot = l.folder.substr(0, l.folder.rfind('/'));
    return {.untouched = true,
            .error = errc::server_error,
            .text = fmt::format("there is no {0}: make it first (zkCli.sh create {0})", chroot)};
}

// Changes nothing.
asio::awaitable<greeting> look(std::shared_ptr<transport> server, layout const& l)
{
    server->sync(l.locks());
    auto const locks = server->get(l.locks(), false), there = server->get(l.id(), false);
    auto const folder = co_await answer_of(locks), id = co_await answer_of(there);
    greeting g{.id = id.data, .zxid = folder.zxid};
    auto const code = folder.code != ZOK ? folder.code : id.code;
    if (code == ZNONODE)
        g.why = {.untouched = true,
                 .error = errc::server_error,
                 .text = fmt::format("there is no {} with locks: the first client that may write makes it", l.folder)};
    else if (code != ZOK)
        g.why = refusal(code, server->words());
    co_return g;
}

}  // namespace

asio::awaitable<greeting> greet(std::shared_ptr<transport> server, layout l, std::string fresh_id)
{
    if (fresh_id.empty())
        co_return co_await look(server, l);
    greeting g;
    auto const taken = co_await take_over(server, l, fresh_id);
    g.zxid = taken.zxid;
    g.version = taken.version;
    auto const id = co_await answer_of(server->get(l.id(), false));
    g.id = id.data;
    if (taken.code == ZNONODE)
        g.why = no_folder(l);
    else if (taken.code != ZOK || id.code != ZOK)
        g.why = refusal(taken.code != ZOK ? taken.code : id.code, server->words());
    co_return g;
}

}  // namespace redlock::stores::zookeeper
