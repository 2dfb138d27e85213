#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores::redis {

/// An argument of a command as text. Integers become decimal numbers.
class argument {
public:
    template <std::convertible_to<std::string_view> Text>
    argument(Text const& text) : text_(text)
    {
    }
    argument(std::integral auto number)
        : text_(digits_,
                static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof digits_, number).ptr - digits_))
    {
    }
    argument(argument const&) = delete;
    argument& operator=(argument const&) = delete;

    /// The most bytes that @ref write needs.
    std::size_t space() const noexcept { return text_.size() + 32; }

    /// Writes a RESP bulk string. @return the end of it
    char* write(char* to) const noexcept
    {
        *to++ = '$';
        to = std::to_chars(to, to + 20, text_.size()).ptr;
        to = line_end(to);
        if (!text_.empty())
            std::memcpy(to, text_.data(), text_.size());
        return line_end(to + text_.size());
    }

private:
    static char* line_end(char* to) noexcept
    {
        *to++ = '\r';
        *to++ = '\n';
        return to;
    }

    char digits_[20];  // of a number
    std::string_view text_;
};

/// Encoded commands. The memory is reused.
class request {
public:
    /// Appends a command. Its arguments are texts and integers.
    template <class... Args>
    void push(std::string_view name, Args const&... args)
    {
        push_before({}, 0, name, args...);
    }

    /// Appends a command: these words, followed by @p count words that are encoded in @p encoded.
    template <class... Args>
    void push_before(std::string_view encoded, std::size_t count, Args const&... words)
    {
        [&](auto const&... a) {
            begin(sizeof...(a) + count, (a.space() + ...) + encoded.size());
            (append(bytes_, a), ...);
            bytes_ += encoded;
        }(argument(words)...);
    }

    /// Appends a command whose arguments are in a range of texts.
    template <class Range>
    void push_range(std::string_view name, Range const& args)
    {
        begin(1 + args.size(), 0);
        append(bytes_, argument(name));
        for (auto const& a : args)
            append(bytes_, argument(a));
    }

    void append(request const& other)
    {
        bytes_ += other.bytes_;
        commands_ += other.commands_;
    }

    void clear() noexcept
    {
        bytes_.clear();
        commands_ = 0;
    }

    std::string_view bytes() const noexcept { return bytes_; }

    /// The number of commands, which is also the number of replies.
    std::size_t commands() const noexcept { return commands_; }

    /// Appends the encoded argument @p a to @p to.
    static void append(std::string& to, argument const& a)
    {
        auto const before = to.size();
        to.resize(before + a.space());
        to.resize(static_cast<std::size_t>(a.write(to.data() + before) - to.data()));
    }

private:
    void begin(std::size_t words, std::size_t space)
    {
        char head[24] = {'*'};
        auto* const end = std::to_chars(head + 1, head + 22, words).ptr;
        bytes_.reserve(bytes_.size() + sizeof head + space);
        bytes_.append(head, end).append("\r\n");
        ++commands_;
    }

    std::string bytes_;
    std::size_t commands_ = 0;
};

}  // namespace redlock::stores::redis
