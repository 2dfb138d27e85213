#include "tools/redlock/args/command_line.hpp"

#include "tools/redlock/args/description.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/nearest.hpp"
#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/server_place.hpp"
#include "tools/redlock/args/stores.hpp"
#include "tools/redlock/args/text_file.hpp"
#include "core/key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;

// Options of some commands that may also be set in the environment and in the file.
constexpr std::array<std::string_view, 5> shared_options{"--ttl", "--wait", "--grace", "--at-least", "--output"};

// The option of that name, if every command has it; otherwise null.
CLI::Option const* global_option(CLI::App const& app, std::string const& name)
{
    auto const* const o = app.get_option_no_throw(name);
    return o && o->get_group() == global_group ? o : nullptr;
}

void add_output(CLI::App& app, std::string& into, std::vector<std::string> const& formats, std::string const& about)
{
    CLI::Validator const is_known = CLI::IsMember(formats);
    CLI::Validator const check(
        [is_known](std::string& format) {
            auto const why = is_known(format);
            return why.empty() || format != "prometheus" ? why : why + "; redlock doctor has it";
        },
        is_known.get_description());
    app.add_option("--output,-o", into, about)->type_name("FORMAT")->check(check);
}

format format_of(std::string_view name)
{
    return name == "json"         ? format::json
           : name == "jsonl"      ? format::jsonl
           : name == "prometheus" ? format::prometheus
                                  : format::table;
}

bool takes_value(CLI::Option const& o) { return o.get_items_expected_max() > 0; }

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// The beginning of a name in a file. Without '=', the rest of the line may be a password.
std::string beginning_of(std::string_view name)
{
    auto const end = name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return std::string(name.substr(0, end)) + (end == name.npos ? "" : "…");
}

bool is_yes(std::string_view text)
{
    return !text.empty() && text != "0" && text != "false" && text != "no" && text != "off";
}

// The first line of a file, without the end of the line (LF or CR LF).
std::string first_line_of(std::string const& path)
{
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line))
        throw std::runtime_error(path + " cannot be read, or is empty");
    if (line.ends_with('\r'))
        line.pop_back();
    line = without_byte_order_mark(line);
    if (line.empty())
        throw std::runtime_error("the first line of " + path + " is empty");
    return line;
}

// Passwords change while a command runs, so each new connection reads the file again. A pipe can be read only once.
credentials_function latest_in(std::string const& file, std::string const& at_start)
{
    std::error_code not_there;
    if (!std::filesystem::is_regular_file(file, not_there))
        return {};
    auto const latest = std::make_shared<std::string>(at_start);
    return [file, at_start, latest](credentials_request const& to) {
        auto with = to.in_address;
        if (to.is_sentinel || with.password != at_start)
            return with;
        try {
            if (std::error_code ec; std::filesystem::is_regular_file(file, ec))  // a pipe would block
                *latest = first_line_of(file);
        } catch (std::runtime_error const&) {  // it is being replaced
        }
        with.password = *latest;
        return with;
    };
}

}  // namespace

std::string variable_of(std::string_view option)
{
    if (option == "--url")
        return "REDLOCK_URLS";  // plural: the variable may contain several
    std::string name = "REDLOCK_";
    for (char const c : option.substr(2))
        name += c == '-' ? '_' : static_cast<char>(c - ('a' <= c && c <= 'z' ? 'a' - 'A' : 0));
    return name;
}

bool takes_value(std::string const& option)
{
    command_line const any("", "");
    auto const* const o = global_option(any, option);
    return o && takes_value(*o);
}

