#include "bed/mariadb_server.hpp"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace {

using namespace std::chrono_literals;
namespace files = std::filesystem;

constexpr auto tables = "/usr/share/mysql/";  // the SQL files of the system tables

// A server that starts deletes temporary tables of others in its --tmpdir, so each has its own.
std::vector<std::string> words_for(std::string const& data, std::vector<std::string> const& options)
{
    std::vector<std::string> words{mariadb_program(),
                                   "--no-defaults",
                                   "--datadir=" + data,
                                   "--tmpdir=" + files::path(data).parent_path().string(),
                                   "--loose-innodb-log-file-size=8M",
                                   "--innodb-buffer-pool-size=32M",
                                   "--loose-mysqlx=OFF"};
    if (::geteuid() == 0)
        words.push_back("--user=root");
    words.insert(words.end(), options.begin(), options.end());
    return words;
}

// mariadb-install-db would do this, but it needs packages that the server does not need.
void make_mariadb(std::string const& folder, std::string const& data)
{
    std::ofstream(folder + "/begin") << "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n"
                                     << text_of(tables + std::string("mysql_system_tables.sql"))
                                     << text_of(tables + std::string("mysql_performance_tables.sql"))
                                     << text_of(tables + std::string("mysql_system_tables_data.sql"));
    auto words = words_for(data, {"--bootstrap", "--innodb-flush-log-at-trx-commit=0"});
    words.insert(words.begin(), {"sh", "-c", "file=$0; exec \"$@\" <\"$file\"", folder + "/begin"});
    run_program(std::move(words), folder + "/log");
}

void make_mysql(std::string const& folder, std::string const& data)
{
    run_program(words_for(data, {"--initialize-insecure"}), folder + "/log");
    files::remove(data + "/auto.cnf");  // the identity of the server: copies need their own
}

bool is_mysql()
{
    process p({mariadb_program(), "--version"}, {.piped = true});
    return p.read().find("MariaDB") == std::string::npos;
}

// Initialising takes long, so it is done once; each server gets a copy.
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

constexpr auto first_users =
    "CREATE USER IF NOT EXISTS redlock@'127.0.0.1';\nCREATE USER IF NOT EXISTS redlock@localhost;\n"
    "GRANT ALL ON *.* TO redlock@'127.0.0.1' WITH GRANT OPTION;\nGRANT ALL ON *.* TO redlock@localhost WITH GRANT "
    "OPTION;\n"
    "CREATE DATABASE IF NOT EXISTS redlock;\n";

}  // namespace

std::string mariadb_program()
{
    if (auto named = named_by("REDLOCK_MARIADB"); !named.empty())
        return named;
    bool const there = files::exists("/usr/sbin/mariadbd")
                       && files::exists(tables + std::string("mysql_system_tables.sql"));
    return there ? "/usr/sbin/mariadbd" : "";
}

mariadb_server::mariadb_server(std::vector<std::string> options)
    : server_process("mariadbd", {"ready for connections"}), options_(std::move(options))
{
    if (mariadb_program().empty())
        throw std::runtime_error("there is no MariaDB server here (Debian's package mariadb-server-core); "
                                 "$REDLOCK_MARIADB may name the program");
    files::copy(fresh_tables(), folder(), files::copy_options::recursive);
    std::ofstream(path() + "/first") << first_users;
    start_on_free_ports();
}

std::string mariadb_server::url(std::string const& parameters) const
{
    return "mysql://redlock@127.0.0.1:" + std::to_string(port()) + "/redlock" + parameters;
}

void mariadb_server::start_at(std::uint16_t port)
{
    set_port(port);
    start();
}

std::vector<std::string> mariadb_server::words()
{
    while (started_ == std::time(nullptr))
        std::this_thread::sleep_for(5ms);
    started_ = std::time(nullptr);
    auto all = words_for(folder(),
                         {"--port=" + std::to_string(port()), "--bind-address=127.0.0.1", "--socket=" + socket(),
                          "--pid-file=" + path() + "/pid", "--skip-name-resolve", "--init-file=" + path() + "/first"});
    all.insert(all.end(), options_.begin(), options_.end());
    return all;
}

}  // namespace redlock::testbed
