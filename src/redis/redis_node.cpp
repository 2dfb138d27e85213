#include "redis/redis_node.hpp"

#include "core/key.hpp"
#include "redis/addresses.hpp"
#include "redis/batch.hpp"
#include "redis/greeting.hpp"
#include "redis/reply.hpp"
#include "redis/sender.hpp"
#include "redis/server_history.hpp"
#include "redis/tls.hpp"
#include "runtime/strand.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/redis/connection.hpp>
#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

namespace redlock::redis {

namespace {

using namespace std::chrono_literals;
using detail::strand;
using connection = boost::redis::basic_connection<strand>;

auto& socket_of(connection& c)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return c.next_layer().next_layer();
#pragma GCC diagnostic pop
}

SSL* ssl_of(connection& c)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return c.next_layer().native_handle();
#pragma GCC diagnostic pop
}

// Whether a connection ended because the peer does not speak the protocol.
bool is_nonsense(error_code ec)
{
    using boost::redis::error;
    return ec.category() == boost::redis::make_error_code(error::invalid_data_type).category()
        && ec != error::resolve_timeout && ec != error::connect_timeout && ec != error::ssl_handshake_timeout;
}

bool is_address(std::string const& host)
{
    error_code ec;
    asio::ip::make_address(host, ec);
    return !ec;
}

/** A Redis server: one connection, kept open from the first use on.

    Operations queue up until the end of the turn of the event loop and then leave as one batch. While the
    server cannot be reached, or has been silent for longer than `node_timeout`, they stay in the queue, where they
    are dropped when they are not wanted any more: nothing old is ever replayed to a server that comes back.
*/
class redis_node final : public node, public sender::node, public std::enable_shared_from_this<redis_node> {
public:
    redis_node(url u, config const& c, std::shared_ptr<redis::group> group)
        : url_(std::move(u)),
          name_(url_.name()),
          greeting_(url_, c),
          node_timeout_(c.node_timeout),
          connect_timeout_(c.connect_timeout),
          log_(c.log),
          tls_(url_.transport == transport::tls ? tls_settings(url_, c.tls) : tls_settings()),
          group_(std::move(group)),
          jitter_(std::random_device{}()),
          history_(c.max_ttl)
    {
    }

    std::string const& name() const noexcept override { return name_; }

    bool ready() const noexcept override { return ready_.load(std::memory_order_relaxed); }

    bool notifies() const noexcept override { return ready() && tracking_.load(std::memory_order_relaxed); }

    bool may_still_execute(std::uint32_t connection) const override { return connection <= lingering_; }

    void start(asio::any_io_executor executor, node_events events) override
    {
        events_ = std::move(events);
        // Not type-erased if it can be helped: with each use, a type-erased strand allocates.
        auto const* const given = executor.target<strand>();
        strand_.emplace(given ? *given : strand(std::move(executor)));
        has_own_strand_ = !given;
        pause_.emplace(*strand_);
        patience_.emplace(*strand_);
    }

    void submit(std::shared_ptr<node_operation> operation) override
    {
        queue_.push_back({std::move(operation), false});
        if (!running_) {
            running_ = true;
            asio::co_spawn(*strand_, run(shared_from_this()), [self = shared_from_this()](std::exception_ptr) {
                self->ready_ = self->up_ = self->running_ = false;  // out of memory; the next operation tries again
            });
        }
        if (up_ || trouble_)
            flush_soon();
        else if (queue_.size() > tidy_at_)
            tidy();
    }

    void close() override
    {
        closed_ = true;
        ready_ = up_ = false;
        trouble_ = errc::node_closed;
        pause_.reset();
        patience_.reset();
        if (auto const link = std::exchange(link_, {}))
            link->cancel();
        if (auto const search = search_.lock())
            search->cancel();
        auto queue = std::exchange(queue_, {});
        auto in_flight = std::exchange(in_flight_, {});
        for (auto& q : queue)
            q.operation->complete({.untouched = true, .error = trouble_});
        for (auto& b : in_flight) {
            for (auto& e : b->entries)
                e.operation->complete({.error = errc::connection_lost});
            b->entries.clear();
        }
        strand_.reset();
        events_ = {};
    }

