#include "testbed/mariadb_server.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>
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

constexpr auto tables = "/usr/share/mysql/";  // what its own come from

std::vector<std::string> words_for(std::string const& data, std::vector<std::string> const& options)
{
    std::vector<std::string> words{mariadb_program(), "--no-defaults", "--datadir=" + data, "--loose-innodb-log-file-size=8M", "--innodb-buffer-pool-size=32M",
                                   "--loose-mysqlx=OFF"};
    if (::geteuid() == 0)
        words.push_back("--user=root");
    words.insert(words.end(), options.begin(), options.end());
    return words;
}

std::string text_of(std::string const& file)
{
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// MariaDB's own way takes a program that needs packages which the server does not.
void make_mariadb(std::string const& folder, std::string const& data)
{
    std::ofstream(folder + "/begin") << "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n"
                                     << text_of(tables + std::string("mysql_system_tables.sql")) << text_of(tables + std::string("mysql_performance_tables.sql"))
                                     << text_of(tables + std::string("mysql_system_tables_data.sql"));
    auto words = words_for(data, {"--bootstrap", "--innodb-flush-log-at-trx-commit=0"});
    words.insert(words.begin(), {"sh", "-c", "file=$0; exec \"$@\" <\"$file\"", folder + "/begin"});
    run_program(std::move(words), folder + "/log");
}

void make_mysql(std::string const& folder, std::string const& data)
{
    run_program(words_for(data, {"--initialize-insecure"}), folder + "/log");
    files::remove(data + "/auto.cnf");  // who it is, which copies must not share
}

bool is_mysql()
{
    process p({mariadb_program(), "--version"}, {.piped = true});
    return p.read().find("MariaDB") == std::string::npos;
}

// Made once, and copied for each server.
std::string const& fresh_tables()
{
    struct made {
        made() : path(folder.path + "/data")
        {
            files::create_directory(path);
            is_mysql() ? make_mysql(folder.path, path) : make_mariadb(folder.path, path);
        }
        temporary_folder folder;
        std::string path;
    };
    static made const data;
    return data.path;
}

constexpr auto first_users = "CREATE USER IF NOT EXISTS redlock@'127.0.0.1';\nCREATE USER IF NOT EXISTS redlock@localhost;\n"
                             "GRANT ALL ON *.* TO redlock@'127.0.0.1' WITH GRANT OPTION;\nGRANT ALL ON *.* TO redlock@localhost WITH GRANT OPTION;\n"
                             "CREATE DATABASE IF NOT EXISTS redlock;\n";

}  // namespace

std::string mariadb_program()
{
    if (auto const* const named = std::getenv("REDLOCK_MARIADB"); named && *named)
        return named;
    bool const there = files::exists("/usr/sbin/mariadbd") && files::exists(tables + std::string("mysql_system_tables.sql"));
    return there ? "/usr/sbin/mariadbd" : "";
}

mariadb_server::mariadb_server(std::vector<std::string> options) : options_(std::move(options))
{
    if (mariadb_program().empty())
        throw std::runtime_error("there is no MariaDB server here (Debian's package mariadb-server-core); $REDLOCK_MARIADB may name the program");
    files::copy(fresh_tables(), folder_.path + "/data", files::copy_options::recursive);
    std::ofstream(folder_.path + "/first") << first_users;
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

mariadb_server::~mariadb_server()
{
    kill();
}

std::string mariadb_server::url(std::string const& parameters) const
{
    return "mysql://redlock@127.0.0.1:" + std::to_string(port_) + "/redlock" + parameters;
}

void mariadb_server::start()
{
    while (started_ == std::time(nullptr))
        std::this_thread::sleep_for(5ms);
    launch();
    started_ = std::time(nullptr);
    for (auto const deadline = std::chrono::steady_clock::now() + 60s; log().find("ready for connections") == std::string::npos;) {
        if (!process_->ended() && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(5ms);
            continue;
        }
        kill();
        throw std::runtime_error("mariadbd did not start on port " + std::to_string(port_) + ":\n" + log());
    }
}

void mariadb_server::start_at(std::uint16_t port)
{
    port_ = port;
    start();
}

void mariadb_server::launch()
{
    auto words = words_for(folder_.path + "/data", {"--port=" + std::to_string(port_), "--bind-address=127.0.0.1", "--socket=" + socket(), "--pid-file=" + folder_.path + "/pid", "--skip-name-resolve", "--init-file=" + folder_.path + "/first"});
    words.insert(words.end(), options_.begin(), options_.end());
    auto const log_file = folder_.path + "/log";
    ::unlink(log_file.c_str());  // what an earlier run said must not be taken for this one's word
    process_.emplace(std::move(words), process_options{.output = log_file});
}

void mariadb_server::kill()
{
    process_.reset();
}

void mariadb_server::pause()
{
    process_->pause();
}

void mariadb_server::resume()
{
    process_->resume();
}

std::string mariadb_server::log() const
{
    return text_of(folder_.path + "/log");
}

}  // namespace redlock::testbed
