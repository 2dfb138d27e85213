#pragma once

#include "cli/option_parser.hpp"
#include "cli/settings.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/** The command line of one command: its own options and arguments, and the options that all commands have.

    Each of the latter, and --ttl, --wait, --grace and --at-least, may stand in the environment, as REDLOCK_ and its
    name in capitals, or in a file ($REDLOCK_CONFIG, --config). The command line comes first, then the environment, then
    the file.
*/
class command_line : public option_parser {
public:
    /// @param command  "status"
    /// @param about    what it does
    /// @param notes    end the help
    command_line(std::string const& command, std::string about, std::string notes = {});

    /// Names of locks, one at least.
    void add_keys(std::vector<std::string>& into);

    /// The name of one lock.
    void add_key(std::string& into);

    /// --ttl: at most --max-ttl, which the default is cut to.
    void add_ttl(std::chrono::milliseconds& into, std::string const& about);

    /// The nodes of another set than that of `--url`, with commas between them. `--password-file` is for them, too.
    void add_urls(std::string const& option, std::vector<std::string>& into, std::string const& about);

    /// `--output` takes `prometheus`, too.
    void may_print_for_prometheus();

    /// Otherwise it is an error if none is named.
    void may_do_without_nodes();

    /// It asks nobody: neither the environment nor a file counts, and none can be wrong.
    void is_about_ourselves();

    /// The addresses as they were named, in the order of settings::locks.nodes: without what --password-file adds.
    std::vector<std::string> const& named_nodes() const noexcept { return named_; }

    /// @throws early_exit
    settings read(std::vector<std::string> arguments);

private:
    /// An option, and where it stands: "$REDLOCK_TTL".
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

    settings settings_;
    bool needs_nodes_ = true, needs_settings_ = true;
    std::vector<std::string> urls_, urls_in_file_, named_;
    std::vector<std::vector<std::string>*> other_sets_;
    std::string output_ = "table", color_ = "auto", path_, password_file_;
    std::string const* key_ = nullptr;
    std::chrono::milliseconds* ttl_ = nullptr;
    std::string restart_guard_ = "strict";
};

/// Where an option may stand in the environment: REDLOCK_NODE_TIMEOUT for "--node-timeout".
std::string variable_of(std::string_view option);

/// The options that all commands have and that take a value, such as "--prefix": where a command begins behind them
/// must be known.
bool takes_value(std::string const& global_option);

}  // namespace redlock::cli
