#pragma once

#include "quorum/ballot_set.hpp"

#include <redlock/detail/recycler.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace redlock::inline v1::quorum {

/// The operation that asks one node and completes with its vote.
struct cast_vote {
    ballot* of;

    template <class CompletionToken>
    auto operator()(CompletionToken&& token)
    {
        return asio::async_initiate<CompletionToken, void(vote)>(
            [](auto handler, ballot* b) { b->ask(std::move(handler)); }, token, of);
    }
};

using vote_group = boost::container::small_vector<cast_vote, 9>;

/// The handler of a group. The group allocates with its allocator.
template <class Done>
struct votes_gathered {
    using allocator_type = detail::recycler<void>;
    allocator_type get_allocator() const noexcept { return {}; }

    void operator()(auto&&...) { done(); }

    Done done;
};

template <class Each, class Done, std::size_t... I>
void join_votes(vote_group const& asked, Each each, Done done, std::index_sequence<I...>)
{
    asio::experimental::make_parallel_group(asked[I]...).async_wait(each, votes_gathered<Done>{std::move(done)});
}

/// Asks each node, calls @p each with each vote, and @p done after the last one. The `parallel_group` only joins the
/// votes: @p each cancels nothing, because a round that is decided ends the other waits itself.
template <std::size_t Size = 2, class Each, class Done>
void join_votes(vote_group const& asked, Each each, Done done)
{
    if (asked.size() == 1) {  // a group of one would cost an allocation and two handlers, and only forward the vote
        asked.front().of->ask([each, done = std::move(done)](vote v) mutable {
            each(v);
            done();
        });
        return;
    }
    // A group of a fixed size costs one allocation. A ranged group costs five, and one more for each node.
    if (asked.size() == Size)
        return join_votes(asked, each, std::move(done), std::make_index_sequence<Size>());
    if constexpr (Size < 9)
        join_votes<Size + 1>(asked, each, std::move(done));
    else
        asio::experimental::make_parallel_group(std::vector(asked.begin(), asked.end()))
            .async_wait(each, votes_gathered<Done>{std::move(done)});
}

}  // namespace redlock::quorum
