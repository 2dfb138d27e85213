#pragma once

#include "cli/running_service.hpp"
#include "cli/told_locks.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/http.hpp>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::test {

/// The address of an instance, and how often it has ended there.
struct instance_address {
    std::string path;
    std::atomic<unsigned> life{0};
    std::atomic<int> stopped_life{-1};  ///< the latest one that was told to end
};

/// Shared by all clients and their disturber.
struct random_world {
    told_locks told{};
    std::list<instance_address> instances{};
    std::vector<std::string> names{"random-0", "random-1", "random-2", "random-3"};
    std::atomic<bool> over{false};

    instance_address& instance(std::size_t i) { return *std::next(instances.begin(), static_cast<std::ptrdiff_t>(i)); }
    bool lives(told_session const& s) { return instance(s.instance).life == s.life; }
};

/// A stream of events that a thread reads.
class read_stream {
public:
    struct handlers {
        std::function<void(std::string_view)> head, event;
        std::function<void()> end;
    };

    /// @param laziness in how many of 100 reads the thread sleeps for a while before it reads
    read_stream(std::string const& path, std::string const& body, http_headers const& more, unsigned laziness,
                handlers h)
        : socket_(context_), handlers_(std::move(h))
    {
        socket_.connect(asio::local::stream_protocol::endpoint(path));
        http::request<http::string_body> r(verb::post, "/v1/sessions", 11);
        r.set(http::field::host, "localhost");
        for (auto const& [name, value] : more)
            r.set(name, value);
        r.body() = body;
        r.prepare_payload();
        http::write(socket_, r);
        thread_ = std::jthread([this, laziness] { read(laziness); });
    }
    ~read_stream() { cut(0ms); }

    /// Ends the connection on the side of the service. The client notices it after this time.
    void cut(std::chrono::milliseconds deaf)
    {
        heard_from_ = clock::now() + deaf;
        ::shutdown(socket_.native_handle(), SHUT_RDWR);
    }

private:
    void read(unsigned laziness)
    {
        std::minstd_rand random(static_cast<unsigned>(socket_.native_handle()));
        boost::system::error_code ec;
        std::string text;
        bool has_head = false;
        std::array<char, 4096> piece{};
        for (;;) {
            if (random() % 100 < laziness)
                std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1500));
            auto const n = socket_.read_some(asio::buffer(piece), ec);
            if (ec)
                break;
            text.append(piece.data(), n);
            for (std::size_t at = 0; (at = text.find(has_head ? "\n\n" : "\r\n\r\n")) != text.npos;) {
                auto const size = at + (has_head ? 2 : 4);
                (std::exchange(has_head, true) ? handlers_.event : handlers_.head)(text.substr(0, size));
                text.erase(0, size);
            }
        }
        while (clock::now() < heard_from_.load())
            std::this_thread::sleep_for(5ms);
        handlers_.end();
    }

    asio::io_context context_;
    asio::local::stream_protocol::socket socket_;
    handlers handlers_;
    std::atomic<clock::time_point> heard_from_{clock::time_point::min()};
    std::jthread thread_;
};

/** A client that acquires, extends, moves, releases and breaks locks at random, at all instances.

    It works as docs/serve.md says, and does nothing that is unsafe by this page. For example, it uses the id of the
    latest answer.
*/
class random_client {
public:
    /// @param is_slow  whether its clock loses as much as the service allows for: one part in 1000
    random_client(random_world& w, int number, std::uint64_t seed, bool is_slow)
        : all_(w), told_(w.told), number_(number), is_slow_(is_slow), random_(seed)
    {
    }

    /// Works until the world is over. Its streams are read until it is destroyed.
    void work()
    {
        while (!all_.over) {
            try {
                step();
            } catch (std::exception const& e) {
                std::scoped_lock const hold(told_.guard);
                told_.failures.push_back(fmt::format("client {}: {}", number_, e.what()));
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(below(60)));
        }
    }

    /// Cuts the streams of one of its sessions. The client notices it at once, or, if the session has a grace, later.
    void cut(unsigned which, std::chrono::milliseconds deaf)
    {
        std::scoped_lock const hold(told_.guard);
        if (streams_.empty())
            return;
        auto& s = *streams_[which % streams_.size()].of;
        if (s.is_over || !s.is_read)
            return;
        ++told_.count.cuts;
        give_up_if_bound(s, "its stream is cut");
        cut_streams(s, s.has_grace ? deaf : 0ms);
    }

private:
    struct stream {
        told_session* of = nullptr;
        std::uint64_t number = 0;
        std::unique_ptr<read_stream> wire{};
        bool is_cut = false, has_ended = false;
    };

    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    bool happens(unsigned percent) { return below(100) < percent; }
    std::size_t any_instance() { return below(static_cast<unsigned>(all_.instances.size())); }