command_line::command_line(std::string const& command, std::string about, std::string notes)
    : option_parser("redlock " + command, std::move(about), std::move(notes))
{
    auto& c = settings_.locks;
    require_units();
    option_defaults()->group(global_group);
    add_option("--url,-u", urls_,
               "a lock server, once for each: redis://[user:password@]host[:port], rediss:// with TLS, and others; or "
               "an instance of \"redlock serve\": http://[:token@]host[:port], https://, or unix:path. "
               "$REDLOCK_URLS takes "
               "several, with commas between them. All users of a machine can read the arguments of a process, so put "
               "passwords into the "
               "environment or a file")
        ->type_name("URL")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    add_text("--password-file", "FILE", password_file_,
             "a file; its first line is the password of all nodes whose URL has none");
    add_text("--prefix", "TEXT", c.prefix, "the key of a lock on the servers is this and its name (lock:)");
    add_text("--owner", "TEXT", c.owner, "the label by which others see the holder of a lock (host:pid)");
    add_duration("--node-timeout", c.node_timeout, 1ms, 60s, "how long to wait for the vote of one node");
    add_duration("--connect-timeout", c.connect_timeout, 1ms, 60s, "how long connecting may take");
    add_duration("--max-ttl", c.max_ttl, 20ms, 24h, "the longest ttl of any client; the same for all clients");
    add_option("--restart-guard", restart_guard_,
               "whether a restarted node votes that may have forgotten locks: strict, not before it is --max-ttl old, "
               "unless it has a durable "
               "log; automatic, also if all nodes are as young; off, always (strict)")
        ->type_name("RULE")
        ->check(CLI::IsMember({"strict", "automatic", "off"}));
    add_number("--drift-factor", c.drift_factor, 0, 0.5,
               "how far clocks may drift apart, as a share of the time that passes; the same for all clients");
    add_text("--ca-file", "FILE", c.tls.ca_file, "certificate authorities, PEM; without it, those of the system");
    add_text("--certificate-file", "FILE", c.tls.certificate_file, "client certificate, PEM");
    add_text("--private-key-file", "FILE", c.tls.private_key_file, "key of the client certificate, PEM");
    add_text("--config", "FILE", path_, "a file with these options, one in a line: prefix = jobs:");
    add_output(*this, output_, {"table", "json", "jsonl"},
               "table, json (one document), or jsonl (one document a line)");
    add_option("--color", color_, "auto, always or never; $NO_COLOR means never")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    add_flag("--verbose,-v", settings_.verbose, "print what is done, and the log of the library");
    add_flag("--quiet,-q", settings_.quiet, "print no messages; the exit status tells of errors");
    option_defaults()->group("Options");
    if (command != common_options)
        list_elsewhere(global_group, "Options of all commands, such as -u, --url URL:\n  redlock help options");
}

