// `manager_options::stores`: addresses with the schemes of users, and nodes of several stores in one manager.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(stores)

namespace {

/// A node on a memory server. Its name is the whole address.
class toy_node final : public node {
public:
    toy_node(std::string name, std::string const& at) : name_(std::move(name)), server_(at) {}

    std::string const& name() const noexcept override { return name_; }
    bool ready() const noexcept override { return true; }
    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
        asio::post(executor_, [this] { events_.connected({}); });
    }
    void submit(std::shared_ptr<node_operation> o) override
    {
        asio::post(executor_, [this, o] {
            o->mark_sent(1);
            auto const server = memory_server::at(server_);
            auto const& c = o->command();
            bool const taken = server->value(c.key()).has_value();
            if (c.which() == node_command::kind::acquire && !taken)
                server->set(c.key(), c.value, c.ttl);
            bool const ours = taken && *server->value(c.key()) == c.value;
            if (c.which() == node_command::kind::release && ours)
                server->erase(c.key());
            bool const granted = c.which() == node_command::kind::connect
                                 || (c.which() == node_command::kind::acquire ? !taken : ours);
            o->complete({.vote = granted ? vote::granted : vote::denied});
        });
    }
    void close() override { executor_ = {}; }

private:
    std::string const name_;
    std::string const server_;
    asio::any_io_executor executor_;
    node_events events_;
};

store toy()
{
    return {.schemes = {"toy", "toys"},
            .make = [](std::string_view url, manager_options const&, store_context const&) -> std::shared_ptr<node> {
                auto const at = url.substr(url.find("://") + 3);
                if (at.empty())
                    throw std::invalid_argument("a toy needs a name, as in toy://duck");
                if (at == "none")
                    return {};
                return std::make_shared<toy_node>(std::string(url), std::string(at));
            }};
}

}  // namespace

BOOST_AUTO_TEST_CASE(store_makes_the_nodes_of_its_schemes)
{
    asio::io_context context;
    auto const keep = {memory_server::at("duck"), memory_server::at("bear"), memory_server::at("plain")};
    error_code ec = errc::lost;
    {
        lock_manager locks(context, {.nodes = {"toy://duck", "memory://plain", "toys://bear"}, .stores = {toy()}});
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                auto l = co_await locks.async_acquire("stock", {.ttl = 5s}, asio::use_awaitable);
                std::size_t keys = 0;
                for (auto const& s : keep)
                    keys += s->size();
                BOOST_TEST(keys >= 2u);
                BOOST_TEST(locks.stats().nodes[0].name == "toy://duck");
                ec = {};
                co_await l.async_release(asio::use_awaitable);
                co_await locks.async_shutdown(asio::use_awaitable);
            },
            asio::detached);
        context.run();
    }
    BOOST_TEST(!ec);
    for (auto const& s : keep)
        BOOST_TEST(s->size() == 0u);
}

BOOST_AUTO_TEST_CASE(lock_manager_accepts_addresses_and_node_objects_together)
{
    asio::io_context context;
    lock_manager locks(context.get_executor(), {.nodes = {"memory://a", "toy://b"}, .stores = {toy()}},
                       {std::make_shared<toy_node>("mine", "c")});
    auto const nodes = locks.stats().nodes;
    BOOST_REQUIRE(nodes.size() == 3u);
    BOOST_TEST(nodes[2].name == "mine");
    BOOST_CHECK_THROW(lock_manager(context.get_executor(), {.nodes = {"memory://a"}},
                                   {std::make_shared<toy_node>("memory://a", "a")}),
                      std::invalid_argument);
    BOOST_CHECK_THROW(lock_manager(context.get_executor(), {}, {nullptr}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(lock_manager_with_a_bad_store_throws_with_its_position)
{
    auto const message_for = [](std::vector<std::string> nodes, std::vector<store> stores) {
        return refusal({.nodes = std::move(nodes), .stores = std::move(stores)});
    };
    auto greedy = toy();
    greedy.schemes.push_back("redis");
    BOOST_TEST(message_for({"toy://"}, {toy()})
               == "redlock::manager_options: nodes[0]: a toy needs a name, as in toy://duck");
    BOOST_TEST(message_for({"toy://none"}, {toy()})
               == "redlock::manager_options: nodes[0]: the store of \"toy://\" made no node");
    BOOST_TEST(
        message_for({"toy://a", "toy://b", "toy://a"}, {toy()})
        == "redlock::manager_options: nodes[2] is \"toy://a\", the same server as nodes[0]; one server has one vote");
    BOOST_TEST(
        message_for({"postgres://u:geheim@h/db"}, {})
        == "redlock::manager_options: nodes[0]: postgres:// is in the component redlock::postgresql: link it, and name "
           "it in manager_options::stores: "
           "{redlock::postgresql()}");
    BOOST_TEST(message_for({"memory://a"}, {toy(), toy()})
               == "redlock::manager_options: stores[1] has the scheme \"toy\", which is listed twice");
    BOOST_TEST(message_for({"memory://a"}, {greedy})
               == "redlock::manager_options: stores[0] has the scheme \"redis\", which is always known");
    BOOST_TEST(message_for({"memory://a"}, {store{}}) == "redlock::manager_options: stores[0] has no make");
    BOOST_TEST(message_for({"memory://a"}, {store{.make = toy().make}})
               == "redlock::manager_options: stores[0] has no schemes");
    for (auto const* const odd : {"", "Toy", "toy://"}) {
        auto wrong = toy();
        wrong.schemes = {odd};
        BOOST_TEST(message_for({"memory://a"}, {wrong}).find("schemes are lower-case letters") != std::string::npos);
    }
    BOOST_TEST(message_for({"toy://a"}, {}).find("or that of a store in manager_options::stores") != std::string::npos);
}

// A node calls `claim` when it has learned the identity of its server.
BOOST_AUTO_TEST_CASE(store_context_claim_of_the_same_server_returns_the_first_address)
{
    asio::io_context context;
    std::function<std::string(std::string const&, std::string const&)> claim;
    auto s = toy();
    s.make = [&claim, make = s.make](std::string_view url, manager_options const& c, store_context const& together) {
        claim = together.claim;
        return make(url, c, together);
    };
    lock_manager const locks(context, {.nodes = {"toy://a", "toy://b"}, .stores = {s}});
    BOOST_TEST(claim("toy://a", "toy 1").empty());
    BOOST_TEST(claim("toy://b", "toy 2").empty());
    BOOST_TEST(claim("toy://b", "toy 1") == "toy://a");
}

BOOST_AUTO_TEST_SUITE_END()