    void abandon() override
    {
        // Whatever waits in the context's services goes with them; cancelling it could reach into services that are gone.
        closed_ = true;
        ready_ = up_ = false;
        queue_.clear();
        taken_.clear();
        in_flight_.clear();
        pause_.reset();
        patience_.reset();
        link_.reset();
        if (has_own_strand_ && strand_)
            strand_->abandon();  // what waits on it keeps it, and is kept by it
        strand_.reset();
        events_ = {};
    }

private:
    struct queued {
        std::shared_ptr<node_operation> operation;
        bool load_script;  ///< the server did not know the script: send it along
    };

    // The connection

    static asio::awaitable<void, strand> run(std::shared_ptr<redis_node> self)
    {
        for (unsigned failures = 0; !self->closed_;) {
            auto where = co_await self->find_address();
            if (self->closed_)
                co_return;
            if (where.failure.empty()) {
                failures = co_await self->connect(std::move(where.address)) ? 0 : failures + 1;
                if (self->closed_)
                    co_return;
            } else {
                ++failures;
                self->set_trouble(errc::node_unreachable, std::move(where.failure));
                self->flush_soon();
            }
            self->pause_->expires_after(self->reconnect_pause(failures));
            co_await self->pause_->async_wait(asio::as_tuple(asio::deferred));
        }
    }

    asio::awaitable<reached, strand> find_address()
    {
        if (url_.transport == transport::unix_socket || is_address(url_.host))
            co_return reached{.address = url_.host};
        if (!lookup_ || lookup_->done()) {  // another thread would hang as the one before does
            try {
                lookup_ = name_lookup::start(url_.host, url_.port);
            } catch (std::system_error const& e) {
                co_return reached{.failure = std::string("no thread to resolve its name on: ") + e.what()};
            }
        }
        auto search = std::make_shared<address_search>(*strand_, connect_timeout_);
        search_ = search;
        auto find = search->async_find(lookup_, addresses_, asio::deferred);
        search.reset();  // it is to know us, and not we it: the context may go before it has ended
        co_return co_await std::move(find);
    }

    // One connection, from its beginning to its end. @return whether it worked for a while
    asio::awaitable<bool, strand> connect(std::string address)
    {
        auto const link = std::make_shared<connection>(
            *strand_, tls_.context(), boost::redis::logger(boost::redis::logger::level::disabled));
        link_ = link;
        refused_ = false;
        greet(link);
        auto const settings = connection_settings(address);
        auto [ec] = co_await link->async_run(settings, asio::as_tuple(asio::deferred));
        link->cancel();  // what waits for it comes back
        if (closed_)
            co_return false;
        error_code ignored;
        socket_of(*link).close(ignored);  // what a destructor closes is flushed in the background, whatever SO_LINGER says

        addresses_.note(std::move(address), up_);
        bool const worked = up_ && clock::now() - up_since_ > reconnect_pause_max;
        went_down(ec);
        link_.reset();
        co_return worked;
    }

    boost::redis::config connection_settings(std::string address) const
    {
        boost::redis::config c;
        c.use_ssl = url_.transport == transport::tls;
        if (url_.transport == transport::unix_socket)
            c.unix_socket = url_.path;
        c.addr = {std::move(address), url_.port};
        c.resolve_timeout = connect_timeout_;
        c.connect_timeout = connect_timeout_;
        c.ssl_handshake_timeout = connect_timeout_;
        c.health_check_interval = 0s;    // our own looks once a second, not with two timers for each write and read
        c.reconnect_wait_interval = 0s;  // we reconnect ourselves, with growing pauses
        c.max_read_size = 4 * 1024 * 1024;
        c.read_buffer_append_size = 2 * 1024;
        c.use_setup = true;  // we greet the server ourselves, to hear its own words when it refuses
        c.setup.clear();
        return c;
    }

    // Soon after a connection that had worked for a while, then growing up to half a second; never in step with others.
    std::chrono::nanoseconds reconnect_pause(unsigned failures)
    {
        auto const ceiling = std::min<std::chrono::milliseconds>(10ms * (1 << std::min(failures, 6u)), reconnect_pause_max);
        std::uniform_real_distribution<> fraction(0.5, 1.0);
        return std::chrono::duration_cast<std::chrono::nanoseconds>(ceiling * fraction(jitter_));
    }

