// Runs the worker of this library as the comparisons do, on real servers.

#include "bed/local_server.hpp"
#include "bed/process.hpp"
#include "bed/wait_until.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(workers)

namespace {

using redlock::testbed::local_server;
using redlock::testbed::process;
using redlock::testbed::wait_until;

process run_worker(std::vector<std::string> words)
{
    words.insert(words.begin(), REDLOCK_WORKER);
    return process(std::move(words), {.piped = true, .fed = true});
}

std::string urls_of(std::deque<local_server> const& servers)
{
    std::string all;
    for (auto const& s : servers)
        all += (all.empty() ? "" : ",") + s.url();
    return all;
}

bool is_word(std::string const& line, std::string const& word) { return line == word || line.starts_with(word + ' '); }

// Two workers that increment a counter in turns.
class counting {
public:
    explicit counting(std::string const& urls, std::vector<std::string> options = {})
    {
        options.insert(options.end(), {"count", urls, "2000"});
        for (int i = 0; i < 2; ++i)
            workers_.push_back(run_worker(options));
    }

    // Until each worker has had the lock twice.
    void run()
    {
        while (*std::ranges::min_element(cycles) < 2)
            answer();
        for (auto& w : workers_)
            w.write("stop\n");
        while (ended < 2)
            answer();
        for (auto& w : workers_)
            BOOST_TEST(w.wait().code() == 0);
    }

    std::array<int, 2> cycles{};
    int ended = 0;
    std::string tokens;

private:
    void answer()
    {
        std::array<pollfd, 2> inputs{};
        for (std::size_t i = 0; i < 2; ++i)
            inputs[i] = {.fd = left_[i] ? -1 : workers_[i].output(), .events = POLLIN, .revents = 0};
        ::poll(inputs.data(), inputs.size(), -1);
        for (std::size_t i = 0; i < 2; ++i) {
            if (inputs[i].revents != 0)
                answer(i, workers_[i].read('\n'));
        }
    }

    void answer(std::size_t i, std::string const& line)
    {
        if (is_word(line, "acquired")) {
            BOOST_TEST(holder_ == -1);
            holder_ = static_cast<int>(i);
            tokens += line.substr(std::string("acquired").size());
            workers_[i].write("value " + std::to_string(value_) + " 5\n");
        } else if (is_word(line, "write")) {
            BOOST_TEST(is_word(line, "write " + std::to_string(value_ + 1)));
            ++value_;
            holder_ = -1;
            workers_[i].write("ok\n");
        } else if (line == "released") {
            ++cycles[i];
        } else if (line == "bye") {
            ++ended;
            left_[i] = true;
        } else {
            throw std::runtime_error("the worker says: " + line);
        }
    }

    std::vector<process> workers_;
    std::array<bool, 2> left_{};
    int holder_ = -1;
    int value_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(worker_in_mode_count_on_three_servers_excludes_another_one)
{
    std::deque<local_server> servers(3);
    counting c(urls_of(servers));

    c.run();

    BOOST_TEST(c.tokens == "");
    for (auto const& s : servers)
        wait_until([&] { return s.count_keys() == "0"; }, "a key is left");  // a slow node's key ends with its TTL
}

BOOST_AUTO_TEST_CASE(worker_in_mode_count_with_fencing_prints_increasing_tokens)
{
    std::deque<local_server> servers(1);
    counting c(urls_of(servers), {"--fencing"});

    c.run();

    std::vector<unsigned long long> tokens;
    for (std::size_t at = 0; at < c.tokens.size(); at = std::min(c.tokens.find(' ', at + 1), c.tokens.size()))
        tokens.push_back(std::stoull(c.tokens.substr(at)));
    BOOST_TEST(tokens.size() >= 4u);
    BOOST_TEST((std::ranges::adjacent_find(tokens, std::greater_equal()) == tokens.end()));
}

BOOST_AUTO_TEST_CASE(worker_whose_key_is_deleted_reports_the_loss_and_the_failed_release)
{
    local_server server;
    auto worker = run_worker({"count", server.url(), "1000"});
    BOOST_TEST(worker.read('\n') == "acquired");
    worker.write("value 0 3600000\n");

    server.ask({"DEL", "lock:versus"});

    BOOST_TEST(worker.read('\n') == "lost");
    BOOST_TEST(is_word(worker.read('\n'), "failed"));
}

BOOST_AUTO_TEST_CASE(worker_in_mode_speed_counts_cycles_of_each_go)
{
    local_server server;
    for (std::string const keys : {"one", "each:7"}) {
        auto worker = run_worker({"speed", server.url(), "10000", "4", keys, "0"});
        BOOST_TEST(worker.read('\n') == "ready");
        std::string said;
        wait_until(
            [&] {
                worker.write("go 50\n");
                said = worker.read('\n');
                return said.find("\"us\": []") == said.npos;  // a busy machine may pause for a whole measurement
            },
            "the worker has no cycles");
        BOOST_TEST_CONTEXT(said) {
            BOOST_TEST(said.starts_with("{\"seconds\": 0.05, \"us\": ["));
            BOOST_TEST(said.ends_with("\"failures\": {}, \"violations\": 0}"));
        }
        worker.close_input();
        BOOST_TEST(worker.wait().code() == 0);
    }
    BOOST_TEST(server.count_keys() == "0");
}

BOOST_AUTO_TEST_CASE(worker_that_waits_for_the_lock_ends_after_stop)
{
    local_server server;
    auto holder = run_worker({"count", server.url(), "1000"});
    BOOST_TEST(holder.read('\n') == "acquired");
    auto waiter = run_worker({"count", server.url(), "1000"});

    waiter.write("stop\n");

    BOOST_TEST(waiter.read('\n') == "bye");
    BOOST_TEST(waiter.wait().code() == 0);
    holder.close_input();
    BOOST_TEST(holder.wait().code() == 0);
}

BOOST_AUTO_TEST_CASE(worker_called_with_probe_prints_its_version)
{
    auto worker = run_worker({"probe"});
    BOOST_TEST(is_word(worker.read('\n'), "redlock"));
    BOOST_TEST(worker.wait().code() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
