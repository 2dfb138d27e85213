#include "stores/kit/deletions.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

namespace {

using namespace std::chrono_literals;

constexpr auto again_after = 100ms;  // after a failed deletion

}  // namespace

class deletions::deletion final : public node_operation {
public:
    deletion(leased l, std::weak_ptr<deletions> all, std::shared_ptr<expiries const> known)
        : what_(std::move(l)), keys_{what_.key}, all_(std::move(all)), known_(std::move(known))
    {
        if (what_.what == leased::kind::lock)
            command_ = {.what = commands::release{}, .keys = keys_, .value = what_.who};
        else
            command_ = {.what = commands::withdraw{.contender = what_.who}, .keys = keys_};
        not_after = clock::time_point::max();
    }

    node_command const& command() const noexcept override { return command_; }
    // An extension withdraws the deletion.
    bool withdrawn() const noexcept override { return !known_->knows(what_) || known_->until(what_) > clock::now(); }
    void mark_sent(std::uint32_t connection) noexcept override { sent_on_ = connection; }
    std::uint32_t sent_on() const noexcept override { return sent_on_; }
    std::uint32_t unanswered_on() const noexcept override { return 0; }

    void complete(node_reply r) override
    {
        auto const all = all_.lock();
        if (!all || r.vote != vote::unknown || withdrawn())
            return;
        all->expiries_->extend(what_, clock::now() + again_after, 0ms);
        all->plan();
    }

private:
    leased const what_;
    std::vector<std::string> const keys_;
    std::weak_ptr<deletions> const all_;
    std::shared_ptr<expiries const> const known_;
    node_command command_;
    std::uint32_t sent_on_ = 0;
};

void deletions::plan()
{
    auto const next = expiries_->next();
    bool const is_set = timer_.expiry() <= next && timer_.expiry() > clock::now();
    if (!submit_ || next == clock::time_point::max() || is_set)
        return;
    timer_.expires_at(next);
    timer_.async_wait([weak = weak_from_this()](error_code ec) {
        if (auto const self = weak.lock(); !ec && self)
            self->begin();
    });
}

void deletions::begin()
{
    for (auto& l : expiries_->take_due(clock::now())) {
        if (submit_)
            submit_(std::make_shared<deletion>(std::move(l), weak_from_this(), expiries_));
    }
    plan();
}

void deletions::stop()
{
    submit_ = {};
    timer_.cancel();
}

}  // namespace redlock::stores::kit
