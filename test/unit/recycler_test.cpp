#include <redlock/detail/recycler.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
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