    template <class T>
    T const& any_of(std::vector<T> const& all)
    {
        return all[below(static_cast<unsigned>(all.size()))];
    }

    // A time that the client measures by its own clock.
    clock::duration own(std::int64_t ms) const
    {
        return is_slow_ ? std::chrono::nanoseconds(ms * 1'000'000'000 / 999) : std::chrono::milliseconds(ms);
    }

    std::optional<http_answer> ask(std::size_t instance, verb method, std::string const& target,
                                   std::string const& body = {}, http_headers const& more = {},
                                   std::chrono::milliseconds patience = 5s)
    {
        asio::io_context context;
        asio::local::stream_protocol::socket socket(context);
        boost::system::error_code ec;
        socket.connect(asio::local::stream_protocol::endpoint(all_.instance(instance).path), ec);
        if (!ec) {
            http::request<http::string_body> r(method, target, 11);
            r.set(http::field::host, "localhost");
            for (auto const& [name, value] : more)
                r.set(name, value);
            r.body() = body;
            r.prepare_payload();
            http::write(socket, r, ec);
        }
        http::response<http::string_body> r;
        boost::beast::flat_buffer input;
        bool is_there = false;
        if (!ec) {
            http::async_read(socket, input, r,
                             [&](boost::system::error_code failed, std::size_t) { is_there = !failed; });
            context.run_for(patience);
        }
        if (is_there)
            return http_answer{r.result_int(), r.body(), std::string(r[http::field::etag]), ""};
        std::scoped_lock const hold(told_.guard);
        ++told_.count.unanswered;
        return std::nullopt;
    }

    void step()
    {
        forget();
        if (happens(30))
            check_promise();
        if (happens(50) && leave_silent_instance())
            return;
        auto const what = below(100);
        if (what < 12 && sessions_.size() < 4)
            open();
        else if (what < 40 && locks_.size() < 4)
            acquire();
        else if (what < 50)
            with_lock([&](auto& l) { extend(l); });
        else if (what < 64)
            with_lock([&](auto& l) { release(l); });
        else if (what < 82)
            with_lock([&](auto& l) { move(l); });
        else if (what < 88 && !sessions_.empty())
            open_again(*any_of(sessions_));
        else if (what < 92 && !sessions_.empty())
            close(*any_of(sessions_));
        else if (what < 95)
            take_away();
    }

    // Looks whether a lock that was told to be valid is on the nodes.
    void check_promise()
    {
        told_lock* l = nullptr;
        {
            std::scoped_lock const hold(told_.guard);
            std::vector<told_lock*> some;
            std::ranges::copy_if(locks_, std::back_inserter(some),
                                 [&](auto* mine) { return told_.must_be_there(*mine); });
            auto const lost = std::ranges::find_if(some, [](auto* mine) { return !mine->is_valid(clock::now()); });
            if (some.empty())
                return;
            l = lost == some.end() ? any_of(some) : *lost;
        }
        auto const seen = look(l->names.front());
        std::scoped_lock const hold(told_.guard);
        auto const others = std::ssize(seen.notes) + seen.free - std::ranges::count(seen.notes, l->note);
        if (told_.must_be_there(*l) && others > 2)
            told_.fail(*l, fmt::format("was promised, but {} of 5 nodes do not have it", others));
    }

    // Moves a lock whose session has been silent for a while, as if the instance were dead or hung.
    bool leave_silent_instance()
    {
        told_lock* l = nullptr;
        {
            std::scoped_lock const hold(told_.guard);
            auto const is_left_alone = [&](auto* mine) {
                auto const* const s = mine->session;
                return s && s->has_grace && may_touch(*mine) && mine->is_valid(clock::now())
                       && (!s->is_read || mine->heard + 1100ms < clock::now());
            };
            auto const found = std::ranges::find_if(locks_, is_left_alone);
            if (found == locks_.end())
                return false;
            l = *found;
        }
        return move(*l, l->session->instance);
    }

    // Forgets sessions and locks that are over.
    void forget()
    {
        std::vector<stream> ended;  // destroyed without the guard, because their threads may need it
        std::scoped_lock const hold(told_.guard);
        std::erase_if(locks_, [&](auto* l) {
            return l->is_over
                   || (!l->is_valid(clock::now()) && !told_.must_be_there(*l) && !told_.owes_event(*l) && happens(20));
        });
        std::erase_if(sessions_, [](auto* s) { return s->is_over || s->is_refused; });
        for (auto& s : streams_) {
            if (s.has_ended)
                ended.push_back({.wire = std::move(s.wire)});
        }
        std::erase_if(streams_, [](auto& s) { return s.has_ended; });
    }

    template <class F>
    void with_lock(F f)
    {
        std::vector<told_lock*> some;
        {
            std::scoped_lock const hold(told_.guard);
            std::ranges::copy_if(locks_, std::back_inserter(some), [&](auto* l) { return may_touch(*l); });
        }
        if (!some.empty())
            f(*any_of(some));
    }

    bool may_touch(told_lock const& l) { return !l.is_over && !told_.owes_event(l) && !is_ended_by_session(l); }

    // The instance of an ended session without a grace releases the locks, unless it has died.
    bool is_ended_by_session(told_lock const& l)
    {
        return std::ranges::any_of(sessions_with(l),
                                   [&](auto* s) { return !s->has_grace && s->is_over && all_.lives(*s); });
    }

    // All sessions that may hold the lock.
    std::vector<told_session*> sessions_with(told_lock const& l)
    {
        std::vector<told_session*> some;
        std::ranges::copy_if(my_sessions_, std::back_inserter(some), [&](auto* s) { return s->locks.contains(l.id); });
        return some;
    }

    // The end of the stream of a session without a grace ends its locks.
    void give_up_if_bound(told_session& s, std::string_view why)
    {
        if (!s.has_grace && !s.is_over)
            give_up(s, why);
    }

    void give_up(told_session& s, std::string_view why)
    {
        for (auto const& [id, l] : s.locks)
            told_.stop_with_session(*l, why);
        s.is_over = true;
    }

    void cut_streams(told_session& s, std::chrono::milliseconds deaf)
    {
        s.is_read = false;
        s.may_miss_events = s.may_miss_events || !s.has_grace;
        for (auto& other : streams_) {
            if (other.of != &s || !other.wire)
                continue;
            other.is_cut = true;
            other.wire->cut(deaf);
        }
    }

    // @return false if the instance is not there
    bool start_stream(told_session& s, std::string const& body, http_headers const& more)
    {
        auto const number = ++last_stream_;
        {
            std::scoped_lock const hold(told_.guard);
            newest_[&s] = number;
            s.is_read = false;
            streams_.push_back({&s, number, nullptr});
        }
        auto const head = [this, &s, number](std::string_view text) {
            std::scoped_lock const hold(told_.guard);
            if (!stream_of(number).is_cut)
                (has(text, " 200 ") ? s.is_read : s.is_refused) = true;
        };
        auto const opened = clock::now();
        auto const event = [this, &s, opened, number](std::string_view text) { hear(s, opened, number, text); };
        auto const end = [this, &s, number] { hear_end(s, number); };
        try {
            auto wire = std::make_unique<read_stream>(all_.instance(s.instance).path, body, more, happens(30) ? 30 : 0,
                                                      read_stream::handlers{head, event, end});
            std::scoped_lock const hold(told_.guard);
            stream_of(number).wire = std::move(wire);
            if (!all_.lives(s))  // this may be another instance already
                give_up_if_bound(s, "the instance has ended");
            s.is_over = s.is_over || !all_.lives(s);
            if (s.is_over)
                cut_streams(s, 0ms);
            return !s.is_over;
        } catch (boost::system::system_error const&) {
            std::scoped_lock const hold(told_.guard);
            stream_of(number).has_ended = true;
            give_up_if_bound(s, "the instance is not there");
            return false;
        }
    }

    stream& stream_of(std::uint64_t number) { return *std::ranges::find(streams_, number, &stream::number); }

    void open()
    {
        auto const i = any_instance();
        auto const grace_ms = happens(40) ? 0u : 1000 + below(5000);
        told_session* s = nullptr;
        {
            std::scoped_lock const hold(told_.guard);
            s = &told_.open(i, all_.instance(i).life, grace_ms > 0);
            my_sessions_.push_back(s);
        }
        if (start_stream(*s, fmt::format(R"({{"grace_ms":{}}})", grace_ms), {}))
            sessions_.push_back(s);
    }

    void open_again(told_session& s)
    {
        std::uint64_t last = 0;
        {
            std::scoped_lock const hold(told_.guard);
            if (s.id.empty() || s.is_over || s.is_refused)
                return;
            last = *s.events.rbegin();
            s.may_miss_events = s.may_miss_events || !s.has_grace;  // they are sent only once
            ++told_.count.reopened;
        }
        start_stream(s, "", {{"Last-Event-ID", fmt::format("{}.{}", s.id, last)}});
    }

    void close(told_session& s)
    {
        bool const at_once = happens(50);
        {
            std::scoped_lock const hold(told_.guard);
            if (std::ranges::any_of(s.locks, [&](auto& l) { return told_.owes_event(*l.second); }))
                return;
            if (at_once || !s.has_grace)
                give_up(s, "its session is closed");
            if (at_once) {
                for (auto const& [id, l] : s.locks)
                    l->is_over = true;
            }
            s.is_over = true;
            s.is_read = false;
        }
        if (at_once && !s.id.empty())
            ask(s.instance, verb::delete_, "/v1/sessions/" + s.id);
        std::scoped_lock const hold(told_.guard);
        cut_streams(s, 0ms);
    }

    void hear(told_session& s, clock::time_point opened, std::uint64_t stream, std::string_view text)
    {
        auto const field = [&](std::string_view name) {
            auto const at = text.find(name);
            return at == text.npos ? std::string_view()
                                   : text.substr(at + name.size(), text.find('\n', at) - at - name.size());
        };
        std::scoped_lock const hold(told_.guard);
        if (auto const id = field("id: "); text.starts_with("id: "))
            s.events.insert(std::stoull(std::string(id.substr(id.rfind('.') + 1))));
        auto const event = field("event: ");
        if (event.empty())
            return;
        auto const data = field("data: ");
        auto const json = data.empty() ? boost::json::object() : boost::json::parse(data).as_object();
        if (event == "session")
            s.id = json.at("session").as_string();
        s.told_stop = s.told_stop || event == "stopping";
        if (event != "valid" && event != "lost")
            return;
        auto const id = std::string(json.at("id").as_string());
        auto const known = s.locks.find(id);
        if (event == "lost") {
            ++s.lost[id];
            ++told_.count.lost;
        }
        if (known == s.locks.end())
            return;
        auto& l = *known->second;
        l.heard = clock::now();
        if (event == "valid")
            hear_validity(s, l, opened, {stream, json.at("valid_until_ms").to_number<std::int64_t>()});
        else if (l.session == &s)
            told_.stop(l, "lost");
        else
            told_.log(l, "lost in another session, " + s.id.substr(0, 4));
    }

    void hear_validity(told_session& s, told_lock& l, clock::time_point opened,
                       std::pair<std::uint64_t, std::int64_t> told)
    {
        if (l.session == &s) {
            if (told.first == l.told_by_stream.first && told.second < l.told_by_stream.second)
                told_.fail(
                    l, fmt::format("has a valid_until_ms of {} after one of {}", told.second, l.told_by_stream.second));
            l.told_by_stream = told;
        }
        if (!is_ended_by_session(l))  // else the event was sent before
            told_.tell(l, opened + own(told.second), fmt::format("event of {} at {}", s.id.substr(0, 4), s.instance));
    }

    void hear_end(told_session& s, std::uint64_t number)
    {
        std::scoped_lock const hold(told_.guard);
        stream_of(number).has_ended = true;
        if (newest_[&s] != number)
            return;
        if (s.is_read && !s.id.empty() && !s.told_stop
            && all_.instance(s.instance).stopped_life == static_cast<int>(s.life))
            told_.failures.push_back(fmt::format("session {} was not told that its instance ends", s.id));
        s.is_read = false;
        give_up_if_bound(s, "the stream has ended");
    }

    // A session with an open stream, or null. @param but on another instance than this one
    told_session* any_session(std::optional<std::size_t> but = {})
    {
        std::vector<told_session*> some;
        std::ranges::copy_if(sessions_, std::back_inserter(some), [&](auto* s) {
            return s->is_read && !s->is_over && !s->id.empty() && s->instance != but;
        });
        return some.empty() ? nullptr : any_of(some);
    }

    unsigned any_ttl() { return static_cast<unsigned>(told_locks::ttl_max.count()) - below(1500); }
    std::chrono::milliseconds any_patience()
    {
        return std::chrono::milliseconds(happens(20) ? 1 + below(30) : 1 + below(3000));
    }

    // The session holds the lock from now on, by the answer of its instance.
    void put_into(told_session& s, told_lock& l, int lost_before = 0)
    {
        for (auto* const other : my_sessions_) {
            if (other != &s && other->instance == s.instance && other->life == s.life)
                other->locks.erase(l.id);
        }
        s.locks[l.id] = &l;
        l.session = &s;
        l.told_by_stream = {};
        l.lost_before = lost_before;
        if (told_locks::is_lost(l))
            told_.stop(l, "lost before the answer");
        if (!s.has_grace && s.is_over)
            told_.stop_with_session(l, "the stream has ended before the answer");
    }

    void acquire()
    {
        std::vector<std::string> names{any_of(all_.names)};
        if (auto const& second = any_of(all_.names); happens(30) && second != names.front())
            names.push_back(second);
        told_session* s = nullptr;
        {
            std::scoped_lock const hold(told_.guard);
            s = happens(60) ? any_session() : nullptr;
        }
        auto const note = fmt::format("client {} lock {}", number_, ++last_lock_);
        auto const body = fmt::format(R"({{"resources":["{}"],"ttl_ms":{},"wait_ms":{},"note":"{}"{}}})",
                                      fmt::join(names, R"(",")"), any_ttl(), happens(70) ? below(2000) : 0, note,
                                      s ? R"(,"session":")" + s->id + '"' : "");
        bool const has_key = happens(35);
        http_headers const headers = has_key ? http_headers{{"Idempotency-Key", note}} : http_headers();
        auto const attempts = has_key ? 1 + below(3) : 1;
        auto instance = s ? s->instance : any_instance();
        std::vector<told_lock*> acquired;
        for (unsigned i = 0; i < attempts; ++i) {
            auto const sent = clock::now();
            auto const answer = ask(instance, verb::post, "/v1/locks", body, headers, any_patience());
            if (answer && answer->status == 201) {
                std::scoped_lock const hold(told_.guard);
                auto const id = answer->text("id");
                auto known = std::ranges::find(acquired, id, &told_lock::id);
                if (known == acquired.end()) {
                    acquired.push_back(&told_.add({.note = note, .id = id, .names = names, .has_key = has_key}));
                    known = std::prev(acquired.end());
                    ++told_.count.acquired;
                } else {
                    ++told_.count.repeated;
                }
                auto const json = answer->json();
                auto const waited = json.contains("waited_ms") ? json.at("waited_ms").to_number<std::int64_t>() : 0;
                told_.tell(**known, sent + own(waited + answer->number("valid_for_ms")),
                           fmt::format("acquired at {}", instance));
                if (s) {
                    told_.log(**known, "in session " + s->id.substr(0, 4));
                    put_into(*s, **known);
                }
            }
            if (!answer || answer->status != 201) {
                std::scoped_lock const hold(told_.guard);
                for (auto* const l : acquired)
                    note_answer(*l, fmt::format("repeated at {}", instance), answer);
            }
            if (!s)
                instance = any_instance();
            if (i + 1 < attempts)
                std::this_thread::sleep_for(std::chrono::milliseconds(below(300)));
        }
        locks_.insert(locks_.end(), acquired.begin(), acquired.end());
    }

    void extend(told_lock& l)
    {
        auto const i = any_instance();
        auto const sent = clock::now();
        auto const answer =
            ask(i, verb::patch, "/v1/held/" + l.id, fmt::format(R"({{"ttl_ms":{}}})", any_ttl()), {}, any_patience());
        std::scoped_lock const hold(told_.guard);
        note_answer(l, fmt::format("extend at {}", i), answer);
        if (!answer || answer->status != 200)
            return;
        ++told_.count.extended;
        if (may_touch(l))
            told_.tell(l, sent + own(answer->number("valid_for_ms")), "answer");
    }

    bool move(told_lock& l, std::optional<std::size_t> but = {})
    {
        told_session* to = nullptr;
        int lost_before = 0;
        {
            std::scoped_lock const hold(told_.guard);
            to = any_session(but);
            if (!to || !may_touch(l))
                return false;
            to->locks[l.id] = &l;
            lost_before = to->lost[l.id];
            l.told_by_stream = {};  // another handle may be valid for a shorter time
        }
        auto const sent = clock::now();
        auto const answer = ask(to->instance, verb::patch, "/v1/held/" + l.id,
                                fmt::format(R"({{"ttl_ms":{},"session":"{}"}})", any_ttl(), to->id), {},
                                any_patience());
        std::scoped_lock const hold(told_.guard);
        note_answer(l, fmt::format("move to {} at {}", to->id.substr(0, 4), to->instance), answer);
        if (answer && answer->status == 404 && l.session != to)
            l.session = nullptr;  // either session may tell that the lock is lost
        if (!answer || answer->status != 200)
            return true;
        if (auto id = answer->text("id"); id != l.id) {  // the other sessions have lost it
            for (auto* const s : my_sessions_)
                s->locks.erase(l.id);
            l.id = std::move(id);
            lost_before = 0;
            to->locks[l.id] = &l;
        }
        if (!may_touch(l))
            return true;
        told_.count.moved += l.session != to;
        told_.tell(l, sent + own(answer->number("valid_for_ms")), "answer");
        put_into(*to, l, lost_before);
        return true;
    }

    void release(told_lock& l)
    {
        {
            std::scoped_lock const hold(told_.guard);
            told_.end(l, "release");
        }
        auto const i = any_instance();
        auto const answer = ask(i, verb::delete_, "/v1/held/" + l.id, "", {}, any_patience());
        bool is_released = false;
        {
            std::scoped_lock const hold(told_.guard);
            note_answer(l, fmt::format("release at {}", i), answer);
            if ((is_released = answer && answer->status == 204)) {
                ++told_.count.released;
                l.released = clock::now();
            }
        }
        if (is_released)
            check_release(l);
    }

    // A repeated request that comes late may acquire another lock with the same note.
    void check_release(told_lock& l)
    {
        auto const seen = look(l.names.front());
        std::scoped_lock const hold(told_.guard);
        if (!l.has_key && std::ranges::count(seen.notes, l.note) > 2)
            told_.fail(l, "is on a majority of the nodes after its release");
    }

    struct look_result {
        std::string etag{};
        std::vector<std::string> notes{};  ///< one for each node that has the lock
        std::ptrdiff_t free = 0;           ///< nodes
    };

    look_result look(std::string const& name)
    {
        look_result seen;
        auto const answer = ask(any_instance(), verb::get, "/v1/locks/" + name);
        if (!answer || answer->status != 200)
            return seen;
        seen.etag = answer->etag;
        auto const json = answer->json();
        for (auto const& n : json.at("nodes").as_array()) {
            if (n.at("locked").as_bool() && n.at("note").is_string())
                seen.notes.emplace_back(n.at("note").as_string());
            seen.free += n.at("state").as_string() == "free";
        }
        return seen;
    }

    void take_away()
    {
        auto const& name = any_of(all_.names);
        auto const seen = look(name);
        if (seen.notes.empty())
            return;
        {
            std::scoped_lock const hold(told_.guard);
            for (auto const& note : seen.notes)
                told_.begin_break(note);
        }
        auto const answer = ask(any_instance(), verb::post, "/v1/locks/" + name + "/break", "",
                                {{"If-Match", seen.etag}}, any_patience());
        if (!answer || answer->status != 200)
            return;
        std::scoped_lock const hold(told_.guard);
        ++told_.count.broken;
        auto const& note = seen.notes.front();
        if (std::ranges::count(seen.notes, note) == std::ssize(seen.notes) && answer->number("deleted") >= 3)
            told_.end_break(note);
    }

    void note_answer(told_lock& l, std::string const& request, std::optional<http_answer> const& answer)
    {
        told_.log(l, fmt::format("{}: {}", request, answer ? std::to_string(answer->status) : "no answer"));
        told_.count.denied_while_valid += answer && answer->status == 404 && l.is_valid(clock::now() + 500ms)
                                          && !told_.is_broken(l);
    }

    random_world& all_;
    told_locks& told_;
    int const number_;
    bool const is_slow_;
    std::mt19937_64 random_;
    int last_lock_ = 0;
    std::uint64_t last_stream_ = 0;
    std::vector<told_session*> my_sessions_{}, sessions_{};  ///< all ever, and those in use
    std::vector<told_lock*> locks_{};
    std::map<told_session*, std::uint64_t> newest_{};  ///< the number of the newest stream of a session
    std::vector<stream> streams_{};                    ///< last, because their threads use the other members
};

}  // namespace redlock::test
