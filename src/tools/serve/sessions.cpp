#include "tools/serve/sessions.hpp"

#include "tools/serve/random_id.hpp"

#include <utility>
#include <vector>

namespace redlock::serve {

class sessions::stream : public event_stream {
public:
    stream(sessions& all, std::shared_ptr<session> s, std::uint64_t last_seen, std::size_t connection)
        : all_(all), session_(std::move(s)), number_(session_->events().attach(last_seen))
    {
        session_->attached(connection);
    }
    ~stream() override
    {
        if (session_->is_over() || !session_->events().is_current(number_))
            return;
        if (session_->grace().count() == 0)
            all_.end(*session_, session::at_end::release);
        else
            session_->wait_for_reconnection(number_,
                                            [&all = all_, s = session_] { all.end(*s, session::at_end::leave); });
    }
    stream(stream const&) = delete;
    stream& operator=(stream const&) = delete;

    asio::awaitable<std::optional<std::string>> next() override { return session_->events().next(number_); }

private:
    sessions& all_;
    std::shared_ptr<session> const session_;
    std::uint64_t const number_;
};

std::shared_ptr<session> sessions::open(std::string const& client, session::options how)
{
    auto s = std::make_shared<session>(executor_, manager_, waiting_, who_, ids_, random_id(), client, how,
                                       [this](std::string const& token) { forget(token); });
    all_.emplace(s->id(), s);
    ++of_clients_[client].sessions;
    return s;
}

std::shared_ptr<session> sessions::find(std::string_view id, std::string const& client) const
{
    auto const known = all_.find(id);
    return known == all_.end() || known->second->client() != client ? nullptr : known->second;
}

std::shared_ptr<event_stream> sessions::stream_of(std::shared_ptr<session> s, std::uint64_t last_seen,
                                                  std::size_t connection)
{
    return std::make_shared<stream>(*this, std::move(s), last_seen, connection);
}

void sessions::add(session& s, lock handle, lock_ticket ticket, std::chrono::milliseconds ttl)
{
    auto l = std::make_shared<session_lock>(executor_);
    l->handle = std::move(handle);
    l->ticket = std::move(ticket);
    l->id = ids_.id_of(l->ticket);
    l->ttl = ttl;
    forget(l->ticket.token);
    holders_.emplace(l->ticket.token, &s);
    ++of_clients_[s.client()].locks;
    s.add(std::move(l));
}

void sessions::forget(std::string const& token)
{
    auto const holder = holders_.find(token);
    if (holder == holders_.end())
        return;
    if (auto const client = of_clients_.find(holder->second->client()); client != of_clients_.end())
        --client->second.locks;
    holders_.erase(holder);
}

std::shared_ptr<session> sessions::holder_of(std::string const& token) const
{
    auto const known = holders_.find(token);
    return known == holders_.end() ? nullptr : known->second->shared_from_this();
}

bool sessions::move(std::string const& token, std::shared_ptr<session> const& to)
{
    auto const holder = holder_of(token);
    if (holder && to && to != holder && !to->is_over()) {
        auto const l = take(token);
        add(*to, std::move(l->handle), l->ticket, l->ttl);
    }
    return holder != nullptr;
}

std::shared_ptr<session_lock> sessions::find_lock(std::string const& token) const
{
    auto const holder = holder_of(token);
    return holder ? holder->find(token) : nullptr;
}

std::shared_ptr<session_lock> sessions::take(std::string const& token)
{
    auto const holder = holder_of(token);
    forget(token);
    return holder ? holder->take(token) : nullptr;
}

// Until their time to live is over, the locks that a session leaves count for the client.
void sessions::count_left(session const& s)
{
    for (auto const& [token, l] : s.locks())
        loads_.add_lock(s.client(), token, l->handle.valid_until());
}

void sessions::end(session& s, session::at_end how)
{
    if (how == session::at_end::leave)
        count_left(s);
    for (auto const& [token, l] : s.locks())
        forget(token);
    s.end(how);
    if (all_.erase(s.id()) == 0)
        return;
    if (auto const client = of_clients_.find(s.client()); --client->second.sessions == 0)
        of_clients_.erase(client);
}

std::size_t sessions::end_if(std::function<bool(session const&)> const& must_end)
{
    std::vector<std::shared_ptr<session>> ending;
    for (auto const& [id, s] : all_) {
        if (must_end(*s))
            ending.push_back(s);
    }
    for (auto const& s : ending)
        end(*s, session::at_end::leave);
    return ending.size();
}

void sessions::stop()
{
    holders_.clear();
    of_clients_.clear();
    for (auto const& [id, s] : std::exchange(all_, {})) {
        count_left(*s);
        s->stop();
    }
}

std::size_t sessions::sessions_of(std::string const& client) const
{
    auto const known = of_clients_.find(client);
    return known == of_clients_.end() ? 0 : known->second.sessions;
}

std::size_t sessions::locks_of(std::string const& client) const
{
    auto const known = of_clients_.find(client);
    return known == of_clients_.end() ? 0 : known->second.locks;
}

}  // namespace redlock::serve
