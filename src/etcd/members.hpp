#pragma once

#include "etcd/channel.hpp"

#include <redlock/config.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

namespace redlock::etcd_v3 {

/// The members of a cluster: which one is talked to, and which one next.
class members {
public:
    /// @p seed: of the pauses
    members(address const& a, config const& c, std::minstd_rand::result_type seed) : random_(seed)
    {
        for (auto const& m : a.members) {
            redis::url host;
            host.host = m.host;
            auto certificates = a.tls ? redis::tls_settings(host, c.tls) : redis::tls_settings();
            all_.push_back(std::make_shared<server>(server{m, a.password, a.tls, std::move(certificates), c.connect_timeout}));
        }
    }

    std::shared_ptr<server const> const& present() const { return all_[at_]; }
    bool single() const noexcept { return all_.size() == 1; }

    /// @p lasted: how long it was of use; zero: not at all. @p stay: it may be so again at once.
    void leave(clock::duration lasted, bool stay)
    {
        failures_ = lasted > pause_max ? 0 : failures_ + 1;
        at_ = stay ? at_ : (at_ + 1) % all_.size();
    }

    /// Whether none of them was of use.
    bool all_failed() const noexcept { return failures_ >= all_.size(); }

    /// How long to wait before the next one: soon, then growing up to half a second; never in step with others.
    clock::duration pause()
    {
        using namespace std::chrono_literals;
        if (!all_failed())
            return {};
        auto const ceiling = std::min<clock::duration>(10ms * (1 << std::min<std::size_t>(failures_ / all_.size(), 6)), pause_max);
        return std::chrono::duration_cast<clock::duration>(ceiling * std::uniform_real_distribution(0.5, 1.0)(random_));
    }

private:
    static constexpr clock::duration pause_max = std::chrono::milliseconds(500);

    std::vector<std::shared_ptr<server const>> all_;
    std::size_t at_ = 0;
    std::size_t failures_ = 0;
    std::minstd_rand random_;
};

}  // namespace redlock::etcd_v3
