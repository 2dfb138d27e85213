#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace redlock::test {

/// Bytes that arrive in pieces. The bytes that a reader leaves come again with the next piece.
class unread_bytes {
public:
    /// Calls @p read with the unread bytes. @p read removes those that it does not need again from the front.
    template <class Read>
    void add(std::string_view piece, Read read)
    {
        std::vector<char> now;  // exact size, so that AddressSanitizer finds reads behind the end
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
