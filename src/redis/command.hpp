#pragma once

#include <boost/redis/request.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace redlock::redis {

/** All @p N arguments of a command, ready to be sent.

    Boost.Redis grows its buffer in six steps for each argument; writing all of them at once takes a third of the CPU time
    of a whole lock and release away.
*/
template <std::size_t N>
struct encoded_arguments {
    std::string_view bytes;

    /// Found by Boost.Redis.
    friend void boost_redis_to_bulk(std::string& to, encoded_arguments const& a) { to.append(a.bytes); }
};

}  // namespace redlock::redis

template <std::size_t N>
struct boost::redis::resp3::bulk_counter<redlock::redis::encoded_arguments<N>> {
    static constexpr auto size = N;
};

namespace redlock::redis {

/// An argument as text; integers are kept in decimal.
class argument {
public:
    argument(std::string_view text) : text_(text) {}
    argument(std::int64_t number)
        : text_(digits_, static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof digits_, number).ptr - digits_))
    {
    }
    argument(argument const&) = delete;
    argument& operator=(argument const&) = delete;

    /// The most that @ref write may need.
    std::size_t space() const noexcept { return text_.size() + 32; }

    char* write(char* to) const noexcept
    {
        *to++ = '$';
        to = std::to_chars(to, to + 20, text_.size()).ptr;
        to = line_end(to);
        return line_end(std::copy(text_.begin(), text_.end(), to));
    }

private:
    static char* line_end(char* to) noexcept
    {
        std::memcpy(to, "\r\n", 2);
        return to + 2;
    }

    char digits_[20];  // of a number
    std::string_view text_;
};

/// Appends a command whose arguments are texts and integers.
template <class... Args>
void push_command(boost::redis::request& to, std::string_view name, Args const&... args)
{
    [&](auto const&... a) {
        std::size_t const space = (a.space() + ... + 0);
        char small[512];
        std::string large;
        if (space > sizeof small)
            large.resize(space);
        char* const begin = space > sizeof small ? large.data() : small;
        char* end = begin;
        ((end = a.write(end)), ...);
        to.push_range(name, std::array{encoded_arguments<sizeof...(a)>{{begin, static_cast<std::size_t>(end - begin)}}});
    }(argument(args)...);
}

}  // namespace redlock::redis
