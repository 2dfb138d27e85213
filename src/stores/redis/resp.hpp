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

/// A reply that is no aggregate, an aggregate, or a part of one.
struct element {
    resp::type type = type::none;
    std::size_t depth = 0;    ///< 0: the reply itself
    std::string_view text{};  ///< empty for an aggregate; valid until the bytes or the parser change
};

/// How much of what a server sends is accepted.
struct limits {
    std::size_t text = 16 * 1024;      ///< the rest of a longer text is left out; a longer line is malformed
    std::size_t elements = 16 * 1024;  ///< a reply with more of them, at all depths together, is malformed
};

/** Reads replies, in whatever pieces they come.

    Every reply is either well-formed or malformed, however it is split; after a malformed one nothing more can be read.
    It allocates nothing, but for a text that is longer than the limit. Attributes are left out. Streamed types are
    malformed: no server sends them.
*/
class parser {
public:
    enum class step : std::uint8_t { element, more, malformed };

    explicit parser(limits l = {}) : limits_(l) {}

    /// Reads the next element from the front of @p bytes, and removes it there. If there is @ref step::more to come,
    /// what is left of
    /// @p bytes must be given again, with what follows: at most limits::text bytes and a line.
    step next(std::string_view& bytes, element& to);

    /// Whether a reply has ended with the latest element.
    bool at_end() const noexcept { return ended_; }

    /// The longest rest of the bytes that @ref next may want to have again.
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
    std::size_t due_ = 0;     ///< elements of this reply that have been announced
    std::size_t silent_ = 0;  ///< attributes that are being read
    bool ended_ = false;
    type long_type_{};             ///< of a text that is longer than the limit
    std::uint64_t long_left_ = 0;  ///< bytes of it that are to come, with the end of the line
    std::string long_text_;        ///< its beginning
};

}  // namespace redlock::stores::redis::resp
