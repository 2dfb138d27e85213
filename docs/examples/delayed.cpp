// Delayed jobs in one Redis: a job waits in a sorted set until it is due. Then it moves to a stream, from which a
// group of workers reads. Each job is done at least once.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <boost/asio.hpp>

#include <boost/redis/connection.hpp>
#include <boost/redis/src.hpp>
#include <boost/version.hpp>

#include <chrono>
#include <cstddef>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#if BOOST_VERSION < 109000
#error "delayed.cpp needs Boost 1.90 or newer"
#endif

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[scripts
// KEYS: a sorted set of the jobs that are not due yet, by time. A stream of the jobs that are due. A list of the jobs
// that were set aside.
// ARGV: the worker; the milliseconds after which a worker that has not finished its job counts as dead.
// Returns the ID of a job in the stream, the job, and how many workers have had it under this ID.
constexpr char const* take = R"(
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    for _, job in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 100)) do
        redis.call('XADD', KEYS[2], '*', 'job', job)
        redis.call('ZREM', KEYS[1], job)
    end
    local entry = redis.call('XAUTOCLAIM', KEYS[2], 'workers', ARGV[1], ARGV[2], '0', 'COUNT', '1')[2][1]
    if not entry then
        local read = redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[1], 'COUNT', '1', 'STREAMS', KEYS[2], '>')
        entry = read and read[1][2][1]
    end
    if not entry then return nil end
    return {entry[1], entry[2][2], tostring(redis.call('XPENDING', KEYS[2], 'workers', entry[1], entry[1], 1)[1][4])})";

// ARGV: the ID in the stream. To put the job back, also the delay in milliseconds, and the job. To set it aside, also
// "aside", and the job with the reason.
// Returns 0 if another worker has finished the job.
constexpr char const* finish = R"(
    if redis.call('XACK', KEYS[2], 'workers', ARGV[1]) == 0 then return 0 end
    redis.call('XDEL', KEYS[2], ARGV[1])
    if ARGV[2] == 'aside' then
        redis.call('RPUSH', KEYS[3], ARGV[3])
    elseif ARGV[2] then
        local time = redis.call('TIME')
        redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[3])
    end
    return 1)";
//]

//[jobs
struct job {
    std::string number;  // the ID in the stream
    std::size_t attempts = 1;
    std::string label;

    std::string text() const { return std::to_string(attempts) + ' ' + label; }
};

class delayed_jobs {
public:
    delayed_jobs(asio::any_io_executor executor, std::string socket, std::string worker,
                 std::chrono::milliseconds dead_after = 1min)
        : redis_(std::move(executor), boost::redis::logger(boost::redis::logger::level::err)),
          worker_(std::move(worker)),
          dead_after_(dead_after)
    {
        boost::redis::config settings;
        settings.unix_socket = std::move(socket);
        redis_.async_run(settings, asio::detached);
    }

    asio::awaitable<void> make_group()
    {
        boost::redis::request r;
        r.push("XGROUP", "CREATE", "jobs", "workers", "0", "MKSTREAM");
        boost::redis::generic_response answer;  // an error if the group exists already
        co_await redis_.async_exec(r, answer, asio::use_awaitable);
    }

    asio::awaitable<void> put(std::string label)
    {
        boost::redis::request r;
        r.push("ZADD", "later", 0, job{{}, 1, label}.text());
        co_await redis_.async_exec(r, boost::redis::ignore, asio::use_awaitable);
    }

    // Takes a job that is due, or the job of a worker that counts as dead.
    asio::awaitable<std::optional<job>> next()
    {
        using answer = std::optional<std::vector<std::string>>;
        auto const taken = co_await run<answer>(take, worker_, std::to_string(dead_after_.count()));
        if (!taken)
            co_return std::nullopt;
        std::string const& text = taken->at(1);
        auto const blank = text.find(' ');
        auto const workers = std::stoul(taken->at(2));
        co_return job{taken->at(0), std::stoul(text) + workers - 1, text.substr(blank + 1)};
    }

    asio::awaitable<void> done(job j) { co_await run<int>(finish, j.number); }

    asio::awaitable<void> come_back(job j, std::chrono::milliseconds later)
    {
        ++j.attempts;
        co_await run<int>(finish, j.number, std::to_string(later.count()), j.text());
    }

    asio::awaitable<void> set_aside(job j, std::string why)
    {
        co_await run<int>(finish, j.number, "aside", j.text() + ": " + why);
    }

    void close() { redis_.cancel(); }

private:
    template <class Answer, class... Arguments>
    asio::awaitable<Answer> run(char const* script, Arguments... arguments)
    {
        boost::redis::request r;
        r.push("EVAL", script, 3, "later", "jobs", "aside", arguments...);
        boost::redis::response<Answer> answer;
        co_await redis_.async_exec(r, answer, asio::use_awaitable);
        co_return std::get<0>(answer).value();
    }

