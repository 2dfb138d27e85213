// The help, version, completions and manual pages of redlock.

#include "cli/view/tool.hpp"

#include <redlock/version.hpp>

#include <boost/json/value.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(help_and_manual)

namespace {

// Runs the tool without servers.
tool_run say(std::vector<std::string> const& arguments, std::string const& redirections = "")
{
    return tool(0).run(arguments, {}, redirections);
}

std::vector<std::string> words_of(std::string const& text)
{
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

// The commands that the help lists.
std::vector<std::string> commands()
{
    std::vector<std::string> all;
    std::istringstream help(say({"--help"}).out);
    for (std::string line; std::getline(help, line);) {
        if (line.starts_with("  ") && line[2] != ' ')
            all.push_back(words_of(line).front());
    }
    return all;
}

std::string kept(redlock::testbed::temporary_folder const& folder, std::string const& name, std::string const& text)
{
    std::ofstream(folder.path + "/" + name) << text;
    return folder.path + "/" + name;
}

// Runs a program of the system. @param said  its output @return its exit status
int run_program(std::vector<std::string> const& words, std::string& said)
{
    redlock::testbed::process p(words, {.piped = true});
    said = p.read();
    return p.wait().code();
}

bool is_installed(std::string const& program)
{
    std::string said;
    return run_program({"/bin/sh", "-c", "command -v " + program}, said) == 0;
}

// The completions that bash offers for the last word.
std::vector<std::string> completed(std::string const& script, std::vector<std::string> const& words)
{
    std::string line = "source " + script + "; COMP_WORDS=(";
    for (auto const& word : words)
        line += "'" + word + "' ";
    line += "); COMP_CWORD=" + std::to_string(words.size() - 1) + "; _redlock; printf '%s\\n' \"${COMPREPLY[@]}\"";
    std::string said;
    BOOST_TEST(run_program({"/bin/bash", "--norc", "-c", line}, said) == 0);
    return words_of(said);
}

}  // namespace

BOOST_AUTO_TEST_CASE(help_lists_all_commands_and_each_command_has_help)
{
    auto const all = commands();
    BOOST_TEST(all.size() >= 8u);
    for (auto const& command : all) {
        if (command == "demo" || command == "bench")
            continue;
        must_show(say({command, "--help"}), 0, "usage: redlock " + command, "--url");
    }
    BOOST_TEST(std::ranges::count(all, "man") == 0, "the pages are for man(1)");
}

BOOST_AUTO_TEST_CASE(help_of_a_command_is_its_option_help)
{
    auto const one = say({"help", "run"}), other = say({"run", "--help"});
    BOOST_TEST(one.status == 0);
    BOOST_TEST(one.out == other.out);
    must_show(say({"help", "options"}), 0, "-u, --url URL", "--password-file FILE");
    BOOST_TEST(one.out.find("--password-file") == std::string::npos);
    BOOST_TEST(one.out.find("redlock help options") != std::string::npos);
    for (auto const& words :
         {std::vector<std::string>{"help"}, {"help", "options"}, {"run", "--help"}, {"serve", "--help"}}) {
        std::istringstream lines(say(words).out);
        for (std::string line; std::getline(lines, line);)
            BOOST_TEST(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }) <= 80, line);
    }
    must_say(say({"help", "rum"}), 64, "there is no command \"rum\"; did you mean \"run\"?");
}

BOOST_AUTO_TEST_CASE(unknown_words_lead_to_those_that_were_meant)
{
    must_say(say({"rum", "x"}), 64, "there is no command \"rum\"; did you mean \"run\"?; redlock --help");
    must_say(say({"staus", "x"}), 64, "did you mean \"status\"?");
    must_say(say({"status", "x", "--prefxi", "y"}), 64, "there is no option \"--prefxi\"; did you mean \"--prefix\"?");
    must_say(say({"status", "x", "--prefx=y"}), 64, "did you mean \"--prefix\"?");
    must_say(say({"run", "--timeout", "5s", "x", "true"}), 64,
             "there is no option \"--timeout\"; did you mean \"--wait\"?");
    auto const far = say({"status", "x", "--quorum"});
    must_say(far, 64, "there is no option \"--quorum\"; --help lists them");
    redlock::testbed::temporary_folder const folder;
    std::ofstream(folder.path + "/settings") << "\xef\xbb\xbfurls = redis://10.0.0.1\n";
    for (auto const* const line :
         {"url redis://:S3cretPw@h", "url: redis://:S3cretPw@h:1", "password: S3cretPw", "[a:S3cretPw@h]"}) {
        auto const file = kept(folder, "mistyped", line);
        auto const told = say({"status", "x", "--config", file});
        BOOST_TEST(told.status == 78, line);
        BOOST_TEST(told.err.find("S3cretPw") == std::string::npos, told.err);
    }
    auto const mistyped = say({"run", "--password=S3cretPw", "x", "true"});
    BOOST_TEST(mistyped.err.find("S3cretPw") == std::string::npos, mistyped.err);
    must_say(say({"status", "x", "--config", folder.path + "/settings"}), 78,
             "\"urls\" cannot be set in a file; did you mean \"--url\"?");
}

