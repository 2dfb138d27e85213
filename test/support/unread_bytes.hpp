#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace redlock::test {

/// Bytes that come in pieces. What a reader leaves is given to it again, with the next piece.
class unread_bytes {
public:
    /// Calls @p read with what is unread; it removes from the front what it does not need again.
    template <class Read>
    void add(std::string_view piece, Read read)
    {
        std::vector<char> now;  // as large as its content, so that AddressSanitizer sees a read behind the end
        now.reserve(unread_.size() + piece.size());
        now.insert(now.end(), unread_.begin(), unread_.end());
        now.insert(now.end(), piece.begin(), piece.end());
        std::string_view rest(now.data(), now.size());
        read(rest);
        unread_.assign(rest.begin(), rest.end());
    }

    std::size_t size() const noexcept { return unread_.size(); }

private:
    std::vector<char> unread_;
};

}  // namespace redlock::test
