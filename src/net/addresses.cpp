#include "net/addresses.hpp"

#include "net/secrets.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <csignal>

#include <algorithm>
#include <system_error>
#include <thread>

namespace redlock::net {

namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

constexpr std::chrono::milliseconds attempt_delay = 250ms;  // recommended by RFC 8305, section 8

// Blocks all signals while a thread is started. The thread inherits that, so it never handles a signal of the program.
class no_signals {
public:
    no_signals()
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    ~no_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    no_signals(no_signals const&) = delete;
    no_signals& operator=(no_signals const&) = delete;

private:
    sigset_t before_;
};

std::string text(tcp::endpoint const& e) { return e.address().to_string(); }

}  // namespace

std::shared_ptr<name_lookup> name_lookup::start(std::string host, std::string port)
{
    auto self = std::make_shared<name_lookup>();
    no_signals const blocked;
    std::thread([self, host = std::move(host), port = std::move(port)] {
        error_code ec;
        std::vector<tcp::endpoint> all;
        try {
            asio::io_context context;
            auto const found = tcp::resolver(context).resolve(host, port, ec);
            all.assign(found.begin(), found.end());
        } catch (std::exception const&) {
            ec = asio::error::no_memory;
        }
        self->finish(ec, std::move(all));
    }).detach();
    return self;
}

bool name_lookup::done() const
{
    std::lock_guard const lock(mutex_);
    return done_;
}

void name_lookup::finish(error_code ec, std::vector<tcp::endpoint> found)
{
    std::lock_guard const lock(mutex_);
    done_ = true;
    failure_ = ec;
    found_ = std::move(found);
    if (listener_)
        listen(*listener_);
}

// The caller holds the mutex. While it is held, the listener and its execution context exist.
void name_lookup::listen(address_search& s)
{
    listener_ = &s;
    if (!done_)
        return;
    try {
        asio::post(s.strand_, [weak = s.weak_from_this()] {
            if (auto const search = weak.lock())
                search->resolved();
        });
    } catch (...) {  // out of memory: the search fails at its timeout
    }
}

void name_lookup::forget()
{
    std::lock_guard const lock(mutex_);
    listener_ = nullptr;
}

void known_addresses::note(std::string address, bool is_good)
{
    if (is_good) {
        bad.clear();
        good = std::move(address);
        return;
    }
    if (good == address)
        good.clear();
    if (std::ranges::find(bad, address) == bad.end())
        bad.push_back(std::move(address));
}

std::vector<address_attempt> order_of_attempts(std::vector<tcp::endpoint> const& resolved, known_addresses const& known)
{
    // The system has sorted the addresses, with the better family first (RFC 6724).
    std::vector<tcp::endpoint> first, second;
    for (auto const& e : resolved)
        (e.protocol() == resolved.front().protocol() ? first : second).push_back(e);
    std::vector<address_attempt> all;
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        for (auto const* family : {&first, &second}) {
            if (i < family->size() && std::ranges::find(all, (*family)[i], &address_attempt::to) == all.end())
                all.push_back({.to = (*family)[i]});
        }
    }
    for (auto& a : all)
        a.last_resort = std::ranges::find(known.bad, text(a.to)) != known.bad.end();
    if (std::ranges::all_of(all, &address_attempt::last_resort)) {
        for (auto& a : all)
            a.last_resort = false;
    }
    auto const rank = [&](address_attempt const& a) { return a.last_resort ? 2 : text(a.to) == known.good ? 0 : 1; };
    std::ranges::stable_sort(all, {}, rank);
    return all;
}

address_search::address_search(runtime::strand const& strand, std::chrono::milliseconds limit)
    : strand_(strand), limit_(limit), due_(strand)
{
}

address_search::~address_search()
{
    if (name_)
        name_->forget();
}

void address_search::begin(std::shared_ptr<name_lookup> name, known_addresses known)
{
    name_ = std::move(name);
    known_ = std::move(known);
    due_.expires_after(limit_);
    due_.async_wait([self = shared_from_this()](error_code ec) {
        if (!ec && self->attempts_.empty())
            self->finish({.failure = fmt::format("its name was not resolved within {} ms", self->limit_.count())});
    });
    std::lock_guard const lock(name_->mutex_);
    name_->listen(*this);
}

void address_search::resolved()
{
    if (!done_ || !name_)
        return;
    auto const name = std::exchange(name_, {});
    name->forget();
    if (name->failure_)
        return finish({.failure = presentable(name->failure_.message())});
    attempts_ = order_of_attempts(name->found_, known_);
    if (attempts_.empty())
        return finish({.failure = "its name has no address"});
    if (attempts_.size() == 1)
        return finish({.address = text(attempts_[0].to)});
    try_next();
}

void address_search::try_next()
{
    bool const all_failed = failed_ == begun_;
    if (begun_ == attempts_.size() || (attempts_[begun_].last_resort && !all_failed)) {
        due_.cancel();
        if (all_failed)
            finish({.failure = failure()});
        return;
    }
    auto& a = attempts_[begun_++];
    auto const self = shared_from_this();
    auto& t = trials_.emplace_back(trial{socket(strand_), timer(strand_, limit_)});
    t.connection.async_connect(a.to, [self, &a, &t](error_code ec) {
        t.limit.cancel();
        self->tried(a, ec);
    });
    t.limit.async_wait([self, &t](error_code ec) {
        if (!ec)
            t.end();
    });
    due_.expires_after(attempt_delay);
    due_.async_wait([self](error_code ec) {
        if (!ec && self->done_)
            self->try_next();
    });
}

void address_search::tried(address_attempt& a, error_code ec)
{
    if (!done_)
        return;
    if (!ec)
        return finish({.address = text(a.to)});
    a.failure = ec == asio::error::operation_aborted ? error_code(asio::error::timed_out) : ec;
    ++failed_;
    try_next();
}

void address_search::trial::end()
{
    error_code ignored;
    connection.close(ignored);
    limit.cancel();
}

// One message if all attempts failed alike.
std::string address_search::failure() const
{
    auto const& one = attempts_.front().failure;
    if (std::ranges::all_of(attempts_, [&](auto& a) { return a.failure == one; }))
        return presentable(one.message());
    std::string each;
    for (auto const& a : attempts_)
        each += fmt::format("{}{}: {}", each.empty() ? "" : ", ", text(a.to), a.failure.message());
    return presentable(each);
}

void address_search::cancel()
{
    if (done_)
        asio::post(strand_, [self = shared_from_this()] { self->finish({}); });
}

void address_search::finish(reached r)
{
    if (!done_)
        return;
    if (auto const name = std::exchange(name_, {}))
        name->forget();
    due_.cancel();
    for (auto& t : trials_)
        t.end();
    for (auto const& a : attempts_)
        r.all.push_back(text(a.to));
    auto done = std::move(done_);
    done_ = nullptr;
    std::move(done)(std::move(r));
}

}  // namespace redlock::net
