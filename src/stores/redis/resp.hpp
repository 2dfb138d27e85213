#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// RESP3, the protocol in which a Redis server answers (https://redis.io/docs/latest/develop/reference/protocol-spec/).
namespace redlock::stores::redis::resp {

enum class type : std::uint8_t {
    none,
    simple_string,
    simple_error,
    number,
    null,
    blob_string,
    blob_error,
    verbatim_string,
    boolean,
    real,
    big_number,
    array,
    map,
    set,
    push,
};

/// A simple reply, an aggregate, or an element of an aggregate.
struct element {
    resp::type type = type::none;
    std::size_t depth = 0;    ///< 0: the reply itself
    std::string_view text{};  ///< empty for an aggregate; valid until the bytes or the parser change
};

/// The largest replies that the client accepts.
struct limits {
    std::size_t text = 16 * 1024;      ///< bytes; a longer text is cut off, a longer line is malformed
    std::size_t elements = 16 * 1024;  ///< of one reply, at all depths together; a larger reply is malformed
};

/** An incremental parser of replies. The result does not depend on how the bytes are split.

    After a malformed reply, the parser cannot be used any more. It allocates memory only for a text that is longer than
    the limit. It skips attributes. Streamed types are malformed, because no server sends them.
*/
class parser {
public:
    enum class step : std::uint8_t { element, more, malformed };

    explicit parser(limits l = {}) : limits_(l) {}

    /// Reads the next element from the front of @p bytes, and removes it. After @ref step::more, the next call must
    /// begin with the bytes that are left: at most limits::text bytes and a line.
    step next(std::string_view& bytes, element& to);

    /// Whether the latest element completed a reply.
    bool at_end() const noexcept { return ended_; }

    /// The most bytes that @ref next can leave over.
    std::size_t rest_max() const noexcept { return limits_.text + 64; }

    static constexpr std::size_t depth_max = 8;

private:
    struct frame {
        std::size_t left;  ///< elements to come
        bool attribute;
    };

    step read(std::string_view& bytes, element& to);
    step read_blob(type what, std::string_view length, std::string_view behind, std::string_view& bytes, element& to);
    step read_aggregate(type what, std::string_view count, element& to);
    step swallow(std::string_view& bytes, element& to);
    step found(type what, std::string_view text, element& to);
    void count_one();

    limits limits_;
    std::array<frame, depth_max> stack_{};
    std::size_t depth_ = 0;
    std::size_t due_ = 0;     ///< elements of this reply that its headers announced
    std::size_t silent_ = 0;  ///< nested attributes that are being skipped
    bool ended_ = false;
    type long_type_{};             ///< type of a text that is longer than the limit
    std::uint64_t long_left_ = 0;  ///< bytes of it still to read, with the line end
    std::string long_text_;        ///< its beginning
};

}  // namespace redlock::stores::redis::resp
