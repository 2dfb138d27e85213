// Events as lines of a log: sentences, logfmt and JSON.

#include "support/event_recorder.hpp"
#include "support/manager_test.hpp"

#include <redlock/log.hpp>

#include <map>
#include <regex>
#include <stdexcept>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(event_lines)

namespace {

/// Collects the lines of a log without their time.
struct line_collector {
    std::vector<std::string> lines{};

    log_function writer()
    {
        return [this](log_level, std::string_view line) {
            std::regex const time(R"-((?:"time":|time=)"?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"?,? ?)-");
            lines.push_back(std::regex_replace(std::string(line), time, ""));
        };
    }
};

/// Acquires and releases a lock on @p name.
/// @return the lines that the observer from @p make writes about it
std::string written_by(std::shared_ptr<observer> (*make)(log_function), std::string_view name)
{
    line_collector p;
    lock_world w(3);
    auto const locks = w.connected({.owner = "web 3", .observer = make(p.writer())});
    p.lines.clear();
    auto won = w.acquire(*locks, name, {.ttl = 1s});
    w.run_for(300ms);
    w.release(won.held);
    w.run_for(1ms);
    return in_lines(p.lines);
}

constexpr std::string_view difficult = "a,\"b\"\\\n\xff\xc3\xa9";

}  // namespace

BOOST_AUTO_TEST_CASE(log_sentences_of_a_lock_names_owner_and_durations)
{
    BOOST_TEST(written_by(log_sentences, "stock")
               == in_lines({
                   "acquiring \"stock\" (owner web 3)",
                   "round 1 for \"stock\": 2 of 3 nodes granted it after 0.2 ms: won",
                   "acquired \"stock\" after 0.2 ms, valid for 987.8 ms (owner web 3)",
                   "released \"stock\" after 300.0 ms, 687.8 ms before its end (owner web 3)",
               }));
}

BOOST_AUTO_TEST_CASE(log_logfmt_of_a_lock_writes_a_field_for_each_figure)
{
    BOOST_TEST(
        written_by(log_logfmt, "stock")
        == in_lines({
            R"-(level=debug event=acquisition_begun owner="web 3" acquisition=2 resources=stock any=false resumes=false mode=exclusive ttl_ms=1000.000 ahead=0 wait_ms=0.000 message="acquiring \"stock\" (owner web 3)")-",
            R"-(level=debug event=round_decided acquisition=2 resources=stock round=1 draws_token=false outcome=won took_ms=0.200 granted=2 denied=0 unknown=1 nodes="server-0 granted 0.2,server-1 granted 0.2,server-2 unknown 0" message="round 1 for \"stock\": 2 of 3 nodes granted it after 0.2 ms: won")-",
            R"-(level=debug event=acquired owner="web 3" acquisition=2 lock=2 resources=stock joined=false mode=exclusive took_ms=0.200 waited_ms=0.000 rounds=1 ahead=0 validity_ms=987.800 message="acquired \"stock\" after 0.2 ms, valid for 987.8 ms (owner web 3)")-",
            R"-(level=debug event=released owner="web 3" lock=2 resources=stock held_for_ms=300.000 validity_ms=687.800 message="released \"stock\" after 300.0 ms, 687.8 ms before its end (owner web 3)")-",
        }));
}

