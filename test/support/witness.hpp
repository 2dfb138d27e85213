#pragma once

namespace redlock::test {

/// An object that counts how many of its kind are alive.
struct witness {
    explicit witness(int& alive) : alive(&alive) { ++alive; }
    witness(witness const& other) : alive(other.alive) { ++*alive; }
    witness& operator=(witness const&) = delete;
    ~witness() { --*alive; }
    int* alive;
};

}  // namespace redlock::test
