#include "versus/trial.hpp"

#include "interrupt.hpp"
#include "bed/plain_client.hpp"
#include "versus/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <utility>
#include <vector>

namespace redlock::versus {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds short_work = 20ms, quiet = 1s, to_start = 20s, to_end = 5s;

std::pair<std::string_view, std::string_view> cut(std::string_view line)
{
    auto const space = std::min(line.find(' '), line.size());
    return {line.substr(0, space), line.substr(std::min(space + 1, line.size()))};
}

std::optional<std::uint64_t> number(std::string_view text)
{
    std::uint64_t value = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    return ec == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::int64_t in_us(std::chrono::steady_clock::duration d)
{
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

bool answers(testbed::server_process const& s)
{
    try {
        testbed::plain_client const connected(s.port());
        return true;
    } catch (std::runtime_error const&) {
        return false;
    }
}

bool has_ended(testbed::server_process const& s)
{
    siginfo_t ending{};
    return ::waitid(P_PID, static_cast<id_t>(s.pid()), &ending, WEXITED | WNOHANG | WNOWAIT) == 0 && ending.si_pid != 0;
}

}  // namespace

trial::trial(bench::peer const& p, milliseconds ttl) : ttl_(ttl), store_(start_store(p.servers))
{
    result_.peer = p.name;
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 0; i < store_->size(); ++i)
        ports.push_back(store_->server(i).port());
    network_.emplace(worker_count, ports);
    start_workers(p.command);
}

trial::~trial() = default;

void trial::start_workers(std::vector<std::string> const& command)
{
    for (worker_id w = 0; w < worker_count; ++w) {
        std::string urls;
        for (std::size_t s = 0; s < store_->size(); ++s)
            urls += (s == 0 ? "" : ",") + store_->url(network_->port(w, s));
        auto words = command;
        words.insert(words.end(), {"count", urls, std::to_string(ttl_.count())});
        auto& one = workers_.emplace_back();
        one.process = std::make_unique<bench::worker_process>(words, fmt::format("{}/{}", logs_.path, w));
    }
}

trial_result trial::run(fault const& f)
{
    result_.fault = f.name;
    check_quiet();
    begin();
    f.happen(*this);
    result_.recovered = wait_for_all(time_limit);
    result_.recovery_us = in_us(result_.recovered ? longest_gap_ : gap());
    stop_workers();
    result_.confirmed_writes = counter_.confirmed();
    result_.lost_updates = counter_.lost_updates();
    result_.refused_writes = counter_.refused();
    result_.held_twice = losses_.held_twice();
    result_.never_noticed = losses_.never_noticed();
    if (auto const slowest = losses_.slowest())
        result_.notice_us = in_us(*slowest);
    count_keys();
    return result_;
}

void trial::check_quiet()
{
    if (!wait_for_all(to_start)) {
        std::string why;
        for (auto const& w : workers_) {
            if (!w.acquired)
                why += w.denied.empty() ? " A worker was silent." : fmt::format(" A worker was denied: {}.", w.denied);
        }
        for (auto const& r : result_.remarks)
            why += " " + r + ".";
        throw std::runtime_error(
            fmt::format("not every worker acquired the lock within {} s, before any fault.{}", to_start / 1s, why));
    }
    run_for(quiet);
    if (result_.crashed_workers > 0)
        throw std::runtime_error("before any fault, " + result_.remarks.front());
}

bool trial::wait_for_all(milliseconds limit)
{
    for (auto& w : workers_)
        w.acquired = false;
    return run_until(
        [&] { return std::ranges::all_of(workers_, [](auto& w) { return w.acquired || w.process->ended(); }); }, limit);
}

void trial::stop_workers()
{
    stopping_ = true;
    for (auto& w : workers_)
        w.process->write("stop");
    run_until([&] { return std::ranges::all_of(workers_, [](auto& w) { return w.process->ended(); }); }, to_end);
    for (worker_id w = 0; w < workers_.size(); ++w) {
        if (workers_[w].process->ended())
            continue;
        ++result_.killed_workers;
        remark(w, fmt::format("was killed: it did not end within {} s after \"stop\"", to_end / 1s));
        kill(w);
    }
}

// Sessions and leases of ended workers end later than a TTL: the least TTL of an etcd lease is two seconds.
void trial::count_keys()
{
    auto const is_tombstone = [](std::string const& key) { return key.find(":=gone") != key.npos; };
    auto const end = clock::now() + ttl_ + 3s;
    auto left = store_->keys();
    for (; !std::ranges::all_of(left, is_tombstone) && clock::now() < end; left = store_->keys())
        run_for(100ms);
    result_.tombstones = std::erase_if(left, is_tombstone);
    result_.keys_left = left.size();
    for (auto const& key : left)
        result_.remarks.push_back("left behind: " + key);
}

void trial::begin()
{
    last_acquired_ = clock::now();
    longest_gap_ = {};
}

trial::worker_id trial::holder(milliseconds work)
{
    next_work_ = work;
    if (!run_until([&] { return !next_work_; }, time_limit))
        throw std::runtime_error("no worker acquired the lock before the fault");
    begin();
    return holder_;
}

trial::worker_id trial::waiter() const
{
    for (worker_id w = 0; w < workers_.size(); ++w) {
        if (workers_[w].now == step::outside && !workers_[w].process->ended())
            return w;
    }
    throw std::runtime_error("no worker waits for the lock");
}

void trial::finish(worker_id w)
{
    if (!run_until([&] { return workers_[w].now == step::outside || workers_[w].process->ended(); }, time_limit))
        remark(w, fmt::format("needed more than {} s to finish and to release the lock", time_limit / 1s));
}

void trial::expect_write(worker_id w)
{
    auto& writer = workers_[w];
    writer.keeps_write = true;
    if (!run_until([&] { return writer.write || writer.process->ended(); }, time_limit) || !writer.write)
        throw std::runtime_error("the holder sent no write before the fault");
    writer.keeps_write = false;
}

void trial::deliver(worker_id w)
{
    auto& writer = workers_[w];
    bool const taken = counter_.write(*std::exchange(writer.write, {}), writer.token);
    writer.now = step::releasing;
    losses_.left(w);
    writer.process->write(taken ? "ok" : "refused");
}

void trial::kill(worker_id w)
{
    workers_[w].process->kill();
    losses_.left(w);
}

void trial::restart(std::size_t i)
{
    auto& s = store_->server(i);
    s.kill();
    // For a moment, remains of the killed server may refuse the next one: shared memory, or its port.
    for (int attempt = 0; attempt < 10; ++attempt) {
        run_for(50ms);
        s.launch();
        run_until([&] { return answers(s) || has_ended(s); }, 60s);
        if (!has_ended(s))
            return;
    }
    s.wait();  // throws with its log
}

// In a process of its own, so that the workers do not wait meanwhile.
void trial::delete_lock()
{
    testbed::process operation(
        [this] {
            store_->delete_lock();
            return 0;
        },
        {.name = "redlock_versus: deleting the lock"});
    std::optional<testbed::process::ending> ending;
    run_until([&] { return (ending = operation.ended()).has_value(); }, 30s);
    if (!ending || ending->code() != 0)
        throw std::runtime_error("the lock could not be deleted");
}

void trial::run_for(milliseconds d)
{
    run_until([] { return false; }, d);
}

bool trial::run_until(std::function<bool()> const& done, milliseconds limit)
{
    constexpr milliseconds often = 10ms;  // conditions may depend on more than the workers
    auto const end = clock::now() + limit;
    while (!done()) {
        auto const left = std::chrono::ceil<milliseconds>(end - clock::now());
        if (left <= 0ms)
            return false;
        serve(std::min(left, often));
        bench::throw_if_interrupted();
    }
    return true;
}

void trial::serve(milliseconds at_most)
{
    std::array<pollfd, worker_count> outputs{};
    for (worker_id w = 0; w < workers_.size(); ++w)
        outputs[w] = {.fd = workers_[w].process->output(), .events = POLLIN, .revents = 0};
    if (::poll(outputs.data(), outputs.size(), static_cast<int>(at_most.count())) <= 0)
        return;
    for (worker_id w = 0; w < workers_.size(); ++w) {
        if (outputs[w].revents == 0)
            continue;
        for (auto const& line : workers_[w].process->read_lines())
            hear(w, line);
        if (workers_[w].process->ended())
            on_end(w);
    }
}

void trial::hear(worker_id w, std::string_view line)
{
    auto const [word, rest] = cut(line);
    auto& sender = workers_[w];
    if (word == "acquired") {
        on_acquired(w, rest);
    } else if (word == "write") {
        on_write(w, rest);
    } else if (word == "lost") {
        losses_.noticed(w, clock::now());
        ++result_.notices;
        sender.now = step::releasing;
    } else if (word == "released" || word == "failed") {
        sender.now = step::outside;
    } else if (word == "denied") {
        sender.denied = rest;
    } else if (word == "bye") {
        sender.said_bye = true;
    } else {
        remark(w, fmt::format("wrote a line that is not in the contract: {}", line));
    }
}

void trial::on_acquired(worker_id w, std::string_view token)
{
    auto const now = clock::now();
    longest_gap_ = std::max(longest_gap_, now - std::exchange(last_acquired_, now));
    losses_.acquired(w, now);
    auto& winner = workers_[w];
    winner.acquired = true;
    winner.now = step::working;
    winner.token = number(token);
    auto work = short_work;
    if (next_work_) {
        work = *std::exchange(next_work_, {});
        holder_ = w;
    }
    winner.process->write(fmt::format("value {} {}", counter_.read(winner.token), work.count()));
}

void trial::on_write(worker_id w, std::string_view rest)
{
    auto const [value, token] = cut(rest);
    auto& writer = workers_[w];
    writer.write = number(value);
    if (!writer.write || (!token.empty() && !number(token)))
        throw std::runtime_error(fmt::format("a worker wrote \"write {}\", which is not a number and a token", rest));
    writer.token = number(token);
    writer.now = step::writing;
    losses_.worked(w);
    if (!writer.keeps_write)
        deliver(w);
}

void trial::on_end(worker_id w)
{
    losses_.left(w);
    if (stopping_ || workers_[w].said_bye)
        return;
    ++result_.crashed_workers;
    remark(w, workers_[w].process->last_words());
}

void trial::remark(worker_id w, std::string_view what)
{
    auto text = fmt::format("worker {} {}", w + 1, what);
    if (std::ranges::find(result_.remarks, text) == result_.remarks.end())
        result_.remarks.push_back(std::move(text));
}

}  // namespace redlock::versus
