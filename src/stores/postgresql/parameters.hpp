#pragma once

#include <redlock/node.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::pg {

/// Values as libpq takes them.
class parameters {
public:
    void add_bytes(std::string_view);
    void add_bytes_or_null(std::string_view);  ///< null: empty
    void add_number(std::int64_t);
    void add_switch(bool);
    void add_keys(key_view);

    int count() const noexcept { return static_cast<int>(values_.size()); }
    std::vector<char const*> pointers() const;
    std::vector<int> lengths() const;
    std::vector<int> const& formats() const noexcept { return formats_; }

private:
    struct value {
        std::string bytes;
        bool null = false;
    };
    std::vector<value> values_;
    std::vector<int> formats_;
};

}  // namespace redlock::pg
