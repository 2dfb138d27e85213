// How to test code that locks, without a server: memory nodes, and their moods.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using mood = redlock::memory_node::mood;

//[code_under_test
asio::awaitable<std::string> book(redlock::lock_manager& locks, std::string seat)
{
    try {
        co_return co_await locks.with_lock(
            seat, {.ttl = 5s}, [](redlock::lock&) -> asio::awaitable<std::string> { co_return "booked"; });
    } catch (redlock::system_error const& e) {
        co_return e.code() == redlock::errc::contended ? "taken" : "try again later";
    }
}
//]

//[fixture
struct fixture {
    std::vector<std::string> urls{"memory://a", "memory://b", "memory://c"};
    std::array<std::shared_ptr<redlock::memory_node>, 3> servers{
        redlock::memory_node::at("a"), redlock::memory_node::at("b"), redlock::memory_node::at("c")};

    std::string book_seat()
    {
        asio::io_context context;
        redlock::lock_manager locks(context, {.nodes = urls});
        auto answer = asio::co_spawn(context, book(locks, "seat:12"), asio::use_future);
        while (answer.wait_for(0s) != std::future_status::ready)
            context.run_one();
        return answer.get();
    }
};
//]

int failures = 0;

void expect(std::string const& what, std::string const& wanted, std::string const& got)
{
    std::cout << what << ": " << got << '\n';
    failures += got != wanted;
}

int main(int argc, char** argv)
{
    {
        fixture f;
        if (argc > 1)
            f.urls.assign(argv + 1, argv + argc);
        expect("a free seat", "booked", f.book_seat());
    }
    //[tests
    {
        fixture f;
        for (auto const& s : f.servers)
            s->set("lock:seat:12", "somebody else", 10s);
        expect("a seat that somebody else is booking", "taken", f.book_seat());
    }
    {
        fixture f;
        f.servers[0]->set_mood(mood::unreachable);
        expect("one node down", "booked", f.book_seat());
        f.servers[1]->set_mood(mood::hung);
        expect("two nodes down", "try again later", f.book_seat());
    }
    //]
    return failures;
}
