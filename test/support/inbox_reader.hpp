#pragma once

#include "stores/redis/inbox.hpp"
#include "support/unread_bytes.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// An inbox that waits for the replies to batches and gets bytes in pieces, and the events that it returns.
class inbox_reader {
public:
    explicit inbox_reader(stores::redis::resp::limits l = {}) : inbox_(l) {}

    /// Makes the inbox expect the replies to a batch of @p commands.
    void expect(std::size_t commands)
    {
        batches.push_back(std::make_shared<stores::redis::batch>());
        for (; commands > 0; --commands)
            batches.back()->request.push("PING");
        inbox_.expect(batches.back());
    }

    void add(std::string_view piece)
    {
        if (ended)
            return;
        unread_.add(piece, [&](std::string_view& bytes) {
            for (auto e = inbox_.next(bytes); e != stores::redis::inbox::event::none; e = inbox_.next(bytes)) {
                note(e);
                if (ended)
                    break;
            }
        });
    }

    std::size_t unread() const noexcept { return ended ? 0 : unread_.size(); }
    std::size_t unread_max() const noexcept { return inbox_.rest_max(); }

    /// "answered N" with the position of the batch, "changed KEY", "changed" for any key, "malformed" or "unasked".
    std::vector<std::string> events;
    std::deque<std::shared_ptr<stores::redis::batch>> batches;  ///< expected batches, in order
    bool ended = false;                                         ///< the inbox can read no more

private:
    void note(stores::redis::inbox::event e)
    {
        using event = stores::redis::inbox::event;
        if (e == event::answered) {
            auto const answered = inbox_.take_answered();
            std::size_t i = 0;
            while (batches[i] != answered)
                ++i;
            events.push_back("answered " + std::to_string(i));
        } else if (e == event::changed) {
            auto const key = inbox_.key();
            events.push_back(key.empty() ? "changed" : "changed " + std::string(key));
        } else {
            events.push_back(e == event::malformed ? "malformed" : "unasked");
            ended = true;
        }
    }

    stores::redis::inbox inbox_;
    unread_bytes unread_;
};

}  // namespace redlock::test
