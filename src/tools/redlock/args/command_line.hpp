#pragma once

#include "tools/redlock/args/option_parser.hpp"
#include "tools/redlock/args/settings.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/** The command line of one command: its own options and arguments, and the options that every command has.

    Options that every command has, and --ttl, --wait, --grace and --at-least, may also be set in two other places: an
    environment variable (REDLOCK_ and the name in capitals) and a configuration file ($REDLOCK_CONFIG, --config). The
    command line has priority over the environment, and the environment over the file.
*/
class command_line : public option_parser {
public:
    /// @param command  its name, such as "status"
    /// @param about    what the command does
    /// @param notes    the last paragraphs of the help
    command_line(std::string const& command, std::string about, std::string notes = {});

    /// The names of one or more locks.
    void add_keys(std::vector<std::string>& into);

    /// The name of one lock.
    void add_key(std::string& into);

    /// --ttl, at most --max-ttl. The default is reduced to --max-ttl.
    void add_ttl(std::chrono::milliseconds& into, std::string const& about);

    /// An option that names another set of nodes than `--url`, separated by commas. `--password-file` applies to both.
    void add_urls(std::string const& option, std::vector<std::string>& into, std::string const& about);

    /// `--output` also accepts `prometheus`.
    void may_print_for_prometheus();

    /// The command works without nodes. Without this call, @ref read throws if no node is given.
    void may_do_without_nodes();

    /// The command works with a service, too: see @ref settings::services.
    void may_use_services();

    /// The command asks no server. The environment and the configuration file are not read, so they cannot be invalid.
    void is_about_ourselves();

    /// The addresses as the user gave them, in the order of settings::locks.nodes, without the password of
    /// --password-file.
    std::vector<std::string> const& named_nodes() const noexcept { return named_; }

    /// Whether the arguments contain the option. Defaults by a file or the environment do not count.
    bool is_given(std::string const& option) const;

    /// @throws early_exit
    settings read(std::vector<std::string> arguments);

private:
    /// An option, and the place where the user has set it: "$REDLOCK_TTL".
    struct configured {
        std::string text, where;
    };

    std::vector<configured> defaults(std::vector<std::string> const& given);
    std::vector<configured> from_file(std::string const& path);
    void check_values(std::string const& path, std::string const& name, std::vector<std::string> const& values) const;
    void parse(std::vector<configured> const&, std::vector<std::string> given);
    void check_ttl();
    [[noreturn]] void refuse_configuration(std::string const& why) const;
    void choose_nodes();
    void choose_services(std::string const& password);

    settings settings_;
    bool needs_nodes_ = true, needs_settings_ = true, may_use_services_ = false;
    std::vector<std::string> urls_, urls_in_file_, named_;
    std::vector<std::vector<std::string>*> other_sets_;
    std::string output_ = "table", color_ = "auto", path_, password_file_;
    std::map<std::string, std::size_t> defaults_;  ///< how many values each option has by default
    std::string const* key_ = nullptr;
    std::chrono::milliseconds* ttl_ = nullptr;
    std::string restart_guard_ = "strict";
};

/// The environment variable of an option: REDLOCK_NODE_TIMEOUT for "--node-timeout".
std::string variable_of(std::string_view option);

/// Whether an option that every command has takes a value, as "--prefix" does. `redlock` needs this to find the command
/// after such options.
bool takes_value(std::string const& global_option);

}  // namespace redlock::cli
