#include "testbed/postgres_server.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace {

using namespace std::chrono_literals;
namespace files = std::filesystem;

// Made once, and copied for each server.
std::string const& fresh_data()
{
    struct made {
        made()
        {
            files::permissions(folder.path, files::perms::all);
            run_program(as_nobody({postgres_programs() + "/initdb", "-D", folder.path + "/data", "-U", "redlock", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
                           "--wal-segsize=1"}),
                folder.path + "/log");
            path = folder.path + "/data";
        }
        temporary_folder folder;
        std::string path;
    };
    static made const data;
    return data.path;
}

}  // namespace

// A process that changes its user must ask again to be killed with us.
std::vector<std::string> as_nobody(std::vector<std::string> words)
{
    if (::geteuid() != 0)
        return words;
    std::vector<std::string> all{"setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--pdeathsig", "KILL"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

std::string postgres_programs()
{
    if (auto const* const named = std::getenv("REDLOCK_POSTGRESQL"); named && *named)
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

postgres_server::postgres_server(std::vector<std::string> settings) : settings_(std::move(settings))
{
    if (postgres_programs().empty())
        throw std::runtime_error("there is no PostgreSQL server below /usr/lib/postgresql (Debian's package postgresql); $REDLOCK_POSTGRESQL may name its bin folder");
    files::permissions(folder_.path, files::perms::all);
    run_program({"cp", "-a", fresh_data(), folder()}, folder_.path + "/copy");
    start_on_free_port();
}

postgres_server::postgres_server(postgres_server const& primary) : settings_(primary.settings_)
{
    files::permissions(folder_.path, files::perms::all);
    run_program(as_nobody({postgres_programs() + "/pg_basebackup", "-h", "127.0.0.1", "-p", std::to_string(primary.port_), "-U", "redlock", "-D", folder(), "-R",
                   "--checkpoint=fast", "--no-sync"}),
        folder_.path + "/copy");
    start_on_free_port();
}

void postgres_server::start_on_free_port()
{
    for (int attempt = 0;; ++attempt) {
        port_ = free_port();
        try {
            start();
            return;
        } catch (std::runtime_error const&) {
            if (attempt == 2)
                throw;
        }
    }
}

postgres_server::~postgres_server()
{
    kill();
}

std::string postgres_server::url(std::string const& parameters) const
{
    return "postgresql://redlock@127.0.0.1:" + std::to_string(port_) + "/postgres" + parameters;
}

void postgres_server::start()
{
    for (auto const deadline = std::chrono::steady_clock::now() + 60s;;) {
        launch();
        while (!process_->ended() && std::chrono::steady_clock::now() < deadline) {
            if (log().find("ready to accept ") != std::string::npos)
                return;
            std::this_thread::sleep_for(5ms);
        }
        // Processes of the one before may hold its memory still.
        if (std::chrono::steady_clock::now() > deadline || log().find("could not bind") != std::string::npos) {
            kill();
            throw std::runtime_error("postgres did not start on port " + std::to_string(port_) + ":\n" + log());
        }
        std::this_thread::sleep_for(50ms);
    }
}

void postgres_server::launch()
{
    std::vector<std::string> words{postgres_programs() + "/postgres", "-D", folder(), "-p", std::to_string(port_)};
    auto settings = settings_;
    settings.insert(settings.begin(), {"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "shared_buffers=16MB"});
    for (auto const& s : settings) {
        words.push_back("-c");
        words.push_back(s);
    }
    auto const log_file = folder_.path + "/log";
    ::unlink(log_file.c_str());
    process_.emplace(as_nobody(std::move(words)), process_options{.output = log_file});
}

void postgres_server::kill()
{
    auto const all = process_ ? processes() : std::vector<pid_t>();
    for (auto const pid : all)
        ::kill(pid, SIGKILL);
    process_.reset();
}

void postgres_server::pause()
{
    process_->pause();
    for (auto const pid : processes())
        ::kill(pid, SIGSTOP);
}

void postgres_server::resume()
{
    for (auto const pid : processes())
        ::kill(pid, SIGCONT);
    process_->resume();
}

std::vector<pid_t> postgres_server::processes() const
{
    auto const pid = std::to_string(process_->pid());
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    std::vector<pid_t> all;
    for (pid_t p = 0; children >> p;)
        all.push_back(p);
    return all;
}

std::string postgres_server::ask(std::string const& sql) const
{
    process psql({"sh", "-c", "exec psql -X -q -A -t -v VERBOSITY=terse -h 127.0.0.1 -U redlock -d postgres -p $0 -c \"$1\" 2>&1", std::to_string(port_), sql},
                 {.environment = {"PGOPTIONS=-c client_min_messages=warning"}, .piped = true});
    auto said = psql.read();
    auto const ended = psql.wait();
    while (said.ends_with('\n'))
        said.pop_back();
    if (ended.code() != 0)
        return "error: " + said;
    return said.substr(said.rfind('\n') + 1);
}

std::string postgres_server::log() const
{
    std::ostringstream text;
    text << std::ifstream(folder_.path + "/log").rdbuf();
    return text.str();
}

}  // namespace redlock::testbed