    void greet(std::shared_ptr<connection> const& link)
    {
        if (url_.transport == transport::tls && !is_address(url_.host))  // a server name is no address (RFC 6066)
            SSL_set_tlsext_host_name(ssl_of(*link), url_.host.c_str());
        auto const asked = asked_ = std::make_shared<batch>();
        auto& r = asked->request;
        std::uniform_int_distribution<std::uint64_t> life;
        greeting_.ask(r, fmt::format("{:016x}", life(jitter_)));
        link->async_exec(r, asked->adapter(), [self = shared_from_this(), link, asked](error_code ec, std::size_t) {
            if (self->link_ == link)
                self->greeted(*link, *asked, ec);
        });
        pushes_.take();
        auto pushes = pushes_.adapter([this](std::string_view key) { note_change(key); });
        link->set_receive_response(pushes);
        receive_pushes(link);
        // Connecting and TLS have their own limits; this one is for a server that says nothing.
        patience_->expires_after((url_.transport == transport::tls ? 3 : 2) * connect_timeout_);
        patience_->async_wait([self = shared_from_this(), weak = std::weak_ptr(link)](error_code ec) {
            auto const alive = weak.lock();
            if (!ec && alive && self->link_ == alive && !self->up_)
                alive->cancel(boost::redis::operation::run);
        });
    }

    static bool is_forbidden(reply const& r) { return r.is_error() && interpret_error(r.text, {}).error == errc::permission_denied; }

    // What nobody takes would block the connection in the end.
    void receive_pushes(std::shared_ptr<connection> const& link)
    {
        link->async_receive2([self = shared_from_this(), link](error_code ec) {
            if (ec || self->link_ != link)
                return;
            for (auto const& key : self->pushes_.take())
                self->tell_of_change(key);
            self->receive_pushes(link);
        });
    }

    // Whose answer has been read, but not handed out yet, must hear of it behind that.
    void note_change(std::string_view key)
    {
        auto const turn = core::lock_of_turn_key(key);
        for (auto const& b : in_flight_) {
            for (auto& e : b->entries) {
                if (!e.tracked || !b->has(e.answer))
                    continue;
                e.changed = e.changed || key.empty() || e.operation->command().key() == key;
                e.turn_over = e.turn_over || key.empty() || e.operation->command().key() == turn;
            }
        }
    }

    void tell_of_change(std::string_view key)
    {
        if (events_.changed)
            events_.changed(key);
    }

    void greeted(connection& link, batch const& asked, error_code ec)
    {
        if (ec)
            return;  // the connection has ended, or never came about
        auto const server = greeting_.read({asked.replies.data(), asked.request.get_commands()});
        if (auto const refusal = meet(server); refusal.error) {
            refused_ = true;
            set_trouble(refusal.error, refusal.text);
            return link.cancel(boost::redis::operation::run);
        }
        if (url_.transport != transport::unix_socket) {
            // Small commands must leave at once; and a connection that is given up must not go on retransmitting
            // them, or a lock would reappear after its release.
            error_code ignored;
            socket_of(link).set_option(asio::ip::tcp::no_delay(true), ignored);
            socket_of(link).set_option(asio::socket_base::linger(true, 0), ignored);
        }
        auto const before = std::exchange(lingering_, link_number_);
        if (++link_number_ == 0)
            ++link_number_;
        trouble_ = {};
        ready_ = up_ = true;
        up_since_ = clock::now();
        patience_->cancel();
        log(log_level::info, "connected");
        events_.connected(history_.identity());
        watched_ = 0;
        watch(link_);
        if (auto const earlier = std::exchange(client_id_, server.client_id); !earlier.empty() && !client_id_.empty())
            end(earlier, before);
        flush_soon();
    }

    // The server may still have bytes of the connection before, and carry them out when we have given them up. It ends that
    // one first, unless it may not; numbers are given anew by another life of the server.
    void end(std::string const& client_id, std::uint32_t lingering_before)
    {
        auto const b = take_batch();
        b->request.push("CLIENT", "KILL", "ID", client_id);
        exec(b, clock::now(), [this, link = link_, lingering_before](batch const& answer) {
            if (link_ == link && answer.has(0) && answer.replies[0].type == boost::redis::resp3::type::number)
                lingering_ = lingering_before;
        });
    }

