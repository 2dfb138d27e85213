#include "stores/zookeeper/transport.hpp"

#include "runtime/as_result.hpp"

#include <algorithm>
#include <utility>

// Requests to the library, and its callbacks.
namespace redlock::stores::zookeeper {

namespace {

// The library passes it to the callback.
struct ticket {
    std::shared_ptr<pending> request;
    std::function<bool()> const is_waited_for;
};

void arrive(void const* data, answer a)
{
    std::unique_ptr<ticket const> const t(static_cast<ticket const*>(data));
    if (t->is_waited_for())
        t->request->arrive(std::move(a));
}

answer of_node(int code, Stat const* s)
{
    return s ? answer{.code = code, .version = s->version, .zxid = std::max(s->mzxid, s->pzxid)} : answer{.code = code};
}

void on_done(int code, void const* data)
{
    answer a{.code = code};
    for (auto const& r : static_cast<ticket const*>(data)->request->results)
        a.codes.push_back(r.err);
    arrive(data, std::move(a));
}

void on_name(int code, char const*, void const* data) { arrive(data, {.code = code}); }

void on_stat(int code, Stat const* s, void const* data) { arrive(data, of_node(code, s)); }

void on_data(int code, char const* bytes, int size, Stat const* s, void const* data)
{
    auto a = of_node(code, s);
    if (size > 0)
        a.data.assign(bytes, static_cast<std::size_t>(size));
    arrive(data, std::move(a));
}

void on_children(int code, String_vector const* names, void const* data)
{
    answer a{.code = code};
    for (int i = 0; names && i < names->count; ++i)
        a.names.emplace_back(names->data[i]);
    arrive(data, std::move(a));
}

zoo_op_t to_operation(step const& s, ACL_vector const* rights, Stat* stat)
{
    zoo_op_t o{};
    auto const size = static_cast<int>(s.data.size());
    switch (s.what) {
    case step::kind::create:
        zoo_create_op_init(&o, s.path.c_str(), s.data.data(), size, rights,
                           s.is_ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, nullptr, 0);
        break;
    case step::kind::set:
        zoo_set_op_init(&o, s.path.c_str(), s.data.data(), size, s.version, stat);
        break;
    case step::kind::remove:
        zoo_delete_op_init(&o, s.path.c_str(), s.version);
        break;
    case step::kind::check:
        zoo_check_op_init(&o, s.path.c_str(), s.version);
        break;
    }
    return o;
}

}  // namespace

void pending::arrive(answer a)
{
    answer_ = std::move(a);
    is_there_.cancel();
}

asio::awaitable<answer> answer_of(std::shared_ptr<pending> p)
{
    if (!p->answer_)
        co_await p->is_there_.async_wait(runtime::as_result);
    co_return std::move(*p->answer_);
}

template <class Call>
std::shared_ptr<pending> transport::ask(std::shared_ptr<pending> p, Call call)
{
    if (!handle_) {
        p->arrive({.code = ZCONNECTIONLOSS});
        return p;
    }
    if (asked_++ == 0)
        heard_ = clock::now();
    auto t = std::make_unique<ticket>(ticket{p, [this] { return --asked_, !is_abandoned_; }});
    if (auto const code = in_library([&] { return call(t.get()); }); code == ZOK)
        static_cast<void>(t.release());  // the callback destroys it
    else
        zookeeper::arrive(t.release(), {.code = code});
    prepare_soon();
    return p;
}

std::shared_ptr<pending> transport::commit(std::vector<step> const& steps)
{
    auto const p = std::make_shared<pending>(executor_);
    p->results.resize(steps.size());
    p->stats.resize(steps.size());
    std::vector<zoo_op_t> operations;
    for (std::size_t i = 0; i < steps.size(); ++i)
        operations.push_back(to_operation(steps[i], rights(), &p->stats[i]));
    return ask(p, [&](ticket const* t) {
        return zoo_amulti(handle_, static_cast<int>(operations.size()), operations.data(), p->results.data(), on_done,
                          t);
    });
}

std::shared_ptr<pending> transport::create(std::string const& path, std::string const& data, int mode)
{
    return ask(std::make_shared<pending>(executor_), [&](ticket const* t) {
        return zoo_acreate(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), rights(), mode, on_name,
                           t);
    });
}

std::shared_ptr<pending> transport::set(std::string const& path, std::string const& data)
{
    return ask(std::make_shared<pending>(executor_), [&](ticket const* t) {
        return zoo_aset(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), -1, on_stat, t);
    });
}

std::shared_ptr<pending> transport::remove(std::string const& path)
{
    return ask(std::make_shared<pending>(executor_),
               [&](ticket const* t) { return zoo_adelete(handle_, path.c_str(), -1, on_done, t); });
}

std::shared_ptr<pending> transport::get(std::string const& path, bool watch)
{
    return ask(std::make_shared<pending>(executor_), [&](ticket const* t) {
        return zoo_awget(handle_, path.c_str(), watch ? on_event : nullptr, this, on_data, t);
    });
}

std::shared_ptr<pending> transport::watch(std::string const& path)
{
    return ask(std::make_shared<pending>(executor_),
               [&](ticket const* t) { return zoo_awexists(handle_, path.c_str(), on_event, this, on_stat, t); });
}

std::shared_ptr<pending> transport::children(std::string const& path)
{
    return ask(std::make_shared<pending>(executor_),
               [&](ticket const* t) { return zoo_aget_children(handle_, path.c_str(), 0, on_children, t); });
}

std::shared_ptr<pending> transport::sync(std::string const& path)
{
    return ask(std::make_shared<pending>(executor_),
               [&](ticket const* t) { return zoo_async(handle_, path.c_str(), on_name, t); });
}

}  // namespace redlock::stores::zookeeper
