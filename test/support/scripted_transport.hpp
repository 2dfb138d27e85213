#pragma once

#include "stores/redis/transport.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// A transport to a server whose events the test decides.
struct scripted_transport : stores::redis::transport {
    void start(std::shared_ptr<runtime::runtime> const&, owner& o) override { told = &o; }
    void open(std::shared_ptr<stores::redis::batch> b) override
    {
        ++opened;
        asked = std::move(b);
        told->connecting();
    }
    void server_accepted() override { kept = true; }
    void send(std::shared_ptr<stores::redis::batch> const& b) override { asked = b; }
    void cut() override { ++cuts; }
    void close() override { closed = true; }
    void abandon() override { closed = true; }

    /// Answers the last batch.
    void says(std::vector<stores::redis::reply> all)
    {
        auto const b = std::exchange(asked, {});
        for (auto& r : all)
            b->put(std::move(r));
        if (b->word_at != 0 && b->has(b->word_at - 1) && !b->has(b->word_at))
            b->put({.type = stores::redis::resp::type::blob_string, .text = word + " r", .elements = {}});
        told->answered(b);
    }

    void ends(std::string why = "it was cut")
    {
        asked.reset();
        kept = false;
        told->ended({.error = errc::node_unreachable, .text = std::move(why)});
    }

    owner* told = nullptr;
    std::shared_ptr<stores::redis::batch> asked;
    std::string word = "f00d";  ///< of the server's record
    int opened = 0, cuts = 0;
    bool kept = false, closed = false;
};

}  // namespace redlock::test