BOOST_AUTO_TEST_CASE(log_json_of_a_difficult_name_escapes_it)
{
    auto const text = written_by(log_json, difficult);
    BOOST_TEST(text.find(R"-("resources":["a,\"b\"\\\u000a�é"],)-") != text.npos, text);
    BOOST_TEST(text.find(R"-("message":"acquiring \"a,\"b\"\\??é\" (owner web 3)"})-") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(log_logfmt_of_a_difficult_name_escapes_it)
{
    auto const text = written_by(log_logfmt, difficult);
    BOOST_TEST(text.find(R"-(resources="a\\,\"b\"\\\\\u000a�é" )-") != text.npos, text);
}

BOOST_AUTO_TEST_CASE(log_json_of_a_loss_says_what_the_log_says)
{
    line_collector log, sentences, json;
    lock_world w(3);
    auto const locks = w.connected(
        {.log = log.writer(), .observer = observers({log_sentences(sentences.writer()), log_json(json.writer())})});
    auto const won = w.acquire(*locks, "stock", {.ttl = 1s});
    log.lines.clear();
    w.run_for(2s);

    BOOST_TEST(in_lines(log.lines) == in_lines({"lost \"stock\": its validity is about to end"}));
    BOOST_TEST(sentences.lines.back() == log.lines.back());
    BOOST_TEST(json.lines.back().starts_with(R"-({"level":"warning","event":"lost","owner":")-"), json.lines.back());
    BOOST_TEST(
        json.lines.back().ends_with(
            R"-(","lock":2,"resources":["stock"],"reason":"expired","why":"its validity is about to end","held_for_ms":937.800,"message":"lost \"stock\": its validity is about to end"})-"),
        json.lines.back());
}

BOOST_AUTO_TEST_CASE(log_json_of_a_round_names_each_node)
{
    line_collector json;
    lock_world w(3);
    w[1].reachable = false;
    auto const locks = w.manager({.observer = log_json(json.writer())});
    w.acquire(*locks, "stock");
    w.run_for(1ms);

    std::erase_if(json.lines, [](auto& l) { return l.find("round_decided") == l.npos; });
    BOOST_TEST_REQUIRE(json.lines.size() == 1u);
    BOOST_TEST(
        json.lines[0].find(
            R"-("nodes":[{"node":"server-0","vote":"granted","round_trip_ms":0.200},)-"
            R"-({"node":"server-1","vote":"unknown","round_trip_ms":0.000,"error":"no connection to the node"},)-")
            != std::string::npos,
        json.lines[0]);
}

BOOST_AUTO_TEST_CASE(log_json_of_bytes_that_are_not_utf8_is_utf8)
{
    for (auto const& [name, written] : std::map<std::string, std::string>{{"\xed\xa0\x80", "���"},
                                                                          {"\xe0\x80\x80", "���"},
                                                                          {"\xf0\x80\x80\x80", "����"},
                                                                          {"\xf4\x90\x80\x80", "����"},
                                                                          {"\xc2\x85", "\\u0085"},
                                                                          {"\xc2", "�"},
                                                                          {"\xf0\x9f\x94\x92", "🔒"}}) {
        auto const text = written_by(log_json, name);
        BOOST_TEST(text.find("\"resources\":[\"" + written + "\"]") != text.npos, text);
    }
}

BOOST_AUTO_TEST_CASE(log_sentences_of_texts_with_line_breaks_are_one_line)
{
    line_collector log, sentences;
    lock_world w(3);
    auto const locks =
        w.connected({.owner = "web\n3", .log = log.writer(), .observer = log_sentences(sentences.writer())});
    auto won = w.acquire(*locks, "stock");
    w.release(won.held);
    w.run_for(1ms);

    for (auto const& line : sentences.lines)
        BOOST_TEST(line.find('\n') == line.npos, line);
    BOOST_TEST(sentences.lines.back().ends_with("(owner web?3)"), sentences.lines.back());
}

BOOST_AUTO_TEST_CASE(log_limits_lines_and_the_observer_receives_all)
{
    line_collector log, json;
    lock_world w(3);
    auto const locks = w.connected({.log = log.writer(), .observer = log_json(json.writer())});
    std::vector<lock_world::outcome> held;
    for (int i = 0; i < 120; ++i)
        held.push_back(w.acquire(*locks, "stock " + std::to_string(i), {.ttl = 1s}));
    json.lines.clear();
    w.run_for(2s);

    BOOST_TEST(log.lines.size() == 100u);
    BOOST_TEST(log.lines.back() == "more than 99 lines in a second: the others are left out until it is over");
    BOOST_TEST(json.lines.size() == 120u);
}

BOOST_AUTO_TEST_CASE(observer_receives_log_lines_that_belong_to_no_event)
{
    struct thrower : observer {
        void acquisition_begun(events::acquisition_begun const&) override { throw std::runtime_error("disk\nfull"); }
    };
    line_collector log, json;
    lock_world w(3);
    auto const locks =
        w.manager({.log = log.writer(), .observer = observers({std::make_shared<thrower>(), log_json(json.writer())})});
    w.acquire(*locks, "stock");
    w.run_for(1ms);

    std::string const line = "manager_options::observer has thrown: disk?full. Its later exceptions are not logged";
    BOOST_TEST(in_lines(log.lines) == in_lines({line}));
    std::erase_if(json.lines, [](auto& l) { return l.find("\"log_line\"") == l.npos; });
    BOOST_TEST(in_lines(json.lines)
               == in_lines({R"-({"level":"error","event":"log_line","message":")-" + line + "\"}"}));
}

BOOST_AUTO_TEST_SUITE_END()