BOOST_AUTO_TEST_CASE(version_needs_no_server)
{
    auto const line = std::string("redlock ") + REDLOCK_VERSION_STRING + "\n";

    BOOST_TEST(say({"version"}).out == line);
    BOOST_TEST(say({"--version"}).out == line);
    BOOST_TEST(say({"version", "-v"}).out.starts_with(line));
    BOOST_TEST(say({"version", "-o", "json"}).json().at("version") == REDLOCK_VERSION_STRING);
    BOOST_TEST(say({"version", "more"}).status == 64);
}

BOOST_AUTO_TEST_CASE(completion_for_bash_offers_commands_options_and_choices)
{
    redlock::testbed::temporary_folder const folder;
    auto const o = say({"completion", "bash"});
    auto const script = kept(folder, "redlock.bash", o.out);
    std::string said;

    BOOST_TEST(o.status == 0);
    BOOST_TEST(run_program({"/bin/bash", "-n", script}, said) == 0);
    BOOST_TEST(completed(script, {"redlock", ""}) == commands(), boost::test_tools::per_element());
    BOOST_TEST(completed(script, {"redlock", "-o", "json", "stat"}) == std::vector<std::string>{"status"},
               boost::test_tools::per_element());
    BOOST_TEST(completed(script, {"redlock", "status", "--tok"}) == std::vector<std::string>{"--tokens"},
               boost::test_tools::per_element());
    BOOST_TEST(completed(script, {"redlock", "hold", "--tok"}).empty());
    BOOST_TEST(completed(script, {"redlock", "break", "--forc"}) == std::vector<std::string>{"--force"},
               boost::test_tools::per_element());
    for (auto const& words : {std::vector<std::string>{"redlock", "list", "--output", "js"},
                              {"redlock", "-o", "js"},
                              {"redlock", "list", "--output", "=", "js"}})
        BOOST_TEST(completed(script, words) == (std::vector<std::string>{"json", "jsonl"}),
                   boost::test_tools::per_element());
    BOOST_TEST(completed(script, {"redlock", "doctor", "-o", "p"}) == std::vector<std::string>{"prometheus"},
               boost::test_tools::per_element());
    BOOST_TEST(completed(script, {"redlock", "status", "-o", "p"}).empty());
    BOOST_TEST(completed(script, {"redlock", "completion", ""}) == (std::vector<std::string>{"bash", "zsh", "fish"}),
               boost::test_tools::per_element());
    BOOST_TEST(completed(script, {"redlock", "list", "--owner", ""}).empty());
    BOOST_TEST(completed(script, {"redlock", "list", "--config", script.substr(0, script.size() - 3)})
                   == std::vector<std::string>{script},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(completion_of_run_offers_programs_after_the_key)
{
    redlock::testbed::temporary_folder const folder;
    auto const script = kept(folder, "redlock.bash", say({"completion", "bash"}).out);
    auto const offers = [&](std::vector<std::string> const& words) {
        return std::ranges::count(completed(script, words), "redis-server") > 0;
    };

    for (auto const& before : {std::vector<std::string>{"key", "--"},
                               {"key"},
                               {"-t", "5s", "key"},
                               {"-k", "a", "-k", "b"},
                               {"-n", "key", "--"}}) {
        auto words = before;
        words.insert(words.begin(), {"redlock", "-o", "json", "run"});
        words.emplace_back("redis-ser");
        BOOST_TEST(offers(words));
    }
    BOOST_TEST(!offers({"redlock", "run", "redis-ser"}));
    BOOST_TEST(!offers({"redlock", "run", "-t", "redis-ser"}));
    BOOST_TEST(completed(script, {"redlock", "run", "key", "--on-l"}) == std::vector<std::string>{"--on-lost"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(completion_for_zsh_and_fish_is_valid_in_the_shell)
{
    redlock::testbed::temporary_folder const folder;
    for (std::string const shell : {"zsh", "fish"}) {
        auto const o = say({"completion", shell});
        BOOST_TEST(o.status == 0);
        for (auto const& command : commands())
            BOOST_TEST(has(o.out, command), shell << " is not told of " << command);
        BOOST_TEST(has(o.out, "tokens"));
        std::string said;
        if (is_installed(shell))
            BOOST_TEST(run_program({"/usr/bin/env", shell, "-n", kept(folder, shell, o.out)}, said) == 0);
        else
            BOOST_TEST_MESSAGE("there is no " << shell << " here");
    }
    BOOST_TEST(say({"completion", "tcsh"}).status == 64);
    BOOST_TEST(say({"completion"}).status == 64);
}

BOOST_AUTO_TEST_CASE(man_has_a_valid_page_for_each_command)
{
    redlock::testbed::temporary_folder const folder;
    auto const pages = words_of(say({"man", "--list"}).out);
    BOOST_TEST(pages.size() == commands().size() + 1);
    BOOST_TEST(say({"man", "nonsense"}).status == 64);
    for (auto const& page : pages) {
        auto const o = page == "redlock" ? say({"man"})
                                         : say({"man", page.substr(std::string_view("redlock-").size())});
        BOOST_TEST(o.status == 0);
        BOOST_TEST(o.out.starts_with(".TH "));
        auto const path = kept(folder, page + ".1", o.out);
        std::string said;
        if (is_installed("groff")) {
            BOOST_TEST(run_program({"/bin/sh", "-c", "groff -man -Tutf8 -ww -z " + path + " 2>&1"}, said) == 0);
            BOOST_TEST(said == "", page << ": " << said);
        }
        if (is_installed("mandoc")) {
            BOOST_TEST(
                run_program({"/bin/sh", "-c", "mandoc -Tlint -Wwarning " + path + " | grep -v 'missing date'"}, said)
                == 1);
            BOOST_TEST(said == "", page << ": " << said);
        }
    }
}

BOOST_AUTO_TEST_CASE(man_has_the_options_and_statuses_of_the_help)
{
    auto const page = say({"man", "status"}).out;
    auto const all = say({"man"}).out;

    BOOST_TEST(has(page, "redlock-status \\- show who holds a lock"), page);
    BOOST_TEST(has(page, "\\fB\\-\\-tokens\\fR"), page);
    BOOST_TEST(has(page, ".SH EXIT STATUS\n0 the lock is held"), page);
    BOOST_TEST(has(all, "\\fB\\-\\-url\\fR, \\fB\\-u\\fR \\fIURL\\fR"), all);
    BOOST_TEST(has(all, "REDLOCK_NODE_TIMEOUT"), all);
    for (auto const& command : commands())
        BOOST_TEST(has(all, "redlock\\-" + command), command);
}

BOOST_AUTO_TEST_CASE(version_completion_and_man_with_invalid_settings_succeed)
{
    for (std::vector<std::string> const& words :
         {std::vector<std::string>{"version"}, {"completion", "zsh"}, {"man"}, {"man", "run"}}) {
        auto const o =
            tool(0).run(words, {"REDLOCK_CONFIG=/dev/null/none", "REDLOCK_NODE_TIMEOUT=soon", "REDLOCK_URLS=nowhere"});
        BOOST_TEST(o.status == 0, o.err);
        BOOST_TEST(!o.out.empty());
    }
}

BOOST_AUTO_TEST_CASE(demo_that_is_not_installed_ends_with_127)
{
    redlock::testbed::temporary_folder const folder;
    auto const alone = folder.path + "/redlock";
    std::string said;
    BOOST_TEST_REQUIRE(run_program({"/bin/cp", REDLOCK_TOOL, alone}, said) == 0);

    BOOST_TEST(run_program({"/bin/sh", "-c", alone + " demo 2>&1"}, said) == 127);
    BOOST_TEST(has(said, folder.path + "/redlock_demo cannot be run: No such file"), said);

    kept(folder, "redlock_bench", "#!/bin/sh\necho \"$0 $*\"\nexit 5\n");
    BOOST_TEST(run_program({"/bin/sh", "-c", alone + " bench 2>&1"}, said) == 126);
    run_program({"/bin/chmod", "+x", folder.path + "/redlock_bench"}, said);
    BOOST_TEST(run_program({alone, "bench", "lock", "--seconds", "1"}, said) == 5);
    BOOST_TEST(said == folder.path + "/redlock_bench lock --seconds 1\n");
}

BOOST_AUTO_TEST_CASE(command_line_with_a_misplaced_url_does_not_repeat_it)
{
    std::string const address = "redis://:s3cret@127.0.0.1";
    for (auto const& words : {std::vector<std::string>{address, "status", "x"},
                              {"--urls", address, "status", "x"},
                              {"man", address},
                              {"doctor", "-u", "redis://a", "--skip", address}}) {
        auto const o = say(words);
        BOOST_TEST(o.status == 64);
        BOOST_TEST(!has(o.out + o.err, "s3cret"), o.err);
    }
}

BOOST_AUTO_TEST_CASE(describe_is_refused_as_an_option)
{
    must_say(say({"status", "--describe"}), 64, "there is no option \"--describe\"");
}

BOOST_AUTO_TEST_SUITE_END()
