// redlock run: runs a command while it holds locks, and stops it before they are lost.

#include "tools/redlock/locks/acquiring.hpp"
#include "tools/redlock/run/child.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/run/default_note.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/lock_view.hpp"
#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/run/outer_runs.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/permissions.hpp"
#include "tools/redlock/run/run_words.hpp"
#include "tools/redlock/args/server_place.hpp"
#include "tools/redlock/run/supervisor.hpp"
#include "tools/redlock/locks/with_source.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>

namespace redlock::cli {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct run_options {
    how_to_acquire how;
    std::string key;
    std::vector<std::string> words;
    std::string shell_command, on_lost = "term", if_unavailable = "fail";
    milliseconds grace{0}, at_least{0};
    int busy_status = busy;
    int status_fd = -1;
    bool has_grace = false, skip_busy = false, no_renew = false, foreground = false, no_note = false;
};

constexpr milliseconds status_within = 1s;    // --status-fd must take the result
constexpr milliseconds service_timeout = 1s;  // of the last renewal, over a service

/// Variables that list the locks of this run and of outer runs, with the prefix, one in a line.
constexpr auto held_keys = "REDLOCK_KEYS";
constexpr auto shared_keys = "REDLOCK_SHARED_KEYS";  // only the shared locks

std::vector<std::string> node_names(settings const& s)
{
    std::vector<std::string> names;
    for (auto const& instance : s.services)
        names.push_back(instance.name());
    for (auto const& n : named_nodes(s.locks))
        names.push_back(n.database == 0 ? n.name : fmt::format("{}/{}", n.name, n.database));
    return names;
}

/// The result of a run, for people and for --status-fd.
struct ending {
    std::string reason{};
    int status = failed;
    std::string message{};
    milliseconds waited{0}, held{0};
};

// Writes the result of the run to --status-fd. @return false: its reader is too slow
bool tell(ending const& e, run_options const& o)
{
    if (o.status_fd < 0)
        return true;
    auto const line = boost::json::serialize(boost::json::object{{"schema", 1},
                                                                 {"keys", json_of(o.how.keys)},
                                                                 {"reason", e.reason},
                                                                 {"status", e.status},
                                                                 {"waited_ms", e.waited.count()},
                                                                 {"held_ms", e.held.count()},
                                                                 {"message", valid_utf8(e.message)}})
                      + '\n';
    return write_within(o.status_fd, line, status_within);
}

// The field "reason" of a run that did not get its lock.
std::string reason_of(int status)
{
    static std::map<int, char const*> const reasons{{busy, "busy"},
                                                    {no_quorum, "no_quorum"},
                                                    {no_permission, "no_permission"},
                                                    {wrong_usage, "wrong_usage"},
                                                    {wrong_configuration, "wrong_configuration"}};
    auto const known = reasons.find(status);
    return known != reasons.end() ? known->second : status > by_signal ? "interrupted" : "failed";
}

class run_command {
public:
    run_command(run_options const& o, settings const& s, inheritance const& given)
        : options_(o), settings_(s), given_(given)
    {
    }

    /// Whether the command is to run although there is no lock: call @ref run_without_lock.
    bool is_without_lock() const noexcept { return is_without_lock_; }

    asio::awaitable<int> run(lock_source& locks)
    {
        auto const e = co_await end_of(locks);
        if (!e.message.empty())
            say(e.message);
        if (!tell(e, options_))
            say(fmt::format("--status-fd {} does not take the result within {}", options_.status_fd,
                            in_words(status_within)));
        co_return e.status;
    }

