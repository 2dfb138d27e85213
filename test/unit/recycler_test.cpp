#include "runtime/recycler.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <list>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

using namespace redlock::detail;
using redlock::runtime::recycled_by_each_thread;
using redlock::runtime::recycled_by_this_thread;
using redlock::runtime::recycled_max;
using redlock::runtime::recycles;

BOOST_AUTO_TEST_SUITE(recyclers)

namespace {

// Recycled memory that is filled with one byte.
class block {
public:
    block(std::size_t size, std::uint64_t mark)
        : mark_(static_cast<unsigned char>(mark)), bytes_(allocate(size), {size})
    {
        std::memset(bytes_.get(), mark_, size);
    }

    bool intact() const
    {
        return std::all_of(bytes_.get(), bytes_.get() + bytes_.get_deleter().size,
                           [this](auto b) { return b == mark_; });
    }

    bool aligned() const { return reinterpret_cast<std::uintptr_t>(bytes_.get()) % alignof(std::max_align_t) == 0; }

private:
    struct recycle {
        std::size_t size;
        void operator()(unsigned char* memory) const { recycled_delete(memory, size); }
    };

    static unsigned char* allocate(std::size_t size) { return static_cast<unsigned char*>(recycled_new(size)); }

    unsigned char mark_;
    std::unique_ptr<unsigned char[], recycle> bytes_;
};

bool all_intact(std::vector<block> const& blocks)
{
    return std::all_of(blocks.begin(), blocks.end(), [](auto& b) { return b.intact(); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(recycled_new_returns_aligned_blocks_that_do_not_overlap)
{
    std::mt19937_64 random(11);
    std::vector<block> blocks;
    bool intact = true, aligned = true;
    for (int i = 0; i < 20'000; ++i) {
        if (blocks.empty() || random() % 2) {
            blocks.emplace_back(1 + random() % 1300, random());
            aligned = aligned && blocks.back().aligned();
        } else {
            std::swap(blocks[random() % blocks.size()], blocks.back());
            intact = intact && blocks.back().intact();
            blocks.pop_back();
        }
    }

    BOOST_TEST((intact && all_intact(blocks)));
    BOOST_TEST(aligned);
}

BOOST_AUTO_TEST_CASE(recycled_new_at_each_size_limit_is_usable_as_a_whole)
{
    for (std::size_t size : {0, 1, 8, 63, 64, 65, 127, 128, 129, 960, 961, 1023, 1024, 1025, 4096}) {
        for (int i = 0; i < 3; ++i) {  // new, then reused twice
            block const a(size, 1), b(size, 2);
            BOOST_TEST(a.intact());
            BOOST_TEST(b.intact());
        }
    }
}

BOOST_AUTO_TEST_CASE(recycled_delete_on_another_thread_is_safe)
{
    std::vector<block> blocks;
    bool intact = true;
    for (int round = 0; round < 20; ++round) {
        std::thread([&] {
            for (std::size_t i = 0; i < 200; ++i)
                blocks.emplace_back(1 + i * 7 % 1100, i);
        }).join();
        intact = intact && all_intact(blocks);
        blocks.clear();
    }

    BOOST_TEST(intact);
}

BOOST_AUTO_TEST_CASE(recycled_delete_of_memory_of_other_threads_is_safe)
{
    constexpr int threads = 4;
    std::array<std::vector<block>, threads> given;
    std::array<bool, threads> intact{};
    for (int round = 0; round < 5; ++round) {
        std::vector<std::thread> all;
        for (std::size_t t = 0; t < threads; ++t) {
            all.emplace_back([&, t] {
                intact[t] = all_intact(given[t]);  // another thread filled these in the last round
                given[t].clear();
                for (std::size_t i = 0; i < 500; ++i)
                    given[t].emplace_back(1 + (i * 31 + t) % 1100, i + t);
            });
        }
        for (auto& t : all)
            t.join();
        for (auto const ok : intact)
            BOOST_TEST(ok);
        std::swap(given[0], given[1]);
        std::swap(given[1], given[2]);
        std::swap(given[2], given[3]);
    }
}

BOOST_AUTO_TEST_CASE(recycled_delete_of_thousands_of_blocks_keeps_later_ones_intact)
{
    std::vector<block> blocks;
    for (std::size_t i = 0; i < 4096; ++i)
        blocks.emplace_back(1024, i);
    BOOST_TEST(all_intact(blocks));
    blocks.clear();

    BOOST_TEST(block(1024, 1).intact());
}

namespace {

using blocks = std::vector<block>;

/// As many bytes as the operations of @p count locks have, in blocks of some sizes.
blocks of_operations(std::size_t count)
{
    blocks all;
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t const size : {64, 150, 300, 700, 1100, 1900})
            all.emplace_back(size, i);
    }
    return all;
}

/// Runs each function on a thread of its own, and returns what all of them keep together.
template <class... Functions>
std::size_t kept_by(std::size_t times, Functions... functions)
{
    auto const threads = times * sizeof...(functions);
    std::barrier all_have_run(static_cast<std::ptrdiff_t>(threads));
    std::atomic<std::size_t> kept = 0;
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < times; ++i) {
        (all.emplace_back([&, i, functions] {
            functions(i);
            kept += recycled_by_this_thread();
            all_have_run.arrive_and_wait();  // the end of a thread frees what it keeps
        }),
         ...);
    }
    for (auto& t : all)
        t.join();
    return kept;
}

/// Frees what earlier tests have left on this thread. Otherwise it would count for the other threads.
void keep_nothing()
{
    for (std::size_t size = 64; size <= 2048; size += 64) {
        std::size_t before = 0;
        do {
            before = recycled_by_this_thread();
            ::operator delete(recycled_new(size));
        } while (recycled_by_this_thread() < before);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(recycled_delete_of_10_000_operations_keeps_at_most_2_mib)
{
    keep_nothing();
    auto const run = [](std::size_t) { of_operations(10'000).clear(); };
    for (int i = 0; i < 3; ++i) {  // a thread that ends leaves its room to later ones
        auto const kept = kept_by(1, run);
        BOOST_TEST(kept <= std::size_t{2} << 20);
        BOOST_TEST((!recycles || kept > recycled_max / 10 * 9));
    }
}

BOOST_AUTO_TEST_CASE(recycled_delete_on_16_threads_keeps_at_most_3_mib_together)
{
    keep_nothing();
    auto const kept = kept_by(16, [](std::size_t) { of_operations(1'000).clear(); });

    BOOST_TEST(kept <= std::size_t{3} << 20);
    BOOST_TEST(kept <= recycled_max + 15 * recycled_by_each_thread);
    BOOST_TEST((!recycles || kept > recycled_max / 10 * 9));
}

BOOST_AUTO_TEST_CASE(recycled_delete_of_blocks_of_other_threads_does_not_pile_up)
{
    keep_nothing();
    std::array<std::promise<blocks>, 8> sent;
    auto const send = [&](std::size_t i) { sent[i].set_value(of_operations(1'000)); };
    auto const free = [&](std::size_t i) { sent[i].get_future().get().clear(); };

    BOOST_TEST(kept_by(8, send, free) <= recycled_max + 15 * recycled_by_each_thread);
}

BOOST_AUTO_TEST_CASE(recycled_delete_beside_a_resting_thread_still_keeps_its_share)
{
    keep_nothing();
    std::promise<void> taken, done;
    auto const rest = [&](std::size_t) {
        of_operations(10'000).clear();  // keeps as much as it may, and then does nothing
        taken.set_value();
        done.get_future().wait();
    };
    std::size_t kept = 0;
    auto const work = [&](std::size_t) {
        taken.get_future().wait();
        of_operations(100).clear();
        kept = recycled_by_this_thread();
        done.set_value();
    };
    kept_by(1, rest, work);

    BOOST_TEST((!recycles || kept > recycled_by_each_thread / 2));
    BOOST_TEST(kept <= 2 * recycled_by_each_thread);
}

BOOST_AUTO_TEST_CASE(recycled_new_gives_room_back_for_other_threads)
{
    keep_nothing();
    std::promise<void> given_back, done;
    auto const give = [&](std::size_t) {
        of_operations(10'000).clear();
        auto const again = of_operations(10'000);  // takes what was kept
        given_back.set_value();
        done.get_future().wait();
    };
    std::size_t kept = 0;
    auto const work = [&](std::size_t) {
        given_back.get_future().wait();
        of_operations(1'000).clear();
        kept = recycled_by_this_thread();
        done.set_value();
    };
    kept_by(1, give, work);

    BOOST_TEST((!recycles || kept > recycled_max / 10 * 9));
}

namespace {

/// It is destroyed after the pool of its thread if it was constructed before the first use of the pool.
struct late {
    ~late()
    {
        auto const early = std::move(kept);
        auto const fresh = make_recycled<std::array<char, 100>>();
        BOOST_TEST(fresh != nullptr);
    }
    std::shared_ptr<int> kept;
};
thread_local late of_this_thread;

}  // namespace

BOOST_AUTO_TEST_CASE(recycler_in_thread_local_objects_works_until_thread_exit)
{
    std::thread([] {
        of_this_thread.kept = nullptr;  // constructed before the pool, so destroyed after it
        recycled_delete(recycled_new(100), 100);
        of_this_thread.kept = make_recycled<int>(1);
    }).join();
    std::thread([] {
        recycled_delete(recycled_new(100), 100);
        of_this_thread.kept = make_recycled<int>(1);  // constructed after the pool, so destroyed before it
    }).join();
}

BOOST_AUTO_TEST_CASE(recycler_is_an_allocator)
{
    std::vector<int, recycler<int>> v;
    std::list<std::size_t, recycler<std::size_t>> l;
    for (std::size_t i = 0; i < 5000; ++i) {
        v.push_back(static_cast<int>(i));
        l.push_back(i);
    }
    auto const copy = v;
    v.clear();
    v.shrink_to_fit();

    BOOST_TEST(copy.size() == 5000u);
    BOOST_TEST(copy.back() == 4999);
    BOOST_TEST(l.back() == 4999u);
    BOOST_TEST((recycler<int>() == recycler<int>(recycler<long>())));
}

BOOST_AUTO_TEST_CASE(make_recycled_with_a_throwing_constructor_frees_the_memory)
{
    struct throws {
        throws() { throw 1; }
        char space[200];
    };
    for (int i = 0; i < 3; ++i)
        BOOST_CHECK_THROW(make_recycled<throws>(), int);
}

BOOST_AUTO_TEST_SUITE_END()