void command_line::add_keys(std::vector<std::string>& into)
{
    add_option("KEY", into, "the name of a lock; all of them are held, or none")
        ->required()
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void command_line::add_ttl(std::chrono::milliseconds& into, std::string const& about)
{
    ttl_ = &into;
    add_duration("--ttl,-t", into, 20ms, 24h, about + "; also $REDLOCK_TTL", "20ms to --max-ttl");
}

void command_line::add_urls(std::string const& option, std::vector<std::string>& into, std::string const& about)
{
    add_list(option, "URL", into, about);
    other_sets_.push_back(&into);
}

void command_line::may_print_for_prometheus()
{
    remove_option(get_option("--output"));
    add_output(*this, output_, {"table", "json", "jsonl", "prometheus"},
               "table, json (one document), jsonl (one document a line), or prometheus (for a file of node_exporter)");
}

void command_line::may_do_without_nodes() { needs_nodes_ = false; }

void command_line::may_use_services() { may_use_services_ = true; }

void command_line::is_about_ourselves() { needs_settings_ = false; }

void command_line::add_key(std::string& into)
{
    key_ = &into;
    add_option("KEY", into, "the name of a lock")->required();
}

settings command_line::read(std::vector<std::string> arguments)
{
    if (arguments == std::vector<std::string>{describe_option}) {
        set_help_flag("--help,-h", "the options");
        throw cli::description(*this);
    }
    auto const configured_options = needs_settings_ ? defaults(arguments) : std::vector<configured>();
    parse(configured_options, std::move(arguments));
    if (key_ && (key_->empty() || key_->size() > core::name_max))
        refuse(fmt::format("a lock's name has 1 to {} bytes", core::name_max));
    if (key_ && !core::mark_in(settings_.locks.prefix + *key_).empty())
        refuse(fmt::format("no lock's name holds \"{}\", which marks other keys",
                           core::mark_in(settings_.locks.prefix + *key_)));
    settings_.output = format_of(output_);
    settings_.color = color_ == "always" ? when::always : color_ == "never" ? when::never : when::automatically;
    settings_.locks.restart_guard = restart_guard_ == "strict"      ? restart_guard::strict
                                    : restart_guard_ == "automatic" ? restart_guard::automatic
                                                                    : restart_guard::off;
    if (needs_settings_)
        choose_nodes();
    check_ttl();
    settings_.locks.stores = known_stores();
    if (settings_.verbose)
        settings_.locks.log = [](log_level level, std::string_view line) {
            if (level != log_level::debug)
                say(fmt::format("redlock {}: {}", to_string(level), line));
        };
    return settings_;
}

// Puts the defaults before the given arguments. If an option is given twice, the last value counts.
void command_line::parse(std::vector<configured> const& defaults, std::vector<std::string> given)
{
    std::vector<std::string> all;
    for (auto const& d : defaults) {
        all.push_back(d.text);
        ++defaults_[d.text.substr(0, d.text.find('='))];
    }
    std::ranges::move(given, std::back_inserter(all));
    try {
        option_parser::read(std::move(all));
    } catch (early_exit const& e) {
        std::string const why = e.what();
        for (auto const& d : defaults) {
            auto const end = d.text.find('=');
            if (end == d.text.npos)
                continue;
            auto const option = d.text.substr(0, end), value = d.text.substr(end + 1);
            bool const is_named = has(why, fmt::format("{} is \"{}\"", option, value));
            if (is_named || has(why, fmt::format("{}: {} not in ", option, value)))
                throw early_exit(wrong_configuration, fmt::format("{} (it is set in {})", why, d.where));
        }
        throw;
    }
}

bool command_line::is_given(std::string const& option) const
{
    auto const* const o = get_option_no_throw(option);
    auto const known = defaults_.find(option);
    return o && o->count() > (known == defaults_.end() ? 0 : known->second);
}

void command_line::check_ttl()
{
    auto const longest = settings_.locks.max_ttl;
    if (ttl_ && count("--ttl") == 0)
        *ttl_ = std::min(*ttl_, longest);
    if (ttl_ && *ttl_ > longest && settings_.services.empty())
        refuse(fmt::format("--ttl is {}, but must be at most --max-ttl, {}. A restarted node does not vote for as long "
                           "as --max-ttl, so all "
                           "clients must have the same: raise it for all of them, or take a shorter --ttl and renew",
                           in_words(*ttl_), in_words(longest)));
}

std::vector<command_line::configured> command_line::defaults(std::vector<std::string> const& given)
{
    auto path = in_environment("REDLOCK_CONFIG");
    for (auto const& argument : given) {
        if (argument == "--config" && &argument != &given.back())
            path = *(&argument + 1);
        else if (argument.starts_with("--config="))
            path = argument.substr(argument.find('=') + 1);
    }
    auto all = path.empty() ? std::vector<configured>() : from_file(path);
    auto const add = [&](std::string_view option, bool has_value) {
        auto const variable = variable_of(option);
        auto const text = in_environment(variable.c_str());
        if (!text.empty() && (has_value || is_yes(text)))
            all.push_back({has_value ? fmt::format("{}={}", option, text) : std::string(option), '$' + variable});
    };
    for (auto const* o : get_options([](CLI::Option const* each) { return each->get_group() == global_group; })) {
        auto const name = "--" + o->get_lnames().front();
        if (name != "--url" && name != "--config")
            add(name, takes_value(*o));
    }
    for (auto const name : shared_options) {
        auto const* const o = get_option_no_throw(std::string(name));
        if (o && o->get_group() != global_group)
            add(name, true);
    }
    return all;
}

std::vector<command_line::configured> command_line::from_file(std::string const& path)
{
    std::ifstream file(path);
    file.peek();
    if (file.bad() || !file.is_open())  // bad: it is a folder
        refuse_configuration(fmt::format("{} cannot be read", path));
    std::vector<configured> all;
    try {
        std::string const text(std::istreambuf_iterator<char>(file), {});
        std::istringstream lines{std::string(without_byte_order_mark(text))};
        for (auto const& item : CLI::ConfigINI().from_config(lines)) {
            auto const option = "--" + item.name;
            auto const* const known = option == "--config" ? nullptr : global_option(*this, option);
            bool const is_shared = std::ranges::find(shared_options, option) != shared_options.end();
            if (!item.parents.empty())
                refuse_configuration(
                    fmt::format("{}: sections such as [{}] are not known", path, beginning_of(item.parents.front())));
            if (!known && !is_shared)
                refuse_configuration(fmt::format("{}: \"{}\" cannot be set in a file{}", path, beginning_of(item.name),
                                                 did_you_mean(option, names_of_options())));
            check_values(path, item.name, item.inputs);
            if (is_shared && !get_option_no_throw(option))
                continue;  // an option of other commands
            if (option == "--url") {
                urls_in_file_.insert(urls_in_file_.end(), item.inputs.begin(), item.inputs.end());
                continue;
            }
            for (auto const& value : item.inputs) {
                if (is_shared || takes_value(*known))
                    all.push_back({fmt::format("{}={}", option, value), path});
                else if (is_yes(value))
                    all.push_back({option, path});
            }
        }
    } catch (CLI::Error const& e) {
        refuse_configuration(fmt::format("{}: {}", path, without_urls(e.what())));
    }
    return all;
}

// CLI11 splits values at blanks, so a comment after a value would become a part of the value.
void command_line::check_values(std::string const& path, std::string const& name,
                                std::vector<std::string> const& values) const
{
    for (auto const& value : values) {
        if (value.empty())
            refuse_configuration(
                fmt::format("{}: {} has an empty value: write one, or leave the line out", path, name));
        if (std::string_view("\"'").find(value.front()) != std::string_view::npos
            || std::string_view("\"'").find(value.back()) != std::string_view::npos)
            refuse_configuration(
                fmt::format("{}: {} has the value {}, with a quote too many or too few: write one at each end, or none",
                            path, name, without_urls(value)));
    }
    bool const is_list = name == "url";
    bool const has_comment = std::ranges::any_of(values, [](auto const& v) { return v.starts_with('#'); });
    if (has_comment || (!is_list && values.size() > 1))
        refuse_configuration(
            fmt::format("{}: {} has several values. Write a value with blanks in quotes, and a comment on a line "
                        "of its own",
                        path, name));
}

void command_line::choose_nodes()
{
    auto& nodes = settings_.locks.nodes;
    try {
        nodes = urls_;
        if (nodes.empty())
            nodes = split_urls(in_environment("REDLOCK_URLS"));
        if (nodes.empty())
            nodes = urls_in_file_;
        named_ = nodes;
        if (nodes.empty() && needs_nodes_)
            refuse_configuration("no lock server is named: -u redis://HOST, or $REDLOCK_URLS, or \"url = "
                                 "redis://HOST\" in a file that $REDLOCK_CONFIG names");
        auto const password = password_file_.empty() ? std::string() : first_line_of(password_file_);
        if (std::ranges::any_of(nodes, service_url::is_one))
            return choose_services(password);
        if (password_file_.empty())
            return;
        for (auto& url : nodes)
            url = with_password(url, password);
        settings_.locks.credentials = latest_in(password_file_, password);
        for (auto* const set : other_sets_) {
            for (auto& url : *set)
                url = with_password(url, password);
        }
    } catch (std::invalid_argument const& e) {
        refuse_configuration(e.what());
    } catch (std::runtime_error const& e) {
        if (dynamic_cast<early_exit const*>(&e))
            throw;
        refuse_configuration(e.what());
    }
}

// @throws std::invalid_argument if an address is wrong
void command_line::choose_services(std::string const& password)
{
    auto& c = settings_.locks;
    auto const is_service = [](auto const& url) { return service_url::is_one(url); };
    auto const node = std::ranges::find_if_not(c.nodes, is_service);
    auto const service = service_url::read(*std::ranges::find_if(c.nodes, is_service)).name();
    if (!may_use_services_)
        refuse_configuration(
            fmt::format("{} is a service, and only run, hold, status, list and break use one. Name the lock servers "
                        "themselves: -u redis://HOST",
                        service));
    if (node != c.nodes.end())
        refuse_configuration(fmt::format(
            "{} is a service, and {} is a lock server: name instances of one service only, or lock servers only",
            service, without_password(*node)));
    if (count("--prefix") > 0)
        refuse_configuration(
            fmt::format("--prefix is \"{}\", but {} is a service, which has its own: leave it out", c.prefix, service));
    for (auto const& url : c.nodes) {
        settings_.services.push_back(service_url::read(url));
        auto& token = settings_.services.back().token;
        token = token.empty() ? password : token;
    }
    c.nodes.clear();
    c.prefix.clear();  // commands show the names that the service knows
}

void command_line::refuse_configuration(std::string const& why) const
{
    throw early_exit(wrong_configuration, get_name() + ": " + why);
}

}  // namespace redlock::cli
