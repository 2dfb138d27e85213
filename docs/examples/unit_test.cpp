// Tests code that locks, without a real server: memory servers and their faults.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <future>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using redlock::memory_server;

asio::awaitable<std::string> book(redlock::lock_manager& locks, std::string seat)
{
    auto ask_database = [](redlock::lock&) -> asio::awaitable<std::string> { co_return "booked"; };
    try {
        co_return co_await locks.with_lock(seat, {.ttl = 5s}, ask_database);
    } catch (redlock::system_error const& e) {
        co_return e.code() == redlock::errc::contended ? "taken" : "try again later";
    }
}

struct fixture {
    std::shared_ptr<memory_server> a = memory_server::at("a"), b = memory_server::at("b"), c = memory_server::at("c");

    std::string book_seat_12(std::vector<std::string> nodes = {"memory://a", "memory://b", "memory://c"})
    {
        asio::io_context context;
        redlock::lock_manager locks(context, {.nodes = nodes});
        auto answer = asio::co_spawn(context, book(locks, "seat:12"), asio::use_future);
        while (answer.wait_for(0s) != std::future_status::ready)
            context.run_one();
        return answer.get();
    }
};

int failures = 0;

void expect(std::string const& wanted, std::string const& got)
{
    std::cout << "expected \"" << wanted << "\", got \"" << got << "\"\n";
    failures += got != wanted;
}

int main(int argc, char** argv)
{
    //[tests
    fixture f;
    expect("booked", f.book_seat_12());

    f.b->set_fault(memory_server::fault::unreachable);
    expect("booked", f.book_seat_12());
    f.c->set_fault(memory_server::fault::hung);
    expect("try again later", f.book_seat_12());

    f.b->set_fault(memory_server::fault::none);
    f.a->set("lock:seat:12", "somebody else", 10s);
    f.b->set("lock:seat:12", "somebody else", 10s);
    expect("taken", f.book_seat_12());
    //]
    if (argc > 1)
        expect("booked", f.book_seat_12({argv + 1, argv + argc}));
    return failures;
}
