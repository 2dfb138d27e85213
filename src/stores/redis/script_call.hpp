#pragma once

#include "stores/redis/request.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::stores::redis {

/// A call of a script with any number of keys and arguments. The memory is reused.
class script_call {
public:
    void begin(std::string_view sha1)
    {
        sha1_ = sha1;
        words_.clear();
        keys_ = count_ = 0;
    }

    void add_key(std::string_view key)
    {
        add(key);
        ++keys_;
    }

    /// Adds arguments (texts and integers) after the last key.
    template <class... Args>
    void add(Args const&... args)
    {
        (request::append(words_, argument(args)), ...);
        count_ += sizeof...(args);
    }

    void push_to(request& to) const { to.push_before(words_, count_, std::string_view("EVALSHA"), sha1_, keys_); }

private:
    std::string_view sha1_;  ///< of a script that outlives this object
    std::string words_;
    std::size_t keys_ = 0, count_ = 0;
};

}  // namespace redlock::stores::redis
