#include "stores/redis/inbox.hpp"

namespace redlock::stores::redis {

inbox::event inbox::next(std::string_view& bytes)
{
    using step = resp::parser::step;
    resp::element e;
    for (;;) {
        if (auto const done = parser_.next(bytes, e); done != step::element)
            return done == step::more ? event::none : event::malformed;
        if (e.depth == 0)
            is_push_ = e.type == resp::type::push;
        if (is_push_) {
            if (read_push(e))
                return event::changed;
            continue;
        }
        if (waiting_.empty())
            return event::unasked;
        auto& b = *waiting_.front();
        b.take(e);
        if (!parser_.at_end())
            continue;
        b.end_reply();
        if (b.has(b.request.commands() - 1)) {
            answered_ = std::move(waiting_.front());
            waiting_.pop_front();
            return event::answered;
        }
    }
}

// @return whether the element names a changed key, or all keys
bool inbox::read_push(resp::element const& e)
{
    if (e.depth == 0)
        invalidates_ = false;
    else if (e.depth == 1 && e.type == resp::type::blob_string)
        invalidates_ = e.text == "invalidate";
    bool const all = e.depth == 1 && e.type == resp::type::null;
    bool const one = e.depth == 2;
    key_ = one ? e.text : std::string_view();
    return invalidates_ && (all || one);
}

}  // namespace redlock::stores::redis
