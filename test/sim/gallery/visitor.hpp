#pragma once

#include "sim/gallery/catalogue.hpp"
#include "sim/gallery/critical_section.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace redlock::sim::gallery {

/// What all visitors of a world share.
struct premises {
    critical_section section;
    bool brief = false;           ///< visits are as short as can be: what counts is the lock
    std::map<std::string, std::size_t> visits{};  ///< by visitor, of all its lives
};

/// A user of an algorithm: locks, works, unlocks; over and over.
class visitor {
public:
    visitor(world&, process&, std::size_t number, exhibit const&, premises&);

    task<void> run();

private:
    task<void> work(std::shared_ptr<visit>);
    bool touch(std::shared_ptr<visit> const&);

    world& world_;
    premises& premises_;
    std::string const place_;
    computer computer_;
    std::unique_ptr<algorithm> const algorithm_;
};

}  // namespace redlock::sim::gallery
