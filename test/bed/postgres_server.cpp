#include "bed/postgres_server.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace files = std::filesystem;

struct postgres_server::fresh_data {
    fresh_data()
    {
        files::permissions(folder.path, files::perms::all);
        run_program(as_nobody({postgres_programs() + "/initdb", "-D", path, "-U", "redlock", "-A", "trust", "-E",
                               "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"}),
                    folder.path + "/log");
    }

    temporary_folder folder;
    std::string path = folder.path + "/data";
};

// initdb takes long, so it runs once; each server gets a copy. A forked process would never destroy a static object, so
// its folder goes with its last server.
std::shared_ptr<postgres_server::fresh_data const> postgres_server::fresh()
{
    static std::weak_ptr<fresh_data const> latest;
    auto data = latest.lock();
    if (!data)
        latest = data = std::make_shared<fresh_data const>();
    static auto const for_all_servers = process::forked() ? nullptr : data;
    return data;
}

// A change of the user clears the parent-death signal, so setpriv sets it again.
std::vector<std::string> as_nobody(std::vector<std::string> words)
{
    if (::geteuid() != 0)
        return words;
    std::vector<std::string> all{"setpriv", "--reuid",        "nobody",      "--regid",
                                 "nogroup", "--clear-groups", "--pdeathsig", "KILL"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

std::string postgres_programs()
{
    if (auto named = named_by("REDLOCK_POSTGRESQL"); !named.empty())
        return named;
    std::pair<int, std::string> newest;
    std::error_code ec;
    for (auto const& one : files::directory_iterator("/usr/lib/postgresql", ec)) {
        auto const bin = one.path() / "bin";
        if (files::exists(bin / "postgres"))
            newest = std::max(newest, std::pair(std::atoi(one.path().filename().c_str()), bin.string()));
    }
    return newest.second;
}

postgres_server::postgres_server(std::vector<std::string> settings)
    : server_process("postgres", {"ready to accept "}), settings_(std::move(settings))
{
    if (postgres_programs().empty())
        throw std::runtime_error("there is no PostgreSQL server below /usr/lib/postgresql (Debian's package "
                                 "postgresql); $REDLOCK_POSTGRESQL may name its bin folder");
    files::permissions(path(), files::perms::all);
    data_ = fresh();
    run_program({"cp", "-a", data_->path, folder()}, path() + "/copy");
    start_on_free_ports();
}

postgres_server::postgres_server(postgres_server const& primary)
    : server_process("postgres", {"ready to accept "}), settings_(primary.settings_)
{
    files::permissions(path(), files::perms::all);
    run_program(
        as_nobody({postgres_programs() + "/pg_basebackup", "-h", "127.0.0.1", "-p", std::to_string(primary.port()),
                   "-U", "redlock", "-D", folder(), "-R", "--checkpoint=fast", "--no-sync"}),
        path() + "/copy");
    start_on_free_ports();
}

std::string postgres_server::url(std::string const& parameters) const
{
    return "postgresql://redlock@127.0.0.1:" + std::to_string(port()) + "/postgres" + parameters;
}

// Processes of the previous run may still hold its shared memory.
bool postgres_server::may_start_later(std::string const& log) const { return log.find("could not bind") == log.npos; }

std::vector<std::string> postgres_server::words()
{
    std::vector<std::string> all{postgres_programs() + "/postgres", "-D", folder(), "-p", std::to_string(port())};
    auto settings = settings_;
    settings.insert(settings.begin(), {"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200",
                                       "shared_buffers=16MB"});
    for (auto const& s : settings) {
        all.push_back("-c");
        all.push_back(s);
    }
    return as_nobody(std::move(all));
}

std::string postgres_server::ask(std::string const& sql) const
{
    auto const said =
        answer_of({"sh", "-c",
                   "exec psql -X -q -A -t -v VERBOSITY=terse -h 127.0.0.1 -U redlock -d postgres -p $0 -c \"$1\" 2>&1",
                   std::to_string(port()), sql},
                  {"PGOPTIONS=-c client_min_messages=warning"});
    return said.starts_with("error: ") ? said : said.substr(said.rfind('\n') + 1);
}

}  // namespace redlock::testbed
