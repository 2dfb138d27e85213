#include "redis/resp.hpp"

#include <algorithm>
#include <charconv>

namespace redlock::redis::resp {

namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::uint64_t blob_max = std::uint64_t{512} * 1024 * 1024;  // Redis: proto-max-bulk-len

bool is_integer(std::string_view text)
{
    if (text.starts_with('-') || text.starts_with('+'))
        text.remove_prefix(1);
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_number(std::string_view text)
{
    return is_integer(text) && text.size() <= 20;
}

bool is_real(std::string_view text)
{
    double value = 0;
    if (text.starts_with('+') && !text.starts_with("+-"))
        text.remove_prefix(1);
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    return ec != std::errc::invalid_argument && end == text.data() + text.size();
}

// A length or a count: digits only. @return false: it is none, or too large
bool read_size(std::string_view digits, std::uint64_t& to)
{
    if (digits.size() > 20)  // leading zeros must not fill the buffer of the connection
        return false;
    auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return ec == std::errc() && end == digits.data() + digits.size();
}

bool is_true_or_false(std::string_view text)
{
    return text == "t" || text == "f";
}

// @return none: it is no line of its own
type type_of_line(char mark, std::string_view text)
{
    switch (mark) {
    case '+':
        return type::simple_string;
    case '-':
        return type::simple_error;
    case ':':
        return is_number(text) ? type::number : type::none;
    case '_':
        return text.empty() ? type::null : type::none;
    case '#':
        return is_true_or_false(text) ? type::boolean : type::none;
    case ',':
        return is_real(text) ? type::real : type::none;
    case '(':
        return is_integer(text) ? type::big_number : type::none;
    default:
        return type::none;
    }
}

type type_of_aggregate(char mark)
{
    switch (mark) {
    case '*':
        return type::array;
    case '%':
        return type::map;
    case '~':
        return type::set;
    case '>':
        return type::push;
    default:
        return type::none;
    }
}

bool is_mark(char c)
{
    return std::string_view("+-:_#,($!=*%~>|").find(c) != std::string_view::npos;
}

bool is_blob(type t, std::string_view text)
{
    return t != type::verbatim_string || (text.size() >= 4 && text[3] == ':');
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

// The type is none for what belongs to an attribute.
parser::step parser::read(std::string_view& bytes, element& to)
{
    auto const end = bytes.find('\n');
    if (end == bytes.npos)
        return bytes.size() > limits_.text + line_end.size() || (!bytes.empty() && !is_mark(bytes.front())) ? step::malformed : step::more;
    if (end < 2 || bytes[end - 1] != '\r')
        return step::malformed;
    auto const line = bytes.substr(1, end - 2);
    if (line.size() > limits_.text || line.find('\r') != line.npos)
        return step::malformed;
    auto const mark = bytes.front();
    auto const behind = bytes.substr(end + 1);
    if (mark == '$' || mark == '!' || mark == '=')
        return read_blob(mark == '$' ? type::blob_string : mark == '!' ? type::blob_error : type::verbatim_string, line, behind, bytes, to);
    bytes = behind;
    if (auto const t = type_of_line(mark, line); t != type::none)
        return found(t, line, to);
    return read_aggregate(mark, line, to);
}

parser::step parser::read_blob(type what, std::string_view length, std::string_view behind, std::string_view& bytes, element& to)
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
    if (behind.substr(size, line_end.size()) != line_end || !is_blob(what, text))
        return step::malformed;
    bytes = behind.substr(size + line_end.size());
    return found(what, text, to);
}

// Of a long text the beginning is kept.
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
    if (!bytes.starts_with(line_end) || !is_blob(long_type_, long_text_))
        return step::malformed;
    bytes.remove_prefix(line_end.size());
    long_left_ = 0;
    return found(long_type_, long_text_, to);
}

parser::step parser::read_aggregate(char mark, std::string_view count, element& to)
{
    bool const attribute = mark == '|';
    auto const what = type_of_aggregate(mark);
    if (what == type::array && count == "-1")  // the null of RESP2
        return found(type::null, {}, to);
    std::uint64_t parts = 0;
    if ((what == type::none && !attribute) || !read_size(count, parts) || parts > limits_.elements)
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

// An element is complete, and so may be those that it is a part of. An attribute is no part of anything.
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

}  // namespace redlock::redis::resp
