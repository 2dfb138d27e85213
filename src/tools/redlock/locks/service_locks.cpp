#include "tools/redlock/locks/service_locks.hpp"

#include "tools/redlock/locks/service_json.hpp"
#include "tools/redlock/locks/service_requests.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <exception>
#include <list>
#include <utility>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

}  // namespace

// Coroutines share it, because they may still run when the locks are destroyed.
struct service_locks::state {
    state(std::shared_ptr<service_client> c, options o)
        : client(std::move(c)),
          about(std::move(o)),
          margin(margin_of(about.max_hold > 0ms ? std::min(about.ttl, about.max_hold) : about.ttl)),
          end(about.max_hold > 0ms ? clock::now() + about.max_hold : clock::time_point::max())
    {
        note(about.sent, about.valid_for);
    }

    bool is_over() const noexcept { return is_lost || is_released; }
    clock::time_point lost_at() const noexcept { return valid_until - margin; }

    // The clocks of this machine and of the service may run at different rates.
    void note(clock::time_point sent, milliseconds valid_for)
    {
        auto const drift = std::chrono::duration_cast<milliseconds>(valid_for * about.drift_factor);
        valid_until = std::min(std::max(valid_until, sent + valid_for - drift), end);
        renewed = std::max(renewed, sent);
        wake_all();
    }

    // @param how  is_lost or is_released
    void end_as(bool& how)
    {
        how = true;
        wake_all();
        stop.emit(asio::cancellation_type::terminal);
    }

    void wake_all()
    {
        for (auto* const timer : sleeping)
            timer->cancel();
    }

    static asio::awaitable<void> sleep(std::shared_ptr<state>, clock::duration);
    static asio::awaitable<error_code> extend(std::shared_ptr<state>, milliseconds ttl);
    static asio::awaitable<error_code> give_back(std::shared_ptr<state>);
    static asio::awaitable<bool> wait_lost(std::shared_ptr<state>);
    static asio::awaitable<void> renew(std::shared_ptr<state>);

    std::shared_ptr<service_client> const client;
    options const about;
    milliseconds const margin;
    clock::time_point const end;
    clock::time_point valid_until{};
    clock::time_point renewed{};  ///< when the last request was sent that has renewed the locks
    std::list<asio::steady_timer*> sleeping{};
    asio::cancellation_signal stop{};  ///< ends @ref renew
    bool is_lost = false, is_released = false;
};

// Sleeps until something has changed. Not for long, because this timer stops while the machine sleeps, and the validity
// does not.
asio::awaitable<void> service_locks::state::sleep(std::shared_ptr<state> self, clock::duration d)
{
    struct bed {
        bed(state& s, clock::duration how_long)
            : of(s),
              timer(s.client->executor(), std::clamp<clock::duration>(how_long, 1ms, 1s)),
              place(s.sleeping.insert(s.sleeping.end(), &timer))
        {
        }
        ~bed() { of.sleeping.erase(place); }
        bed(bed const&) = delete;
        bed& operator=(bed const&) = delete;

        state& of;
        asio::steady_timer timer;
        std::list<asio::steady_timer*>::iterator const place;
    };
    bed here(*self, d);
    co_await here.timer.async_wait(runtime::as_result);
}

// After a third of the ttl, there is time for two rounds over all instances.
asio::awaitable<error_code> service_locks::state::extend(std::shared_ptr<state> self, milliseconds ttl)
{
    auto r = service_requests::extension(self->about.id, ttl);
    r.limit = std::max<milliseconds>(ttl / 6 / static_cast<int>(self->client->size()), 10ms);
    auto const answer = co_await self->client->ask(std::move(r));
    if (self->is_over())
        co_return self->is_lost ? errc::lost : errc::not_held;
    if (answer.is("urn:redlock:not-held")) {
        self->end_as(self->is_lost);
        co_return errc::lost;
    }
    if (!answer.is_good())
        co_return errc::no_quorum;
    try {
        auto const told = grant_in(answer.body, self->about.resources, self->about.mode, ttl);
        self->note(answer.sent, told.valid_for);
    } catch (wrong_document const&) {
        co_return errc::no_quorum;
    }
    co_return error_code();
}

// If the answer to the first release was lost, the second one does not find the locks.
asio::awaitable<error_code> service_locks::state::give_back(std::shared_ptr<state> self)
{
    bool const was_held = clock::now() < self->valid_until;
    self->end_as(self->is_released);
    auto const answer = co_await self->client->ask(service_requests::release(self->about.id));
    if (self->is_lost)
        co_return errc::not_held;
    if (answer.is("urn:redlock:not-held")) {
        bool const is_second = answer.may_be_second && was_held;
        co_return is_second ? error_code() : errc::not_held;
    }
    co_return answer.is_good() ? error_code() : errc::no_quorum;
}

asio::awaitable<bool> service_locks::state::wait_lost(std::shared_ptr<state> self)
{
    while (!self->is_over()) {
        auto const left = self->lost_at() - clock::now();
        if (left > 0ns)
            co_await sleep(self, left);
        else
            self->end_as(self->is_lost);
    }
    co_return self->is_lost;
}

asio::awaitable<void> service_locks::state::renew(std::shared_ptr<state> self)
{
    auto const ttl = self->about.ttl;
    while (!self->is_over() && self->valid_until < self->end) {
        auto const left = self->renewed + ttl / 3 - clock::now();
        if (left > 0ns) {
            co_await sleep(self, left);
            continue;
        }
        auto const ec = co_await extend(self, ttl);
        if (ec && !self->is_over())
            co_await sleep(self, std::min<clock::duration>(ttl / 30, 250ms));
    }
}

service_locks::service_locks(std::shared_ptr<service_client> client, options o)
    : state_(std::make_shared<state>(std::move(client), std::move(o)))
{
    if (state_->about.renews)
        asio::co_spawn(
            state_->client->executor(), state::renew(state_),
            asio::bind_cancellation_slot(state_->stop.slot(), [keeps_signal = state_](std::exception_ptr) {}));
}

service_locks::~service_locks()
{
    if (!state_->is_released)
        asio::co_spawn(state_->client->executor(), state::give_back(state_), asio::detached);
}

std::span<std::string const> service_locks::resources() const noexcept { return state_->about.resources; }

bool service_locks::held() const noexcept { return !state_->is_over() && clock::now() < state_->valid_until; }

clock::time_point service_locks::valid_until() const noexcept { return state_->valid_until; }

std::string service_locks::token() const { return state_->about.id; }

std::uint64_t service_locks::fencing_token() const noexcept { return state_->about.fencing_token; }

asio::awaitable<error_code> service_locks::extend(std::chrono::milliseconds ttl) { return state::extend(state_, ttl); }

asio::awaitable<error_code> service_locks::release() { return state::give_back(state_); }

asio::awaitable<bool> service_locks::wait_lost() { return state::wait_lost(state_); }

}  // namespace redlock::cli