    /// If Ctrl-C has ended the command, this process ends by SIGINT, too, so that a shell ends its script. If only the
    /// command's group got the SIGINT, this sends it to the group of this process. Call it last.
    void end_by_interrupt() const
    {
        if (interrupted_ == interrupt::none)
            return;
        std::signal(SIGINT, SIG_DFL);
        ::kill(interrupted_ == interrupt::of_command_alone ? 0 : ::getpid(), SIGINT);
    }

private:
    asio::awaitable<ending> end_of(lock_source& locks)
    {
        asio::signal_set signals(co_await asio::this_coro::executor, SIGCHLD);
        for (int const s : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) {
            if (!given_.ignores(s))
                signals.add(s);
        }
        auto got = co_await acquire(locks, options_.how, settings_, signals, "run");
        if (got.is_unanswered && options_.if_unavailable == "run") {
            int number = 0;
            auto const first = co_await (has_holder(locks) || wait_for_end(signals, number));
            auto const* const is_held = std::get_if<0>(&first);
            is_without_lock_ = number == 0 && is_held && !*is_held;
            got.status = number == 0 ? got.status : by_signal + number;
        }
        if (got.status == by_signal + SIGINT)
            interrupted_ = interrupt::of_all;
        if (!got.held)
            co_return not_acquired(got);
        if (!given_.ignores(SIGTSTP))
            signals.add(SIGTSTP);  // before there is a command, SIGTSTP stops this process
        if (settings_.verbose)
            say(fmt::format("{} acquired after {}", names(*got.held), in_words(got.waited)));
        auto const begun = clock::now();
        auto e = co_await end_of_command(got.held, signals);
        e.waited = got.waited;
        e.held = std::chrono::duration_cast<milliseconds>(clock::now() - begun);
        co_return e;
    }

    // A round ends when a majority is impossible, and may not have waited for a node that knows a holder. So this waits
    // for each node, as long as a connection and an answer may take.
    asio::awaitable<bool> has_holder(lock_source& locks) const
    {
        auto const& times = settings_.locks;
        auto const until = clock::now() + times.connect_timeout + times.node_timeout;
        asio::steady_timer pause(co_await asio::this_coro::executor);
        for (auto const& key : options_.how.keys) {
            for (bool is_last = false; !is_last;) {
                auto const seen = co_await seen_or_nothing(locks, key);
                if (!seen || seen->is_there())
                    co_return true;
                is_last = clock::now() >= until
                          || std::ranges::none_of(seen->info.nodes, [](auto& n) { return n.error.failed(); });
                if (!is_last) {
                    pause.expires_after(50ms);
                    co_await pause.async_wait(runtime::as_result);
                }
            }
        }
        co_return false;
    }

    // Nothing: it is not known.
    static asio::awaitable<std::optional<lock_view>> seen_or_nothing(lock_source& locks, std::string key)
    {
        try {
            co_return co_await locks.look_at(std::move(key));
        } catch (early_exit const&) {
            co_return std::nullopt;
        }
    }

    ending not_acquired(acquired const& got) const
    {
        ending e{.status = got.status, .message = got.message, .waited = got.waited};
        e.reason = is_without_lock_ ? "unavailable" : reason_of(got.status);
        if (is_without_lock_)
            e.message += "; the command runs without the lock";
        if (got.status != busy)
            return e;
        e.status = options_.skip_busy ? static_cast<int>(done) : options_.busy_status;
        if (options_.skip_busy && !settings_.verbose)
            e.message.clear();
        return e;
    }

    asio::awaitable<ending> end_of_command(std::shared_ptr<held_locks> held, asio::signal_set& signals)
    {
        auto const begun = clock::now();
        given_.keep_files_ours();
        int lost[2];
        if (::pipe2(lost, O_CLOEXEC) != 0)
            throw std::system_error(errno, std::generic_category(), "pipe");
        int const lost_for_it = inheritance::unused_file();
        auto close_lost = [&] { ::close(std::exchange(lost[1], -1)); };
        ending e;
        {
            child command({.words = options_.words,
                           .environment = environment(*held, lost_for_it),
                           .gives = lost[0],
                           .as = lost_for_it,
                           .in_our_group = options_.foreground},
                          given_);
            ::close(lost[0]);
            auto const watcher = std::make_shared<supervisor>(signals, held, command, supervision(close_lost));
            bool const kept = co_await watcher->run();
            e = ending_of(command, kept);
        }
        if (lost[1] >= 0)
            close_lost();
        bool const has_stayed = e.reason != "exited" || co_await stay(*held, begun + options_.at_least, signals);
        co_await give_back(*held, e, has_stayed);
        co_return e;
    }

