#pragma once

#include "command_parts.hpp"

#include <redlock/resource_set.hpp>
#include <redlock/testing/node_suite.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace redlock::inline v1::testing {

using namespace std::chrono_literals;
using kind = node_command::kind;
using handovers = commands::handovers;

inline constexpr auto event_timeout = 20s;  // the longest wait for an event that should happen
inline constexpr std::chrono::milliseconds long_ttl = 60s;

inline void expect(bool yes, char const* what)
{
    if (!yes)
        throw std::runtime_error(what);
}

/// A command that owns the data that it views, and its reply.
class request final : public node_operation {
public:
    request(node_command c, resource_set const& keys, std::string value)
        : request(c, std::vector(keys.begin(), keys.end()), std::move(value))
    {
    }

    /// Keeps the order of the keys.
    request(node_command c, std::vector<std::string> keys, std::string value)
        : command_(c), keys_(std::move(keys)), value_(std::move(value))
    {
        command_.keys = std::span<std::string const>(keys_);
        command_.value = value_;
        not_after = clock::now() + event_timeout;
    }

    node_command const& command() const noexcept override { return command_; }
    bool withdrawn() const noexcept override { return is_withdrawn; }
    void mark_sent(std::uint32_t connection) noexcept override
    {
        sent_after_answer = sent_after_answer || answers > 0;
        sent_on_ = connection;
    }
    std::uint32_t sent_on() const noexcept override { return sent_on_; }
    std::uint32_t unanswered_on() const noexcept override { return unanswered; }
    void complete(node_reply r) override
    {
        ++answers;
        within_submit = within_submit || submitting;
        reply = std::move(r);
        order = ++*clock;
    }

    node_reply reply;
    int answers = 0;
    // The place among all answers of one client.
    int order = 0;
    std::shared_ptr<int> clock = std::make_shared<int>(0);
    bool submitting = false, within_submit = false, sent_after_answer = false, is_withdrawn = false;
    std::uint32_t unanswered = 0;

private:
    node_command command_;
    std::vector<std::string> const keys_;
    std::string const value_;
    std::uint32_t sent_on_ = 0;
};

/// A node in an event loop of its own.
class client {
public:
    explicit client(node_kind const& k) : node_(k.make()), limits_(node_->limits())
    {
        node_->start(context_.get_executor(), {.connected = [this](server_identity const&) { ++connections; },
                                               .changed =
                                                   [this](std::string_view key) {
                                                       changes.emplace_back(key);
                                                       answered_before_.push_back(*answered_);
                                                   }});
        try {
            auto const ready = put(node_command(), "", "");
            run_to([&] { return ready->answers > 0; }, "a command to connect is never answered");
            if (ready->reply.vote != vote::granted || !node_->ready())
                throw std::runtime_error("a node that can be connected denied the command to connect: "
                                         + ready->reply.error.message() + ' ' + ready->reply.text);
        } catch (...) {
            close();
            throw;
        }
    }

    ~client()
    {
        if (!closed_)
            close();
    }

    std::shared_ptr<request> put(node_command c, resource_set keys, std::string value)
    {
        auto r = std::make_shared<request>(c, std::move(keys), std::move(value));
        r->clock = answered_;
        return put(std::move(r));
    }

    std::shared_ptr<request> put(std::shared_ptr<request> r)
    {
        r->submitting = true;
        node_->submit(r);
        r->submitting = false;
        return r;
    }

    bool was_told_after(request const& r, std::string_view key) const
    {
        for (std::size_t i = 0; i < changes.size(); ++i)
            if (changes[i] == key && answered_before_[i] >= r.order)
                return true;
        return false;
    }

    template <class Condition>
    void run_to(Condition done, char const* what)
    {
        for (auto const end = clock::now() + event_timeout; !done();) {
            expect(clock::now() < end, what);
            context_.restart();
            context_.run_one_for(10ms);
        }
    }

    void run_for(clock::duration d)
    {
        auto const end = clock::now() + d;
        do {
            context_.restart();
            context_.run_one_for(std::min<clock::duration>(d, 1ms));
        } while (clock::now() < end);
    }

    node_reply answer_of(std::shared_ptr<request> const& r)
    {
        run_to([&] { return r->answers > 0; }, "an operation is never completed");
        expect(r->answers == 1, "an operation is completed more than once");
        expect(!r->within_submit, "an operation is completed from within submit");
        return r->reply;
    }

    node_reply ask(node_command c, resource_set const& keys, std::string const& value)
    {
        auto const r = put(c, keys, value);
        auto reply = answer_of(r);
        expect(reply.vote != vote::unknown || reply.error.failed(), "an unknown vote has no reason");
        expect(r->sent_on() != 0, "an operation was sent, but not marked as sent");
        return reply;
    }

    bool acquires(resource_set const& keys, std::string const& value, std::chrono::milliseconds ttl = long_ttl)
    {
        return vote_of({.what = commands::acquire{}, .ttl = ttl}, keys, value);
    }
    bool extends(resource_set const& keys, std::string const& value, std::chrono::milliseconds ttl = long_ttl,
                 bool heal = false)
    {
        return vote_of({.what = commands::extend{.heal = heal}, .ttl = ttl}, keys, value);
    }
    bool releases(resource_set const& keys, std::string const& value)
    {
        return vote_of({.what = commands::release{}}, keys, value);
    }
    node_reply inspect(resource_set const& keys) { return ask({.what = commands::inspect{}}, keys, {}); }

    bool vote_of(node_command c, resource_set const& keys, std::string const& value)
    {
        auto const r = ask(c, keys, value);
        if (r.vote == vote::unknown)
            throw std::runtime_error("a healthy server's vote is unknown: " + r.error.message() + ' ' + r.text);
        return r.vote == vote::granted;
    }

    void close()
    {
        closed_ = true;
        node_->close();
        context_.restart();
        context_.run_for(1s);  // until no work is left
    }

    redlock::node& node() { return *node_; }
    std::chrono::milliseconds short_ttl() { return std::max<std::chrono::milliseconds>(300ms, limits_.ttl_min); }

    int connections = 0;
    std::vector<std::string> changes;

private:
    asio::io_context context_;
    std::shared_ptr<redlock::node> const node_;
    node_limits const limits_;
    std::shared_ptr<int> const answered_ = std::make_shared<int>(0);
    std::vector<int> answered_before_;  ///< for each change: the number of answers before it
    bool closed_ = false;
};

}  // namespace redlock::testing
