#include "stores/redis/resp.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace redlock::stores::redis::resp {

namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t digits_max = 20;  // a limit, because leading zeros must not fill the connection's buffer
constexpr std::uint64_t blob_max = std::uint64_t{512} * 1024 * 1024;  // Redis: proto-max-bulk-len

enum class shape : std::uint8_t { line, blob, aggregate };

struct kind {
    char mark;  ///< the first byte
    resp::type type;
    resp::shape shape;
};

constexpr std::array kinds{
    kind{'+', type::simple_string, shape::line}, kind{'-', type::simple_error, shape::line},
    kind{':', type::number, shape::line},        kind{'_', type::null, shape::line},
    kind{'#', type::boolean, shape::line},       kind{',', type::real, shape::line},
    kind{'(', type::big_number, shape::line},    kind{'$', type::blob_string, shape::blob},
    kind{'!', type::blob_error, shape::blob},    kind{'=', type::verbatim_string, shape::blob},
    kind{'*', type::array, shape::aggregate},    kind{'%', type::map, shape::aggregate},
    kind{'~', type::set, shape::aggregate},      kind{'>', type::push, shape::aggregate},
    kind{'|', type::none, shape::aggregate},  // an attribute, which the parser skips
};

kind const* kind_of(char mark)
{
    auto const found = std::ranges::find(kinds, mark, &kind::mark);
    return found == kinds.end() ? nullptr : &*found;
}

// Removes the digits at the front of @p text. @return their number
std::size_t take_digits(std::string_view& text)
{
    auto const count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
}

void take_sign(std::string_view& text)
{
    if (text.starts_with('-') || text.starts_with('+'))
        text.remove_prefix(1);
}

bool is_integer(std::string_view text)
{
    take_sign(text);
    return take_digits(text) > 0 && text.empty();
}

// Only the form is checked. libc++ before 20 has no std::from_chars for floating-point numbers.
bool is_real(std::string_view text)
{
    take_sign(text);
    if (text == "inf" || text == "nan")
        return true;
    auto digits = take_digits(text);
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        digits += take_digits(text);
    }
    if (digits == 0)
        return false;
    if (text.starts_with('e') || text.starts_with('E')) {
        text.remove_prefix(1);
        take_sign(text);
        if (take_digits(text) == 0)
            return false;
    }
    return text.empty();
}

// Whether @p text is well-formed for type @p t.
bool is_valid(type t, std::string_view text)
{
    switch (t) {
    case type::number:
        return is_integer(text) && text.size() <= digits_max;
    case type::big_number:
        return is_integer(text);
    case type::real:
        return is_real(text);
    case type::null:
        return text.empty();
    case type::boolean:
        return text == "t" || text == "f";
    case type::verbatim_string:
        return text.size() >= 4 && text[3] == ':';
    default:
        return true;
    }
}

// Reads a length or a count: digits only. @return false: the text is something else, or the number is too large
bool read_size(std::string_view digits, std::uint64_t& to)
{
    auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return ec == std::errc() && end == digits.data() + digits.size() && digits.size() <= digits_max;
}

}  // namespace

parser::step parser::next(std::string_view& bytes, element& to)
{
    for (;;) {
        auto const done = long_left_ > 0 ? swallow(bytes, to) : read(bytes, to);
        if (done != step::element || to.type != type::none)
            return done;
    }
}

// An element of an attribute gets the type `none`.
parser::step parser::read(std::string_view& bytes, element& to)
{
    auto const* const k = bytes.empty() ? nullptr : kind_of(bytes.front());
    auto const end = bytes.find('\n');
    if (!k)
        return bytes.empty() ? step::more : step::malformed;
    if (end == bytes.npos)
        return bytes.size() > limits_.text + line_end.size() ? step::malformed : step::more;
    auto const line = bytes.substr(1, end - std::min<std::size_t>(end, 2));
    auto const behind = bytes.substr(end + 1);
    if (end < 2 || bytes[end - 1] != '\r' || line.size() > limits_.text || line.find('\r') != line.npos)
        return step::malformed;
    if (k->shape == shape::blob)
        return read_blob(k->type, line, behind, bytes, to);
    bytes = behind;
    if (k->shape == shape::aggregate)
        return read_aggregate(k->type, line, to);
    return is_valid(k->type, line) ? found(k->type, line, to) : step::malformed;
}

parser::step parser::read_blob(type what, std::string_view length, std::string_view behind, std::string_view& bytes,
                               element& to)
{
    std::uint64_t size = 0;
    if (length == "-1" && what == type::blob_string) {  // the null of RESP2
        bytes = behind;
        return found(type::null, {}, to);
    }
    if (!read_size(length, size) || size > blob_max)
        return step::malformed;
    if (size > limits_.text) {
        bytes = behind;
        long_type_ = what;
        long_left_ = size + line_end.size();
        long_text_.clear();
        return swallow(bytes, to);
    }
    if (behind.size() < size + line_end.size())
        return step::more;
    auto const text = behind.substr(0, size);
    if (behind.substr(size, line_end.size()) != line_end || !is_valid(what, text))
        return step::malformed;
    bytes = behind.substr(size + line_end.size());
    return found(what, text, to);
}

// Reads a long text, and keeps only its beginning.
parser::step parser::swallow(std::string_view& bytes, element& to)
{
    if (long_left_ > line_end.size()) {
        auto const size = std::min<std::uint64_t>(long_left_ - line_end.size(), bytes.size());
        auto const part = bytes.substr(0, static_cast<std::size_t>(size));
        long_text_ += part.substr(0, limits_.text - long_text_.size());
        bytes.remove_prefix(part.size());
        long_left_ -= size;
    }
    if (long_left_ > line_end.size() || bytes.size() < line_end.size())
        return step::more;
    if (!bytes.starts_with(line_end) || !is_valid(long_type_, long_text_))
        return step::malformed;
    bytes.remove_prefix(line_end.size());
    long_left_ = 0;
    return found(long_type_, long_text_, to);
}

parser::step parser::read_aggregate(type what, std::string_view count, element& to)
{
    bool const attribute = what == type::none;
    if (what == type::array && count == "-1")  // the null of RESP2
        return found(type::null, {}, to);
    std::uint64_t parts = 0;
    if (!read_size(count, parts) || parts > limits_.elements)
        return step::malformed;
    if (what == type::map || attribute)
        parts *= 2;
    if (depth_ == 0)
        due_ = 0;
    due_ += parts;
    if (due_ > limits_.elements || depth_ == depth_max || (what == type::push && (depth_ > 0 || parts == 0)))
        return step::malformed;
    if (parts == 0 && !attribute)
        return found(what, {}, to);
    to = silent_ > 0 || attribute ? element{} : element{what, depth_, {}};
    ended_ = false;
    if (parts > 0) {
        stack_[depth_++] = {static_cast<std::size_t>(parts), attribute};
        silent_ += attribute;
    }
    return step::element;
}

parser::step parser::found(type what, std::string_view text, element& to)
{
    to = silent_ > 0 ? element{} : element{what, depth_, text};
    count_one();
    return step::element;
}

// An element is complete; perhaps the aggregates around it are, too. An attribute does not count as an element.
void parser::count_one()
{
    ended_ = false;
    while (depth_ > 0) {
        auto& around = stack_[depth_ - 1];
        if (--around.left > 0)
            return;
        --depth_;
        if (around.attribute) {
            --silent_;
            return;
        }
    }
    ended_ = true;
}

}  // namespace redlock::stores::redis::resp