    // A connection on which nothing is answered from one look to the next is given up, so it is asked for a sign of
    // life. Looks, not times, are compared: a process that was stopped itself has always read in between.
    void watch(std::shared_ptr<connection> const& link)
    {
        patience_->expires_after(std::max<std::chrono::milliseconds>(1s, node_timeout_));
        patience_->async_wait([self = shared_from_this(), link](error_code ec) {
            if (ec || self->link_ != link || !self->up_)
                return;
            if (!self->in_flight_.empty() && self->in_flight_.front()->number == self->watched_) {
                self->log(log_level::warning, "it has stopped answering");
                return link->cancel(boost::redis::operation::run);
            }
            self->ask_for_a_sign();
            self->watched_ = self->in_flight_.front()->number;
            self->watch(link);
        });
    }

    // The log may be switched off, or on, while we are connected: whether a restart forgets depends on what it was like at last.
    void ask_for_a_sign()
    {
        auto const b = take_batch();
        if (tells_of_log_)
            greeting::ask_for_log(b->request);
        else
            b->request.push("PING");
        exec(b, clock::now(), [this, link = link_](batch const& answer) {
            if (link_ != link || !tells_of_log_ || !answer.has(greeting::log_questions - 1))
                return;
            history_.looked(greeting::read_log(answer.replies[0], answer.replies[1]), clock::now());
            for (auto const i : {0u, 1u})
                tells_of_log_ = tells_of_log_ && !is_forbidden(answer.replies[i]);
        });
    }

    // @return with an error: why it cannot vote
    node_reply meet(introduction const& server)
    {
        if (!server.tells_of_itself)
            return server.refusal;
        tells_of_log_ = server.tells_of_log;
        history_.greeted(server.run_id, server.uptime, server.log, clock::now());
        if (!history_.same_server())
            client_id_.clear();  // it gives the numbers anew
        if (server.refusal.error)
            return server.refusal;
        // A server that may not tell who it is cannot be told from another; the operator chose so.
        if (auto const other = server.run_id.empty() ? std::string() : group_->claim(name_, server.run_id); !other.empty())
            return {.error = errc::duplicate_node, .text = "it is the same server as " + other};
        deletion_ = server.by;
        checks_type_ = server.checks_type;
        tracking_ = server.no_tracking.empty();
        if (!tracking_ && !std::exchange(told_of_tracking_, true))
            log(log_level::info, "it does not tell of changes, so whoever waits for a lock asks now and then: " + server.no_tracking);
        return {};
    }

    void went_down(error_code ec)
    {
        bool const was_up = std::exchange(up_, false);
        ready_ = false;
        if (was_up)
            tell_of_change({});  // whatever would have been told is lost
        if (ec == errc::unexpected_reply) {
            set_trouble(ec, "it answered what nobody had asked");
        } else if (was_up) {
            trouble_ = {};  // wait for the outcome of the first attempt to come back
            log(log_level::warning, "connection lost: " + ec.message());
        } else if (!refused_ && asked_->has(0) && asked_->replies[0].is_error()) {
            // A server that has too many clients, or wants a password first, says so before it ends the connection.
            auto const words = interpret_error(asked_->replies[0].text, {url_.password});
            set_trouble(words.error, words.text);
        } else if (!refused_) {
            set_trouble(is_nonsense(ec) ? errc::unexpected_reply : errc::node_unreachable, failure_to_connect(ec));
        }
        if (trouble_)
            flush_soon();
    }

    std::string failure_to_connect(error_code ec) const
    {
        if (ec == asio::error::operation_aborted)
            return "it accepts connections but does not answer";
        auto const words = presentable(ec.message());
        if (url_.transport == transport::tls) {
            auto const verified = SSL_get_verify_result(ssl_of(*link_));
            if (verified != X509_V_OK)
                return words + ": " + X509_verify_cert_error_string(verified);
            if (ec.category() == asio::error::get_ssl_category() || ec == boost::redis::error::ssl_handshake_timeout)
                return words + "; does it speak TLS on this port? Without, its URL begins with redis://";
        } else if (is_nonsense(ec) || ec == asio::error::eof || ec == asio::error::connection_reset) {
            return words + "; does it want TLS on this port? Then its URL begins with rediss://";
        }
        return words;
    }

