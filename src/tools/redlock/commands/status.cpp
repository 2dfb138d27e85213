// redlock status: shows who holds a lock.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/lock_report.hpp"
#include "tools/redlock/locks/looking.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/locks/with_source.hpp"

#include <utility>

namespace redlock::cli {

namespace {

struct question {
    std::string key{};
    bool tokens = false;
};

asio::awaitable<int> inspect(lock_source& locks, question const& q, settings const& s)
{
    auto const seen = co_await locks.look_at(q.key);
    if (s.output == format::table)
        print(text_of(seen, s, q.tokens));
    else
        print_json(json_of(seen, q.tokens));
    if (seen.state != lock_state::unknown)
        co_return seen.state == lock_state::free || seen.state == lock_state::partial ? no : done;
    co_return is_refused(seen.info) ? no_permission : no_quorum;
}

}  // namespace

int status(arguments given)
{
    command_line line(
        "status",
        "Show who holds a lock, since when and for what, its ttl, what each node says, who shares it, and who waits.",
        "The start of a hold is by the clock of the holder. Waiting processes are those that were denied the lock "
        "lately. The nodes are only read.\n"
        "The answer may be outdated. Never start work because status says free: acquire the lock.\n"
        "Status: 0 the lock is held, exclusive or shared; 1 it is free, or on no majority; 69 too few nodes answered "
        "to tell; "
        "77 too few, because they refuse.");
    question q;
    line.add_key(q.key);
    line.add_flag("--tokens", q.tokens,
                  "show the tokens of the holders. Everybody who knows a token can release the lock");
    line.may_use_services();
    auto const s = for_looking(line.read(std::move(given)));
    if (q.tokens)
        must_have_nodes(line, s, "--tokens");
    return with_source(s, "status", [&](lock_source& locks) { return inspect(locks, q, s); });
}

}  // namespace redlock::cli
