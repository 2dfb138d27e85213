#include <redlock/detail/recycler.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace redlock::detail;

BOOST_AUTO_TEST_SUITE(recyclers)

namespace {

struct owned_block {
    unsigned char* memory;
    std::size_t size;
    unsigned char mark;

    void fill() const { std::memset(memory, mark, size); }

    bool intact() const
    {
        for (std::size_t i = 0; i < size; ++i) {
            if (memory[i] != mark)
                return false;
        }
        return true;
    }
};

owned_block take(std::size_t size, std::uint64_t mark)
{
    owned_block const b{static_cast<unsigned char*>(recycled_new(size)), size, static_cast<unsigned char>(mark)};
    b.fill();
    return b;
}

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_do_not_overlap_and_are_aligned)
{
    std::mt19937_64 random(11);
    std::vector<owned_block> blocks;
    bool intact = true, aligned = true;
    for (int i = 0; i < 20'000; ++i) {
        if (blocks.empty() || random() % 2) {
            blocks.push_back(take(1 + random() % 1300, random()));
            aligned = aligned && reinterpret_cast<std::uintptr_t>(blocks.back().memory) % alignof(std::max_align_t) == 0;
        } else {
            std::swap(blocks[random() % blocks.size()], blocks.back());
            intact = intact && blocks.back().intact();
            recycled_delete(blocks.back().memory, blocks.back().size);
            blocks.pop_back();
        }
    }
    for (auto const& b : blocks) {
        intact = intact && b.intact();
        recycled_delete(b.memory, b.size);
    }

    BOOST_TEST(intact);
    BOOST_TEST(aligned);
}

BOOST_AUTO_TEST_CASE(each_size_at_a_limit_can_be_used_whole)
{
    for (std::size_t size : {0, 1, 8, 63, 64, 65, 127, 128, 129, 960, 961, 1023, 1024, 1025, 4096}) {
        for (int i = 0; i < 3; ++i) {  // new, used again, used again
            auto const a = take(size, 1), b = take(size, 2);
            BOOST_TEST(a.intact());
            BOOST_TEST(b.intact());
            recycled_delete(a.memory, size);
            recycled_delete(b.memory, size);
        }
    }
}

BOOST_AUTO_TEST_CASE(memory_may_be_given_back_on_another_thread)
{
    std::vector<owned_block> blocks;
    bool intact = true;
    for (int round = 0; round < 20; ++round) {
        std::thread([&] {
            for (std::size_t i = 0; i < 200; ++i)
                blocks.push_back(take(1 + i * 7 % 1100, i));
        }).join();
        for (auto const& b : blocks) {
            intact = intact && b.intact();
            recycled_delete(b.memory, b.size);
        }
        blocks.clear();
    }

    BOOST_TEST(intact);
}

BOOST_AUTO_TEST_CASE(threads_that_exchange_memory_do_not_disturb_each_other)
{
    constexpr int threads = 4;
    std::array<std::vector<owned_block>, threads> given;
    std::array<bool, threads> intact{};
    for (int round = 0; round < 5; ++round) {
        std::vector<std::thread> all;
        for (std::size_t t = 0; t < threads; ++t) {
            all.emplace_back([&, t] {
                intact[t] = true;
                for (auto const& b : given[t]) {  // a round ago it was somebody else's
                    intact[t] = intact[t] && b.intact();
                    recycled_delete(b.memory, b.size);
                }
                given[t].clear();
                for (std::size_t i = 0; i < 500; ++i)
                    given[t].push_back(take(1 + (i * 31 + t) % 1100, i + t));
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
    for (auto const& mine : given) {
        for (auto const& b : mine)
            recycled_delete(b.memory, b.size);
    }
}

BOOST_AUTO_TEST_CASE(more_than_is_kept_goes_back)
{
    std::vector<owned_block> blocks;
    for (std::size_t i = 0; i < 4096; ++i)
        blocks.push_back(take(1024, i));
    for (auto const& b : blocks) {
        BOOST_TEST_REQUIRE(b.intact());
        recycled_delete(b.memory, b.size);
    }

    auto const after = take(1024, 1);
    BOOST_TEST(after.intact());
    recycled_delete(after.memory, after.size);
}

namespace {

/// Outlives the pool of its thread if it was made before the pool was used.
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

BOOST_AUTO_TEST_CASE(objects_of_a_thread_may_use_it_until_the_very_end)
{
    std::thread([] {
        of_this_thread.kept = nullptr;  // it is made, and goes last
        recycled_delete(recycled_new(100), 100);
        of_this_thread.kept = make_recycled<int>(1);
    }).join();
    std::thread([] {
        recycled_delete(recycled_new(100), 100);
        of_this_thread.kept = make_recycled<int>(1);  // it goes first
    }).join();
}

BOOST_AUTO_TEST_CASE(it_is_an_allocator)
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

BOOST_AUTO_TEST_CASE(a_constructor_that_throws_leaves_nothing_behind)
{
    struct throws {
        throws() { throw 1; }
        char space[200];
    };
    for (int i = 0; i < 3; ++i)
        BOOST_CHECK_THROW(make_recycled<throws>(), int);
}

BOOST_AUTO_TEST_SUITE_END()
