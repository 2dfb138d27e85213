#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::bench {

/** One direction of a connection: bytes, and at last an end, each due at its time. Time is an argument.

    What is due lies in one piece, so that it can leave in one write.
*/
class delay_line {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// How the bytes end.
    enum class ending : std::uint8_t {
        none,
        close,  ///< after the last byte
        reset,  ///< at its time, whatever has not left by then
    };

    /// Nothing overtakes what was put in before, whatever @p due says.
    void put(std::string_view bytes, time_point due)
    {
        bytes_.append(bytes);
        put({later(due), bytes.size(), ending::none});
    }

    void put(ending how, time_point due) { put({later(due), 0, how}); }

    /// When more becomes due.
    std::optional<time_point> next() const
    {
        return pieces_.empty() ? std::nullopt : std::optional(pieces_.front().due);
    }

    void advance_to(time_point now)
    {
        for (; !pieces_.empty() && pieces_.front().due <= now; pieces_.pop_front()) {
            due_ += pieces_.front().size;
            if (pieces_.front().end != ending::none)
                end_ = pieces_.front().end;
        }
    }

    /// What is due. Valid until something is put in or taken out.
    std::string_view due() const noexcept { return std::string_view(bytes_).substr(taken_, due_); }

    /// The end that is due: a close only once all bytes are gone.
    ending end() const noexcept { return end_ == ending::close && due_ > 0 ? ending::none : end_; }

    void take(std::size_t count)
    {
        taken_ += count;
        due_ -= count;
        if (taken_ > bytes_.size() / 2) {  // each byte is moved once at most, on average
            bytes_.erase(0, taken_);
            taken_ = 0;
        }
    }

    /// Bytes, due or not.
    std::size_t size() const noexcept { return bytes_.size() - taken_; }

    void clear()
    {
        pieces_.clear();
        bytes_.clear();
        taken_ = due_ = 0;
    }

private:
    struct piece {
        time_point due;
        std::size_t size;
        ending end;
    };

    void put(piece p)
    {
        if (!pieces_.empty() && pieces_.back().due == p.due && pieces_.back().end == p.end)
            pieces_.back().size += p.size;
        else
            pieces_.push_back(p);
    }

    time_point later(time_point due) { return last_ = due > last_ ? due : last_; }

    std::string bytes_;
    std::deque<piece> pieces_;  ///< what is not due yet
    std::size_t taken_ = 0;     ///< at the front of the bytes
    std::size_t due_ = 0;       ///< behind it
    ending end_ = ending::none;
    time_point last_{};
};

}  // namespace redlock::bench
