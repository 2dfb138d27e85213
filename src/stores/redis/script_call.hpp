#pragma once

#include "stores/redis/request.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::redis {

/// A call of a script with any number of keys and arguments. Its memory is used again.
class script_call {
public:
    void begin(std::string_view sha1)
    {
        sha1_.assign(sha1);
        words_.clear();
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
        (request::append(words_, argument(args)), ...);
        count_ += sizeof...(args);
    }

    void push_to(request& to)
    {
        head_.clear();
        for (auto const& word : {std::string_view("EVALSHA"), std::string_view(sha1_)})
            request::append(head_, argument(word));
        request::append(head_, argument(keys_));
        head_ += words_;
        to.push_encoded(3 + count_, head_);
    }

    /// The keys alone, as the arguments of another command.
    void push_keys_to(request& to, std::string_view command)
    {
        head_.clear();
        request::append(head_, argument(command));
        head_ += words_;
        to.push_encoded(1 + count_, head_);
    }

private:
    std::string sha1_, head_, words_;
    std::size_t keys_ = 0, count_ = 0;
};

}  // namespace redlock::redis
