#pragma once

#include <random>
#include <string>

namespace redlock::serve {

/// 128 random bits in hexadecimal digits, which nobody can guess.
inline std::string random_id()
{
    std::random_device random;
    std::string id;
    for (int i = 0; i < 4; ++i) {
        auto const bits = random();
        for (int shift = 28; shift >= 0; shift -= 4)
            id += "0123456789abcdef"[bits >> shift & 15];
    }
    return id;
}

}  // namespace redlock::serve
