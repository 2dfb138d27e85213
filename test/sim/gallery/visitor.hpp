#pragma once

#include "sim/gallery/catalogue.hpp"
#include "sim/gallery/critical_section.hpp"
#include "sim/process.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace redlock::sim::gallery {

/// The state that all visitors of a world share.
struct premises {
    critical_section section;
    bool brief = false;                           ///< visits are as short as possible, to measure the lock
    std::map<std::string, std::size_t> visits{};  ///< by visitor, over all its lives
};

/// A user of an algorithm: it locks, works and unlocks, again and again.
class visitor {
public:
    visitor(world& w, process& p, std::size_t number, exhibit const& e, premises& shared)
        : world_(w),
          premises_(shared),
          place_(fmt::format("p{}/{}", p.index(), number)),
          computer_(w, p, fmt::format("{}/{}", p.name(), number)),
          algorithm_(e.make(computer_))
    {
        premises_.visits[place_];
    }

    task<void> run()
    {
        auto& random = world_.random;
        for (;;) {
            co_await computer_.sleep(premises_.brief ? random.spread(1ms, 20ms) : random.spread(1ms, 100ms));
            auto const v =
                std::make_shared<visit>(visit{.who = computer_.name(), .process = computer_.runs_on().name()});
            bool const won = co_await algorithm_->lock();
            if (!won)
                continue;
            world_.tell("{} has the lock", v->who);
            ++premises_.visits[place_];
            v->token = algorithm_->fencing_token();
            co_await work(v);
            world_.tell("{} is done", v->who);
            co_await algorithm_->unlock();
        }
    }

private:
    // Mostly the work is short. Sometimes a visitor that can check the lock works for as long as the lock is valid.
    task<void> work(std::shared_ptr<visit> v)
    {
        auto& random = world_.random;
        bool const relies = !premises_.brief && random.chance(0.1) && algorithm_->held();
        auto const steps = relies ? 100 : premises_.brief ? 1 : 1 + random.below(4);
        for (std::size_t i = 0; i < steps && touch(v); ++i)
            co_await computer_.sleep(premises_.brief ? random.spread(1ms, 5ms) : random.spread(1ms, 100ms));
        touch(v);
    }

    bool touch(std::shared_ptr<visit> const& v)
    {
        auto const stalls = computer_.runs_on().stalls();
        if (!algorithm_->held().value_or(true)) {
            world_.tell("{} sees that its lock is over", v->who);
            return false;
        }
        v->paused = v->paused || computer_.runs_on().stalls() != stalls;
        bool const let_in = premises_.section.touch(v);
        world_.tell("{} {}", v->who,
                    let_in ? "works on what the lock protects" : "is refused: its fencing token is too low");
        return let_in;
    }

    world& world_;
    premises& premises_;
    std::string const place_;
    computer computer_;
    std::unique_ptr<algorithm> const algorithm_;
};

}  // namespace redlock::sim::gallery