    ending ending_of(child const& command, bool kept)
    {
        if (!kept)
            return {.reason = "lost", .status = lock_lost};
        if (auto const error = command.exec_error(); error != 0)
            return {.reason = "cannot_run",
                    .status = error == ENOENT ? not_found : cannot_execute,
                    .message = fmt::format("redlock run: {}: {}", options_.words.front(),
                                           std::generic_category().message(error))};
        auto const signal = command.signal_that_ended_it();
        if (signal == SIGINT)
            interrupted_ = command.was_interrupted_alone() ? interrupt::of_command_alone : interrupt::of_all;
        return {.reason = signal != 0 ? "signal" : "exited", .status = command.status()};
    }

    supervisor::options supervision(std::function<void()> lost) const
    {
        auto const& how = options_.how;
        auto const renewal_timeout = settings_.services.empty() ? settings_.locks.node_timeout : service_timeout;
        return {.ttl = how.ttl,
                .max_hold = how.max_hold,
                .grace = options_.has_grace ? options_.grace : default_grace(how.ttl),
                .renewal_timeout = options_.no_renew ? 0ms : renewal_timeout,
                .then = policy(),
                .lost = std::move(lost),
                .say = [this](std::string const& text) { say(text); }};
    }

    // Keeps the lock for --at-least, so that a schedule of a machine whose clock is a little late finds the lock held.
    // Returns false if the lock was held when the command ended, but is lost before --at-least ends.
    asio::awaitable<bool> stay(held_locks& held, clock::time_point until, asio::signal_set& signals)
    {
        if (until <= clock::now())
            co_return true;
        // An extension asks the servers whether somebody has deleted the keys while the command ran.
        if (options_.how.renew == renewal::automatic) {
            auto const ec = co_await held.extend(options_.how.ttl);
            if (ec == errc::not_held || ec == errc::lost)
                co_return true;
        }
        int number = 0;
        asio::steady_timer timer(co_await asio::this_coro::executor, until - clock::now());
        auto const first =
            co_await (timer.async_wait(runtime::as_result) || held.wait_lost() || wait_for_end(signals, number));
        co_return first.index() != 1;
    }

    asio::awaitable<void> give_back(held_locks& held, ending& e, bool has_stayed)
    {
        auto const what = names(held);
        auto const ec = co_await held.release();
        if (!has_stayed) {
            e.message = fmt::format("redlock run: {} could not be kept for --at-least {}: another client may hold it "
                                    "now",
                                    what, in_words(options_.at_least));
        } else if (ec == errc::not_held && e.reason != "lost" && policy() != on_lost::warn) {
            e.reason = "lost";
            e.status = lock_lost;
            e.message = fmt::format("redlock run: {} was not held any more when the command ended: another client may "
                                    "have held it meanwhile",
                                    what);
        }
    }

    std::vector<std::string> environment(held_locks const& held, int lost_fd) const
    {
        run_locks ours{.nodes = node_names(settings_), .is_shared = options_.how.shared};
        for (auto const& name : held.resources())
            ours.keys.push_back(settings_.locks.prefix + name);
        auto const with_ours = [&](std::string lines) {
            for (auto const& key : ours.keys)
                lines += (lines.empty() ? "" : "\n") + key;
            return lines;
        };
        auto const shared = in_environment(shared_keys);
        return {"REDLOCK_HELD=1",
                "REDLOCK_KEY=" + fmt::format("{}", fmt::join(held.resources(), "\n")),
                std::string(held_keys) + '=' + with_ours(in_environment(held_keys)),
                std::string(shared_keys) + '=' + (options_.how.shared ? with_ours(shared) : shared),
                fmt::format("{}={}", outer_runs_variable, lines_for_inner_runs(std::move(ours))),
                "REDLOCK_FENCE=" + std::to_string(held.fencing_token()),
                "REDLOCK_TOKEN=" + held.token(),
                "REDLOCK_OWNER=" + held.owner(),
                "REDLOCK_TTL_MS=" + std::to_string(options_.how.ttl.count()),
                "REDLOCK_DEADLINE=" + std::to_string(deadline_of(held)),
                "REDLOCK_LOST_FD=" + std::to_string(lost_fd)};
    }

    static std::string names(held_locks const& held) { return fmt::format("{}", fmt::join(held.resources(), ", ")); }

    on_lost policy() const
    {
        return options_.on_lost == "kill" ? on_lost::kill : options_.on_lost == "warn" ? on_lost::warn : on_lost::term;
    }

