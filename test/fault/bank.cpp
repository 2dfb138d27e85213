#include "fault/bank.hpp"

#include <algorithm>

namespace redlock::test {

bank::record bank::stop()
{
    requests_.stop();
    for (auto& a : accounts_) {
        undo(a);
        record_.sum += a.balance;
    }
    return record_;
}

bank::answer bank::decide(request const& r)
{
    for (std::size_t i = 0; i < size; ++i) {
        if (r.of[i] && !may(r, accounts_[i])) {
            ++record_.refused;
            return {};
        }
    }
    answer done{.accepted = true};
    for (std::size_t i = 0; i < size; ++i) {
        if (!r.of[i])
            continue;
        auto& a = accounts_[i];
        switch (r.what) {
        case request::kind::enter_as_writer:
            undo(a);
            a.writer = r.token;
            break;
        case request::kind::enter_as_reader:
            undo(a);
            a.reader = std::max(a.reader, r.token);
            break;
        case request::kind::read:
            done.balance = a.balance;
            break;
        case request::kind::write:
            if (fenced_ && !a.before)
                a.before = a.balance;
            a.balance = r.balance;
            break;
        case request::kind::commit:
            a.before.reset();
            break;
        }
    }
    return done;
}

bool bank::may(request const& r, account const& a) const
{
    if (!fenced_)
        return true;
    switch (r.what) {
    case request::kind::enter_as_writer:
        return a.writer < r.token && a.reader < r.token;
    case request::kind::enter_as_reader:
    case request::kind::read:
        return a.writer <= r.token;
    case request::kind::write:
    case request::kind::commit:
        return a.writer == r.token && a.reader < r.token;
    }
    return false;
}

void bank::undo(account& a)
{
    if (!a.before)
        return;
    a.balance = *a.before;
    a.before.reset();
    ++record_.undone;
}

}  // namespace redlock::test