    void set_trouble(error_code ec, std::string message)
    {
        if (trouble_ != ec)
            log(log_level::warning, ec.message() + ": " + message);
        trouble_ = ec;
        trouble_message_ = std::move(message);
    }

    // Operations

    void flush_soon()
    {
        if (!std::exchange(flush_due_, true))
            group_->sender->add(weak_from_this(), *strand_);
    }

    bool silent(clock::time_point now) const
    {
        return !in_flight_.empty() && now - in_flight_.front()->sent > node_timeout_;
    }

    bool begin_sending(clock::time_point now) override
    {
        flush_due_ = false;
        if (!up_) {
            if (trouble_)
                refuse_queue();
            return false;
        }
        if (silent(now)) {
            tidy();
            return false;
        }
        taken_.clear();
        taken_.swap(queue_);  // who completes may submit
        batch_ = take_batch();
        return true;
    }

    bool send(std::size_t i, clock::time_point now, encoder& e) override
    {
        if (i >= taken_.size())
            return false;
        auto& o = *taken_[i].operation;
        if (o.command().what == node_command::kind::connect)
            o.complete({.vote = vote::granted});
        else if (o.withdrawn() || now > o.not_after)
            o.complete({.untouched = true, .error = errc::node_unreachable});
        else
            add(*batch_, std::move(taken_[i]), e);
        return true;
    }

    void end_sending(clock::time_point now) override
    {
        taken_.clear();
        auto const b = std::move(batch_);
        if (b->entries.empty()) {
            spare_.push_back(b);
            return;
        }
        exec(b, now);
    }

    void exec(std::shared_ptr<batch> const& b, clock::time_point now)
    {
        exec(b, now, [](batch const&) {});
    }

    // @p look is shown the answers first.
    template <class Look>
    void exec(std::shared_ptr<batch> const& b, clock::time_point now, Look look)
    {
        b->sent = now;
        b->number = ++batches_;
        in_flight_.push_back(b);
        link_->async_exec(b->request, b->adapter(), [self = shared_from_this(), link = link_, b, look](error_code, std::size_t) {
            look(*b);
            self->answered(b);
        });
    }

    void add(batch& b, queued q, encoder& e)
    {
        auto& o = *q.operation;
        auto const& c = o.command();
        manner how{.by = deletion_,
                   .tombstone = o.leaves_tombstone(link_number_),
                   .checks_type = checks_type_,
                   .tracking = c.watch && tracking_};
        auto const* const script = script_for(c, how);
        bool const native = c.what == node_command::kind::release && !script;
        bool const loaded = how.load_script = q.load_script && script;
        auto const answer = b.request.get_commands();
        b.request.append(e.encode(c, how));
        o.mark_sent(link_number_);
        b.entries.push_back({std::move(q.operation), answer + (loaded ? 1 : 0) + (how.tracking ? 1 : 0), loaded, native, how.checks_type, how.tracking});
    }

    void answered(std::shared_ptr<batch> const& b)
    {
        std::erase(in_flight_, b);
        for (auto& e : b->entries) {
            auto const& c = e.operation->command();
            auto const replies = commands_for(c);
            if (!b->has(e.answer + replies - 1)) {
                e.operation->complete({.error = errc::connection_lost});
                continue;
            }
            auto r = interpret(c, {&b->replies[e.answer], replies}, url_.password, e.checks_type);
            if (r.untouched && try_again(e, r.error))
                continue;
            r.watched = e.tracked && r.vote == vote::denied && !b->replies[e.answer - 1].is_error();
            bool const handed_on = r.handed_on;
            e.operation->complete(std::move(r));
            if (handed_on && e.turn_over)
                tell_of_change(core::turn_key(c.key()));
            else if (!handed_on && e.changed)
                tell_of_change(c.key());
        }
        b->clear();
        if (spare_.size() < spare_max)
            spare_.push_back(b);
        if (!queue_.empty() && up_)
            flush_soon();
    }

    // A refusal that the next try avoids: nothing was carried out, so it may go again.
    bool try_again(batch::entry& e, error_code refusal)
    {
        bool const forbidden = refusal == errc::permission_denied && e.native;
        bool const forgotten = refusal == errc::script_missing && !e.script_loaded;
        if (forbidden)
            deletion_ = deletion::script;  // an access list from before the server knew the command
        if (!(forbidden || forgotten) || closed_)
            return false;
        queue_.push_back({std::move(e.operation), forgotten});
        return true;
    }