    void say(std::string const& text) const
    {
        if (!settings_.quiet)
            cli::say((text.starts_with("redlock") ? "" : "redlock run: ") + text);
    }

    run_options const& options_;
    settings const& settings_;
    inheritance const& given_;
    enum class interrupt { none, of_all, of_command_alone } interrupted_ = interrupt::none;
    bool is_without_lock_ = false;
};

/// Replaces this process by the command. @return the exit status, if the command cannot be executed
int run_without_lock(run_options const& o, inheritance const& given)
{
    given.keep_files_ours();
    for (auto const* of_lock : {"KEY", "TOKEN", "FENCE", "OWNER", "TTL_MS", "DEADLINE", "LOST_FD"})
        ::unsetenv((std::string("REDLOCK_") + of_lock).c_str());  // an outer run may have set it
    ::setenv("REDLOCK_HELD", "0", 1);
    std::vector<char*> words;
    for (auto const& word : o.words)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    given.restore();
    ::execvp(words.front(), words.data());
    int const error = errno;
    cli::say(fmt::format("redlock run: {}: {}", o.words.front(), std::generic_category().message(error)));
    return error == ENOENT ? not_found : cannot_execute;
}

void add_options(command_line& line, run_options& o)
{
    line.add_option("KEY", o.key, "the name of the lock, unless -k names locks");
    line.add_option("--key,-k", o.how.keys, "the name of a lock, once for each; all of them are held, or none")
        ->type_name("KEY")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    o.how.add_to(line);
    auto* const note = line.get_option("--note");
    note->description(note->get_description() + "; without it, the first 60 characters of the command");
    line.add_flag("--no-note", o.no_note, "leave no note, also not the command")->excludes(note);
    line.add_number("--conflict-exit-code,-E", o.busy_status, 0, 255,
                    "the exit status if another client holds the lock");
    line.add_text("--command,-c", "TEXT", o.shell_command, "run this text by /bin/sh");
    line.add_duration(
            "--grace", o.grace, 0ms, 1h,
            "time between SIGTERM and SIGKILL if the lock cannot be kept; min(5s, ttl / 5) without it, and at most "
            "half of the ttl and of --max-hold; also $REDLOCK_GRACE")
        ->each([&o](std::string const&) { o.has_grace = true; });
    line.add_option("--on-lost", o.on_lost, "term, kill, or warn and let the command continue")
        ->type_name("ACTION")
        ->check(CLI::IsMember({"term", "kill", "warn"}));
    line.add_option("--if-unavailable", o.if_unavailable,
                    "fail, or run the command without the lock, if too few lock servers answer; run needs -n or -w")
        ->type_name("ACTION")
        ->check(CLI::IsMember({"fail", "run"}));
    line.add_flag("--no-renew", o.no_renew, "the lock ends with its ttl, and the command before");
    line.add_duration("--at-least", o.at_least, 0ms, 24h,
                      "keep the lock at least this long, even if the command has ended; also $REDLOCK_AT_LEAST");
    line.add_flag("--skip-busy", o.skip_busy, "end with status 0 if another client holds the lock: for schedules");
    line.add_flag(
        "--foreground", o.foreground,
        "leave the command in the process group of redlock; then only the command is stopped, not its children");
    line.add_number("--status-fd", o.status_fd, 0, 1'000'000,
                    "write how the command ended to this descriptor, as one line of JSON");
}

void check_words(command_line const& line, run_options const& o)
{
    if (o.how.keys.empty())
        line.refuse("there is no lock: redlock run KEY CMD…");
    if (o.words.empty() && o.shell_command.empty())
        line.refuse("there is no command: redlock run KEY CMD…");
    if (!o.words.empty() && !o.shell_command.empty())
        line.refuse(
            fmt::format("-c or a command, not both; several locks are named by -k: redlock run -k {} -k {} -c …",
                        shell_word(o.how.keys.front()), shell_word(o.words.front())));
    if (auto const others = names_before_mark(o.words); !others.empty() && !o.key.empty())
        line.refuse(
            fmt::format("\"{0}\" is no command; several locks are named by -k: redlock run -k {1} -k {2} -- CMD…",
                        without_urls(others.front()), shell_word(o.key), fmt::join(others, " -k ")));
}

// If an outer run holds the same key on the same nodes, this run would wait for it for ever. A shared run inside a
// shared run passes waiting writers, because they wait for the outer run, and the outer run waits for this one.
void check_nesting(run_options& o, settings const& s)
{
    if (in_environment(outer_runs_variable).empty())
        return;
    auto const nodes = node_names(s);
    for (auto const& key : o.how.keys) {
        auto const outer = held_by_outer_runs(s.locks.prefix + key, nodes);
        if (!outer.is_held)
            continue;
        if (outer.is_alone || !o.how.shared)
            throw early_exit(wrong_usage,
                             fmt::format("redlock run: {} is held {} by a \"redlock run\" around this one, which would "
                                         "wait for itself{}",
                                         key, outer.is_alone ? "alone" : "shared",
                                         outer.is_alone ? "" : "; with --shared it is allowed"));
        if (!s.services.empty())
            throw early_exit(
                wrong_usage,
                fmt::format(
                    "redlock run: {} is shared by a \"redlock run\" around this one, and through {}, a service, "
                    "this one cannot pass writers that wait for the outer one: name the lock servers",
                    key, s.services.front().name()));
        o.how.passes_writers = true;
    }
}

bool is_writable(int descriptor)
{
    auto const how = ::fcntl(descriptor, F_GETFL);
    return how >= 0 && (how & O_ACCMODE) != O_RDONLY;
}

int run_with(command_line const& line, run_options& o, settings s)
{
    if (line.count("KEY") > 0)
        o.how.keys.push_back(o.key);
    check_words(line, o);
    if (o.how.note.empty() && !o.no_note)
        o.how.note = default_note(o.words.empty() ? std::span(&o.shell_command, 1) : std::span(o.words));
    o.how.check(line, s.locks);
    if (o.words.empty())
        o.words = {"/bin/sh", "-c", o.shell_command};
    if (o.status_fd >= 0 && !is_writable(o.status_fd))
        line.refuse(fmt::format("--status-fd is {}, but must be open for writing", o.status_fd));
    if (o.status_fd > STDERR_FILENO)  // the command always gets the standard files
        ::fcntl(o.status_fd, F_SETFD, FD_CLOEXEC);
    if (o.if_unavailable == "run" && !o.how.at_once && !o.how.is_limited)
        line.refuse("--if-unavailable run needs -n or -w: without them, redlock waits until the servers answer");
    if (o.if_unavailable == "run" && !s.services.empty())
        line.refuse(
            "--if-unavailable run needs the lock servers: over a service, redlock cannot tell why it got no lock");
    must_suit_service(line, s);
    check_nesting(o, s);
    o.how.renew = o.no_renew ? renewal::none : renewal::automatic;
    o.how.add_to(s.locks);
    run_command command(o, s, inheritance::ours());
    auto const status = with_source(s, "run", [&](lock_source& locks) { return command.run(locks); });
    if (command.is_without_lock())
        return run_without_lock(o, inheritance::ours());
    command.end_by_interrupt();
    return status;
}

}  // namespace

