#include "redis/sender.hpp"

#include "redis/command.hpp"
#include "redis/scripts.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::redis {

namespace {

using namespace std::string_view_literals;

template <class... Args>
void push_script(boost::redis::request& to, script const& s, bool load, Args const&... args)
{
    if (load)
        push_command(to, "SCRIPT", "LOAD"sv, s.source);
    push_command(to, "EVALSHA", s.sha1, "1"sv, args...);
}

bool same(std::string_view a, std::string_view b) noexcept
{
    return a.data() == b.data() && a.size() == b.size();
}

}  // namespace

boost::redis::request const& encoder::encode(node_operation const& o, deletion by, bool load)
{
    if (same(key_, o.key) && same(value_, o.value) && what_ == o.what && ttl_ == o.ttl && deletion_ == by && load_script_ == load)
        return request_;
    forget();  // what is half encoded, out of memory, must never be sent
    request_.clear();
    switch (o.what) {
    case node_operation::kind::acquire:
        push_command(request_, "SET", o.key, o.value, "NX"sv, "PX"sv, o.ttl.count());
        break;
    case node_operation::kind::extend:
        push_script(request_, extend_script, load, o.key, o.value, o.ttl.count());
        break;
    case node_operation::kind::release:
        if (by == deletion::delifeq)
            push_command(request_, "DELIFEQ", o.key, o.value);
        else if (by == deletion::delex)
            push_command(request_, "DELEX", o.key, "IFEQ"sv, o.value);
        else
            push_script(request_, release_script, load, o.key, o.value);
        break;
    case node_operation::kind::inspect:
        push_script(request_, inspect_script, load, o.key);
        break;
    case node_operation::kind::connect:
        break;
    }
    key_ = o.key;
    value_ = o.value;
    what_ = o.what;
    ttl_ = o.ttl;
    deletion_ = by;
    load_script_ = load;
    return request_;
}

void sender::add(std::weak_ptr<node> n, detail::strand const& on)
{
    due_.push_back(std::move(n));
    if (due_.size() > 1)
        return;
    // After all that is due in the event loop, so that whatever it asks for travels along.
    asio::post(on.inner(), [self = shared_from_this(), on] { asio::dispatch(on, [self] { self->run(); }); });
}

void sender::run()
{
    auto const now = clock::now();
    encoder_.forget();  // the previous run may have ended with an exception
    sending_.clear();
    for (auto& weak : std::exchange(due_, {})) {
        if (auto n = weak.lock(); n && n->begin_sending(now))
            sending_.push_back(std::move(n));
    }
    bool more = !sending_.empty();
    for (std::size_t i = 0; more; ++i) {
        more = false;
        for (auto& n : sending_)
            more = n->send(i, now, encoder_) || more;
    }
    encoder_.forget();
    for (auto& n : sending_)
        n->end_sending(now);
    sending_.clear();
}

}  // namespace redlock::redis