    std::shared_ptr<batch> take_batch()
    {
        if (spare_.empty())
            return std::make_shared<batch>();
        auto b = std::move(spare_.back());
        spare_.pop_back();
        return b;
    }

    // The server cannot be reached, and the reason is known: only releases wait for it to come back.
    void refuse_queue()
    {
        auto queue = std::exchange(queue_, {});
        for (auto& q : queue) {
            if (q.operation->command().what == node_command::kind::release && clock::now() <= q.operation->not_after)
                queue_.push_back(std::move(q));
            else
                q.operation->complete({.untouched = true, .error = trouble_, .text = trouble_message_});
        }
    }

    // Drops what is not wanted any more, so that a server that stays away costs no memory.
    void tidy()
    {
        auto const now = clock::now();
        auto queue = std::exchange(queue_, {});
        for (auto& q : queue) {
            if (q.operation->withdrawn() || now > q.operation->not_after)
                q.operation->complete({.untouched = true, .error = errc::node_unreachable});
            else
                queue_.push_back(std::move(q));
        }
        tidy_at_ = std::max<std::size_t>(64, 2 * queue_.size());
    }

    void log(log_level level, std::string const& what) const
    {
        if (log_)
            log_(level, name_ + ": " + what);
    }

    static constexpr std::size_t spare_max = 8;
    static constexpr std::chrono::milliseconds reconnect_pause_max{500};

    url const url_;
    std::string const name_;
    greeting const greeting_;
    std::chrono::milliseconds const node_timeout_;
    std::chrono::milliseconds const connect_timeout_;
    std::function<void(log_level, std::string_view)> const log_;
    tls_settings const tls_;
    std::shared_ptr<redis::group> const group_;
    std::minstd_rand jitter_;

    using timer = asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, strand>;
    std::optional<strand> strand_;
    bool has_own_strand_ = false;  ///< nobody else abandons it
    std::optional<timer> pause_;
    std::optional<timer> patience_;
    std::shared_ptr<name_lookup> lookup_;
    std::weak_ptr<address_search> search_;
    known_addresses addresses_;
    std::shared_ptr<connection> link_;
    std::shared_ptr<batch> asked_; ///< when the connection began
    std::uint32_t link_number_ = 0;
    std::uint32_t lingering_ = 0;  ///< what was sent on this connection, or on earlier ones, may still be carried out
    std::string client_id_;        ///< by which the server knows the connection
    server_history history_;
    bool tells_of_log_ = false;    ///< we may ask for its state
    deletion deletion_ = deletion::script;
    bool checks_type_ = false;
    bool running_ = false;
    bool closed_ = false;
    bool up_ = false;
    clock::time_point up_since_;
    std::atomic<bool> ready_{false};
    bool refused_ = false;         ///< this connection's server said, or showed, why it cannot vote
    error_code trouble_;           ///< why the latest attempt to connect failed; none while it is under way
    std::string trouble_message_;

    std::vector<queued> queue_;
    std::vector<queued> taken_;    ///< what is being sent; kept for its memory
    std::shared_ptr<batch> batch_; ///< into which it goes
    std::deque<std::shared_ptr<batch>> in_flight_;
    std::uint64_t batches_ = 0;    ///< sent so far
    std::uint64_t watched_ = 0;    ///< the first in flight when the connection was last looked at
    std::vector<std::shared_ptr<batch>> spare_;
    push_reader pushes_;
    node_events events_;
    std::atomic<bool> tracking_{false};
    bool told_of_tracking_ = false;  ///< that there is none
    bool flush_due_ = false;
    std::size_t tidy_at_ = 64;
};

}  // namespace

group::group() : sender(std::make_shared<redis::sender>()) {}

std::string group::claim(std::string const& name, std::string const& run_id)
{
    auto const [known, fresh] = names_.emplace(run_id, name);
    if (!fresh && known->second != name)
        return known->second;
    std::erase_if(names_, [&](auto& other) { return other.second == name && other.first != run_id; });
    return {};
}

std::shared_ptr<node> make_redis_node(url const& u, config const& c, std::shared_ptr<redis::group> group)
{
    return std::make_shared<redis_node>(u, c, std::move(group));
}

}  // namespace redlock::redis