int run(arguments given)
{
    command_line line("run",
                      "Run a command while holding locks, and stop it before they are lost: redlock run KEY CMD…, "
                      "redlock run -k KEY -k KEY CMD…, redlock run KEY -c 'sh'. The command begins at the first word "
                      "behind the key; a -- "
                      "between them is dropped.",
                      "Status: that of the command; 128 and the signal that ended it; 64 usage; 69 no quorum; 75 "
                      "another client holds the "
                      "lock; 77 password or access list; 78 configuration; 124 the lock was lost, and the command "
                      "stopped; 126, 127 the "
                      "command cannot be run.");
    line.set_operands("KEY [--] CMD…");
    line.may_use_services();
    run_options o;
    add_options(line, o);
    auto split = split_words(std::move(given), line);
    o.words = std::move(split.command);
    try {
        return run_with(line, o, line.read(std::move(split.ours)));
    } catch (early_exit const& e) {
        auto const& keys = o.how.keys;
        if (!o.key.empty() && std::ranges::find(keys, o.key) == keys.end())
            o.how.keys.push_back(o.key);
        if (e.status() != done && is_writable(o.status_fd))
            tell({.reason = reason_of(e.status()), .status = e.status(), .message = e.what()}, o);
        throw;
    }
}

}  // namespace redlock::cli
