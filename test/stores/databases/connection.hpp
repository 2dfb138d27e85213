#pragma once

#include "stores/store.hpp"

#include <redlock/error.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::test {

/// A session without a node. Its functions wait for the answers.
struct connection final : stores::kit::session::owner {
    explicit connection(std::string const& url, bool welcome = true)
        : is_welcome(welcome), session(this_store::make_session(context.get_executor(), url, *this))
    {
        session->open();
        run_to([this] { return is_up || is_over; });
    }
    ~connection() { session->close(); }

    template <class Condition>
    void run_to(Condition done)
    {
        for (auto const end = clock::now() + 20s; !done();) {
            BOOST_REQUIRE((clock::now() < end));
            context.restart();
            context.run_one_for(10ms);
        }
    }

    /// The server's answers at the beginning of the connection.
    stores::kit::introduction const& said() const { return session->server(); }

    /// Asks for the record. Nothing: there was no answer.
    std::optional<core::memory_record> look(std::string const& verdict = {})
    {
        std::optional<core::memory_record> record;
        bool done = false;
        session->look(verdict, [&](core::memory_record const* r) {
            done = true;
            if (r)
                record = *r;
        });
        run_to([&] { return done; });
        return record;
    }

    /// Ends the backend of an earlier connection, and asks until it is gone.
    void end(stores::kit::backend const& earlier)
    {
        for (bool gone = false, asked = false; !gone; asked = false) {
            session->end(earlier, [&](bool is_gone) {
                asked = true;
                gone = is_gone;
            });
            run_to([&] { return asked; });
        }
    }

    node_reply check_server(stores::kit::session&, stores::kit::introduction const&) override
    {
        return is_welcome ? node_reply{} : node_reply{.untouched = true, .error = errc::duplicate_node};
    }
    void up(stores::kit::session&) override { is_up = true; }
    void down(stores::kit::session&, bool was, node_reply) override
    {
        is_up = false;
        is_over = true;
        was_up = was;
    }
    void notified(std::string_view) override {}
    void log(log_level, std::string const&) const override {}

    asio::io_context context;
    bool const is_welcome;
    bool is_up = false, is_over = false, was_up = false;
    std::shared_ptr<stores::kit::session> const session;
};

}  // namespace redlock::test