    boost::redis::connection redis_;
    std::string const worker_;
    std::chrono::milliseconds const dead_after_;
};
//]

asio::awaitable<void> print(std::map<std::string, int>& printed, std::string label)
{
    asio::steady_timer printer(co_await asio::this_coro::executor, 1ms);
    co_await printer.async_wait(asio::deferred);
    ++printed[label];
}

//[worker
constexpr std::size_t attempts_max = 20;

// A job may be tried twice, so the work must be idempotent or fenced.
asio::awaitable<bool> try_it(redlock::lock_manager& locks, delayed_jobs& jobs, job j,
                             std::map<std::string, int>& printed)
{
    if (j.attempts > attempts_max) {  // before the work: perhaps the job crashes its workers
        co_await jobs.set_aside(j, "the last attempt did not end");
        co_return false;
    }
    redlock::attempt_report report;  // empty if the work fails under the lock
    auto work = [&](redlock::lock&) { return print(printed, j.label); };
    std::string why;
    try {
        // After a minute, another worker takes the job. max_hold ends this attempt before that.
        redlock::acquire_options const how{.ttl = 5s, .max_hold = 40s};
        co_await locks.with_lock("printer:3", how, work);
        co_await jobs.done(j);
        co_return true;
    } catch (redlock::lock_error const& e) {
        report = e.report();
        why = e.what();
    } catch (std::exception const& e) {
        why = e.what();
    }
    std::cerr << j.label << ": " << why << '\n';
    auto const later = redlock::retry_after(report, j.attempts);
    if (later > 0ms && j.attempts < attempts_max)
        co_await jobs.come_back(j, later);
    else
        co_await jobs.set_aside(j, why);  // the job would never succeed
    co_return false;
}
//]

asio::awaitable<bool> a_deadly_job_is_set_aside(redlock::lock_manager& locks, delayed_jobs& jobs,
                                                std::map<std::string, int>& printed)
{
    co_await jobs.put("deadly");
    asio::steady_timer pause(co_await asio::this_coro::executor);
    std::optional<job> j;
    while (!j || j->attempts <= attempts_max) {  // each worker crashes
        j = co_await jobs.next();
        pause.expires_after(5ms);
        co_await pause.async_wait(asio::deferred);
    }
    bool const done = co_await try_it(locks, jobs, *j, printed);
    co_return !done && !printed.contains("deadly") && !co_await jobs.next();
}

asio::awaitable<bool> run(std::string socket)
{
    auto const executor = co_await asio::this_coro::executor;
    redlock::manager_options const settings{.nodes = {"unix://" + socket}};
    redlock::lock_manager locks(executor, settings), others(executor, settings);
    delayed_jobs dead(executor, socket, "dead"), jobs(executor, socket, "alive", 1ms);
    co_await jobs.make_group();
    co_await jobs.make_group();  // each worker does this when it starts
    for (int i = 0; i < 3; ++i)
        co_await jobs.put("label " + std::to_string(i));

    redlock::acquire_options const how{.ttl = 10s, .renew = redlock::renewal::automatic};
    redlock::lock somebody_else = co_await others.async_try_acquire("printer:3", how);
    auto const left_behind = co_await dead.next();
    std::map<std::string, int> printed;
    int failed = 0;
    asio::steady_timer pause(executor);
    while (printed.size() < 3) {
        auto const j = co_await jobs.next();
        if (!j) {
            pause.expires_after(10ms);
            co_await pause.async_wait(asio::deferred);
            continue;
        }
        bool const done = co_await try_it(locks, jobs, *j, printed);
        if (!done && ++failed == 3)
            somebody_else = {};
    }
    co_await dead.come_back(*left_behind, 0ms);  // too late: another worker has finished the job
    auto const none = co_await jobs.next();
    bool const well = co_await a_deadly_job_is_set_aside(locks, jobs, printed);
    dead.close();
    jobs.close();
    co_await locks.async_shutdown();
    co_await others.async_shutdown();
    std::cout << printed.size() << " labels printed, " << failed << " attempts in vain\n";
    bool once = left_behind && !none;
    for (auto const& [label, times] : printed)
        once = once && times == 1;
    bool const as_expected = failed == 3 && once;
    co_return as_expected&& well;
}

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::cerr << "usage: example_delayed SOCKET\n";
        return 2;
    }
    asio::io_context context;
    bool well = false;
    asio::co_spawn(context, run(argv[1]), [&](std::exception_ptr failure, bool result) {
        if (failure)
            std::rethrow_exception(failure);
        well = result;
    });
    context.run();
    return well ? 0 : 1;
}
