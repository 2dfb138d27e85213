#pragma once

namespace redlock::test {

/// An object that counts how many of its kind are alive.
struct instance_counter {
    explicit instance_counter(int& alive) : alive(&alive) { ++alive; }
    instance_counter(instance_counter const& other) : alive(other.alive) { ++*alive; }
    instance_counter& operator=(instance_counter const&) = delete;
    ~instance_counter() { --*alive; }
    int* alive;
};

}  // namespace redlock::test
