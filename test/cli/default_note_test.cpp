#include "tools/redlock/locks/acquiring.hpp"
#include "tools/redlock/run/default_note.hpp"
#include "tools/redlock/args/early_exit.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using redlock::cli::default_note;

BOOST_AUTO_TEST_SUITE(default_note_of_run)

namespace {

std::string note_of(std::vector<std::string> const& command) { return default_note(command); }

}  // namespace

BOOST_AUTO_TEST_CASE(default_note_has_the_words_of_the_command)
{
    BOOST_TEST(note_of({"/usr/local/bin/report", "--for", "last month"}) == "/usr/local/bin/report --for last month");
    BOOST_TEST(note_of({"\n  cd /data\n\tmake  all\n"}) == "cd /data make all");
    BOOST_TEST(note_of({"", " "}) == "");
}

BOOST_AUTO_TEST_CASE(default_note_ends_after_60_characters)
{
    BOOST_TEST(note_of({std::string(59, 'a'), "b"}) == std::string(59, 'a') + ' ');
    std::string wide;
    for (int i = 0; i < 70; ++i)
        wide += "\xf0\x9f\x94\x92";
    BOOST_TEST(note_of({wide}) == wide.substr(0, 200));
    BOOST_TEST(note_of({std::string(58, 'a') + "\xc3\xa9\xc3\xa9\xc3\xa9"})
               == std::string(58, 'a') + "\xc3\xa9\xc3\xa9");
}

BOOST_AUTO_TEST_CASE(default_note_leaves_out_urls_with_passwords)
{
    BOOST_TEST(note_of({"curl", "https://app:secret@host/x", "https://host/y"}) == "curl … https://host/y");
    BOOST_TEST(note_of({"psql --url=postgresql://app:secret@db/x; true"}) == "psql … true");
}

BOOST_AUTO_TEST_CASE(default_note_of_any_bytes_is_never_refused)
{
    redlock::cli::command_line const line("run", "");
    for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
            std::string const two{static_cast<char>(a), static_cast<char>(b)};
            for (auto const& word : {two, std::string(59, 'x') + two, two + "\xbf\xbf"}) {
                redlock::cli::how_to_acquire const how{.note = note_of({word, word})};
                try {
                    how.check(line, redlock::manager_options());
                } catch (redlock::cli::early_exit const& e) {
                    BOOST_ERROR("the bytes " << a << ' ' << b << ": " << e.what());
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
