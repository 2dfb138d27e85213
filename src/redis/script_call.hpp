#pragma once

#include "redis/command.hpp"

#include <boost/redis/request.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::redis {

/// A call of a script with any number of keys and arguments. Its memory is used again.
class script_call {
public:
    void begin(std::string_view sha1)
    {
        sha1_.assign(sha1);
        bytes_.clear();
        keys_ = count_ = 0;
    }

    void add_key(std::string_view key)
    {
        add(key);
        ++keys_;
    }

    /// Behind the last key: texts and integers.
    template <class... Args>
    void add(Args const&... args)
    {
        (append(bytes_, argument(args)), ...);
        count_ += sizeof...(args);
    }

    void push_to(boost::redis::request& to)
    {
        head_.clear();
        append(head_, argument(sha1_));
        append(head_, argument(static_cast<std::int64_t>(keys_)));
        // Boost.Redis counts the elements of a range: the first writes all of them.
        parts_.assign(count_ + 2, {});
        head_.append(bytes_);
        parts_.front().bytes = head_;
        to.push_range("EVALSHA", parts_);
    }

    /// The keys alone, as the arguments of another command.
    void push_keys_to(boost::redis::request& to, std::string_view command)
    {
        parts_.assign(count_, {});
        parts_.front().bytes = bytes_;
        to.push_range(command, parts_);
    }

private:
    static void append(std::string& to, argument const& a)
    {
        auto const before = to.size();
        to.resize(before + a.space());
        to.resize(static_cast<std::size_t>(a.write(to.data() + before) - to.data()));
    }

    std::string sha1_, head_, bytes_;
    std::size_t keys_ = 0, count_ = 0;
    std::vector<encoded_arguments<1>> parts_;
};

}  // namespace redlock::redis
