#include "tools/demo/options.hpp"

#include "tools/redlock/args/option_parser.hpp"
#include "bed/local_server.hpp"

#include <utility>

namespace redlock::demo {

namespace {

constexpr char about[] =
    R"(A flash sale on five real Redis servers, which it starts itself: many buyers in two processes want the few
hair dryers in stock. First without a lock, then with it, then while servers fail, then with a lock holder that is
stopped. The last act has orders of several items, each under one lock, and reports under shared locks, while servers
fail. The program prints each claim, and whether it held.)";

constexpr char notes[] =
    R"(Exit status: 0 if every claim held, 1 if not or if something failed, 64 for a wrong option, 130 after Ctrl-C.
NO_COLOR switches colours off.)";

}  // namespace

options parse(std::vector<std::string> arguments)
{
    options o;
    o.server = testbed::server_program();
    cli::option_parser line("redlock_demo", about, notes);
    line.add_number("--stock", o.stock, 1, 100'000, "hair dryers");
    line.add_number("--buyers", o.buyers, 2, 100'000, "coroutines, half of them in each process");
    line.add_number("--act", o.act, 0, 5, "only this one; 0: all");
    line.add_flag("--stores", o.stores, "the sale with other stores instead; each server is killed, and started again");
    line.add_text("--server", "PROGRAM", o.server,
                  "the server program: its name or path (redis-server, or $REDLOCK_SERVER)");
    line.read(std::move(arguments));
    return o;
}

}  // namespace redlock::demo
