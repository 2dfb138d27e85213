// Tests of the observer that makes OpenTelemetry spans, in virtual time.

#include <redlock/opentelemetry.hpp>

#include "support/during_faults.hpp"
#include "support/manager_test.hpp"

#include <boost/algorithm/string/replace.hpp>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/nostd/variant.h>
#include <opentelemetry/sdk/trace/processor.h>
#include <opentelemetry/sdk/trace/span_data.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>

#include <cstdint>

using namespace redlock;
using namespace redlock::test;
namespace otel = opentelemetry;
using otel::trace::StatusCode;

BOOST_AUTO_TEST_SUITE(open_telemetry_spans)

namespace {

using attribute_map = std::unordered_map<std::string, otel::sdk::common::OwnedAttributeValue>;

/// Collects the spans that have ended, and counts those that started.
struct ended_spans {
    int started = 0;
    std::vector<std::unique_ptr<otel::sdk::trace::SpanData>> all;
};

class keeping_processor final : public otel::sdk::trace::SpanProcessor {
public:
    explicit keeping_processor(std::shared_ptr<ended_spans> to) : to_(std::move(to)) {}

    std::unique_ptr<otel::sdk::trace::Recordable> MakeRecordable() noexcept override
    {
        return std::make_unique<otel::sdk::trace::SpanData>();
    }
    void OnStart(otel::sdk::trace::Recordable&, otel::trace::SpanContext const&) noexcept override { ++to_->started; }
    void OnEnd(std::unique_ptr<otel::sdk::trace::Recordable>&& span) noexcept override
    {
        to_->all.emplace_back(static_cast<otel::sdk::trace::SpanData*>(span.release()));
    }
    bool ForceFlush(std::chrono::microseconds) noexcept override { return true; }
    bool Shutdown(std::chrono::microseconds) noexcept override { return true; }

private:
    std::shared_ptr<ended_spans> const to_;
};

std::string shown(attribute_map const& all, std::string const& key)
{
    auto const found = all.find(key);
    if (found == all.end())
        return "none";
    auto const text = [](auto const& v) -> std::string {
        using type = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<type, std::string>)
            return v;
        else if constexpr (std::is_same_v<type, bool>)
            return v ? "true" : "false";
        else if constexpr (std::is_arithmetic_v<type>)
            return fmt::format("{}", v);
        else if constexpr (std::is_same_v<type, std::vector<std::string>>)
            return fmt::format("{}", fmt::join(v, "+"));
        else
            return "of another type";
    };
    return otel::nostd::visit(text, found->second);
}

using span_data = otel::sdk::trace::SpanData;

std::string shown(span_data const& s, std::string const& key) { return shown(s.GetAttributes(), key); }

std::string name_of(span_data const& s) { return std::string(s.GetName().data(), s.GetName().size()); }

/// The name, the lock's number, the outcome and the duration of a span.
std::string line_of(span_data const& s)
{
    return fmt::format("{} {}: {} after {} us{}", name_of(s), shown(s, "redlock.lock"), shown(s, "redlock.outcome"),
                       s.GetDuration() / 1us, s.GetStatus() == StatusCode::kError ? ", error" : "");
}

std::vector<std::string> events_of(span_data const& s, std::initializer_list<char const*> keys)
{
    std::vector<std::string> all;
    for (auto const& e : s.GetEvents()) {
        auto const since = e.GetTimestamp().time_since_epoch() - s.GetStartTime().time_since_epoch();
        auto line = fmt::format("{} us {}:", since / 1us, e.GetName());
        for (auto const* key : keys)
            line += ' ' + shown(e.GetAttributes(), key);
        all.push_back(line);
    }
    return all;
}

/// Three servers and a connected manager, whose observer makes spans that are collected.
struct traced {
    explicit traced(open_telemetry_options options = {}, manager_options settings = {})
        : watching(open_telemetry(tracer, options))
    {
        settings.observer = watching;
        settings.owner = "me";
        locks = w.connected(std::move(settings));
        w.run_for(1ms);
        read();
    }

    /// Runs for a millisecond, and returns the spans that have ended since the last call.
    std::vector<std::unique_ptr<span_data>> spans()
    {
        w.run_for(1ms);
        return std::exchange(ended->all, {});
    }

    std::string read()
    {
        std::vector<std::string> lines;
        for (auto const& s : spans())
            lines.push_back(line_of(*s));
        return fmt::format("\n{}\n", fmt::join(lines, "\n"));
    }

    lock_world w{3};
    std::shared_ptr<ended_spans> ended = std::make_shared<ended_spans>();
    std::shared_ptr<otel::sdk::trace::TracerProvider> provider =
        std::make_shared<otel::sdk::trace::TracerProvider>(std::make_unique<keeping_processor>(ended));
    otel::nostd::shared_ptr<otel::trace::Tracer> tracer = provider->GetTracer("redlock");
    std::shared_ptr<observer> watching;
    std::unique_ptr<lock_manager> locks;
};

struct traced_without_names : traced {
    traced_without_names() : traced({.resources = false}) {}
};

struct traced_with_three_events : traced {
    traced_with_three_events() : traced({.max_events = 3}) {}
};

std::string in_traces(std::vector<std::string> const& lines) { return fmt::format("\n{}\n", fmt::join(lines, "\n")); }

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_and_release_make_two_linked_spans, traced)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s, .wait = 2s});
    w.run_for(300ms);
    w.release(won.held);

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 2u);
    auto const &acquire = *all[0], &hold = *all[1];
    BOOST_TEST(line_of(acquire) == "lock acquire 2: acquired after 200 us");
    BOOST_TEST(line_of(hold) == "lock hold 2: released after 300000 us");
    BOOST_TEST(!acquire.GetParentSpanId().IsValid());
    BOOST_TEST(acquire.GetLinks().empty());
    BOOST_TEST((hold.GetParentSpanId() == acquire.GetSpanId()));
    BOOST_TEST((hold.GetTraceId() == acquire.GetTraceId()));
    BOOST_TEST_REQUIRE(hold.GetLinks().size() == 1u);
    BOOST_TEST((hold.GetLinks()[0].GetSpanContext() == acquire.GetSpanContext()));
    BOOST_TEST(((hold.GetStartTime().time_since_epoch() - acquire.GetStartTime().time_since_epoch()) == 200us));
    BOOST_TEST((acquire.GetStatus() == StatusCode::kUnset));
    for (auto const& [key, value] : std::map<std::string, std::string>{{"redlock.owner", "me"},
                                                                       {"redlock.resource", "stock"},
                                                                       {"redlock.mode", "exclusive"},
                                                                       {"redlock.ttl_ms", "1000"},
                                                                       {"redlock.wait_ms", "2000"},
                                                                       {"redlock.acquisition", "2"},
                                                                       {"redlock.any", "false"},
                                                                       {"redlock.resumes", "false"},
                                                                       {"redlock.rounds", "1"},
                                                                       {"redlock.ahead", "0"},
                                                                       {"redlock.waited_ms", "0"},
                                                                       {"error.type", "none"}})
        BOOST_TEST(key + ' ' + shown(acquire, key) == key + ' ' + value);
    for (auto const& [key, value] : std::map<std::string, std::string>{{"redlock.resource", "stock"},
                                                                       {"redlock.mode", "exclusive"},
                                                                       {"redlock.extensions", "0"},
                                                                       {"redlock.extensions_failed", "0"},
                                                                       {"redlock.validity_ms", "987.8"},
                                                                       {"redlock.validity_left_ms", "687.8"},
                                                                       {"error.type", "none"}})
        BOOST_TEST(key + ' ' + shown(hold, key) == key + ' ' + value);
    auto const rounds = events_of(acquire, {"redlock.round", "redlock.outcome", "redlock.granted", "redlock.denied",
                                            "redlock.unknown", "redlock.took_ms"});
    BOOST_TEST(in_traces(rounds) == in_traces({"200 us redlock.round: 1 won 2 0 1 0.2"}));
}

BOOST_FIXTURE_TEST_CASE(acquire_with_the_current_span_makes_children, traced)
{
    auto work = tracer->StartSpan("work");
    lock_world::outcome won;
    {
        otel::trace::Scope const active(work);
        auto const parent = current_span();
        won = w.acquire(*locks, "stock", {.context = &parent});
    }
    work->End();
    w.release(won.held);

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 3u);
    BOOST_TEST(name_of(*all[1]) == "work");
    for (auto const i : {0u, 2u}) {
        BOOST_TEST((all[i]->GetParentSpanId() == work->GetContext().span_id()));
        BOOST_TEST((all[i]->GetTraceId() == work->GetContext().trace_id()));
    }
    BOOST_TEST((all[2]->GetLinks().at(0).GetSpanContext() == all[0]->GetSpanContext()));
}

BOOST_FIXTURE_TEST_CASE(acquire_without_context_ignores_the_active_span, traced)
{
    auto work = tracer->StartSpan("work");
    otel::trace::Scope const active(work);
    auto won = w.acquire(*locks, "stock");
    w.release(won.held);

    auto const all = spans();
    BOOST_TEST(all.size() == 2u);
    for (auto const& s : all)
        BOOST_TEST((s->GetTraceId() != work->GetContext().trace_id()));
}

BOOST_AUTO_TEST_CASE(current_span_without_an_active_span_is_null)
{
    BOOST_TEST(current_span() == nullptr);
    BOOST_TEST(parent_span(otel::trace::SpanContext::GetInvalid()) == nullptr);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_another_type_of_context_ignores_it, traced)
{
    auto const number = std::make_shared<int>(7);
    auto const deleted = std::shared_ptr<int>(new int(7), [](int* p) { delete p; });
    auto const part = std::shared_ptr<void const>(number, this);
    for (std::shared_ptr<void const> const& context :
         {std::shared_ptr<void const>(number), std::shared_ptr<void const>(deleted), part}) {
        w.acquire(*locks, "stock", {.context = &context});
        BOOST_TEST(read()
                   == in_traces({fmt::format("lock acquire {0}: acquired after 200 us", locks->stats().begun),
                                 fmt::format("lock hold {0}: released after 0 us", locks->stats().begun)}));
    }
    // A shared pointer to a part of the library's own context works like the context itself.
    auto work = tracer->StartSpan("work");
    auto const ours = parent_span(work->GetContext());
    std::shared_ptr<void const> const part_of_ours(ours, number.get());
    w.acquire(*locks, "stock", {.context = &part_of_ours});
    auto const all = spans();
    BOOST_TEST(all.size() == 2u);
    for (auto const& s : all)
        BOOST_TEST((s->GetParentSpanId() == work->GetContext().span_id()));
}

BOOST_FIXTURE_TEST_CASE(acquire_when_contended_is_no_error, traced)
{
    auto const other = w.connected();
    auto const taken = w.acquire(*other, "stock");
    w.acquire(*locks, "stock");

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 1u);
    BOOST_TEST(line_of(*all[0]) == "lock acquire none: contended after 200 us");
    BOOST_TEST(shown(*all[0], "error.type") == "none");
    BOOST_TEST(in_traces(events_of(*all[0], {"redlock.outcome", "redlock.denied"}))
               == in_traces({"200 us redlock.round: contended 2"}));
}

BOOST_FIXTURE_TEST_CASE(acquire_without_quorum_is_an_error, traced)
{
    w[1].reachable = false;
    w[2].mute = true;
    w.acquire(*locks, "stock");

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 1u);
    BOOST_TEST(line_of(*all[0]) == "lock acquire none: no_quorum after 50000 us, error");
    BOOST_TEST(shown(*all[0], "error.type") == "no_quorum");
    BOOST_TEST(!all[0]->GetDescription().empty());
    BOOST_TEST(in_traces(events_of(*all[0], {"redlock.outcome", "redlock.failed_nodes"}))
               == in_traces({"50000 us redlock.round: no_quorum server-1+server-2"}));
}

BOOST_FIXTURE_TEST_CASE(acquire_cancelled_is_no_error, traced)
{
    auto const taken = w.acquire(*locks, "stock", {.renew = renewal::automatic});
    asio::cancellation_signal signal;
    auto waits = w.start(*locks, "stock", {.wait = wait_forever}, signal.slot());
    w.run_for(500ms);
    read();
    signal.emit(asio::cancellation_type::terminal);

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 1u);
    BOOST_TEST(line_of(*all[0]) == "lock acquire none: cancelled after 501000 us");
    BOOST_TEST(shown(*all[0], "redlock.wait_ms") == "none");
}

BOOST_FIXTURE_TEST_CASE(acquire_that_joins_links_to_the_hold_span, traced)
{
    auto one = w.acquire(*locks, "stock", {.mode = mode::shared});
    auto other = w.acquire(*locks, "stock", {.mode = mode::shared});
    w.run_for(10ms);
    w.release(one.held);
    w.release(other.held);

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 3u);
    BOOST_TEST(line_of(*all[0]) == "lock acquire 2: acquired after 200 us");
    BOOST_TEST(line_of(*all[1]) == "lock acquire 2: joined after 0 us");
    BOOST_TEST(line_of(*all[2]) == "lock hold 2: released after 10000 us");
    BOOST_TEST_REQUIRE(all[1]->GetLinks().size() == 1u);
    BOOST_TEST((all[1]->GetLinks()[0].GetSpanContext() == all[2]->GetSpanContext()));
    BOOST_TEST(shown(*all[2], "redlock.mode") == "shared");
}

BOOST_FIXTURE_TEST_CASE(extend_adds_events_to_the_hold_span, traced)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.extend(won.held, 2s);
    w.each([](auto& s) { s.reachable = false; });
    w.extend(won.held, 2s);
    w.run_for(3s);

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 2u);
    auto const& hold = *all[1];
    BOOST_TEST(name_of(hold) == "lock hold");
    BOOST_TEST(shown(hold, "redlock.outcome") == "lost");
    BOOST_TEST((hold.GetStatus() == StatusCode::kError));
    BOOST_TEST(!hold.GetDescription().empty());
    BOOST_TEST(shown(hold, "error.type") == "expired");
    BOOST_TEST(shown(hold, "redlock.least_slack_ms") == "987.6");
    BOOST_TEST(shown(hold, "redlock.extensions") == "1");
    BOOST_TEST(shown(hold, "redlock.extensions_failed") == "1");
    auto const told = events_of(hold, {"redlock.automatic", "redlock.slack_ms"});
    BOOST_TEST_REQUIRE(told.size() == 2u);
    BOOST_TEST(told[0] == "200 us redlock.extended: false 987.6");
    BOOST_TEST(told[1].ends_with(" us redlock.extension_failed: false none"), told[1]);
    BOOST_TEST(contains(shown(hold.GetEvents()[1].GetAttributes(), "redlock.reason"), "0 of 3 granted"));
}

BOOST_FIXTURE_TEST_CASE(max_events_keeps_the_latest_events, traced_with_three_events)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(30s);
    w.release(won.held);

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 2u);
    BOOST_TEST(all[1]->GetEvents().size() == 3u);
    BOOST_TEST(std::stoi(shown(*all[1], "redlock.extensions")) > 3);
    auto const last = all[1]->GetEvents()[2].GetTimestamp().time_since_epoch()
                      - all[1]->GetStartTime().time_since_epoch();
    BOOST_TEST((last > 25s));
    BOOST_TEST((last <= 30s));
}

BOOST_FIXTURE_TEST_CASE(resources_off_leaves_names_out_of_spans, traced_without_names)
{
    auto one = w.acquire(*locks, "stock");
    auto two = w.acquire(*locks, {"a", "b"});
    w.release(one.held);
    w.release(two.held);

    auto const all = spans();
    BOOST_TEST(all.size() == 4u);
    for (auto const& s : all) {
        BOOST_TEST(shown(*s, "redlock.resource") == "none");
        BOOST_TEST(shown(*s, "redlock.resources") == "none");
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_spans_name_the_locked_resources, traced)
{
    auto all = w.acquire(*locks, {"a", "b"});
    auto one = w.acquire_any(*locks, {"b", "c"});
    w.release(all.held);
    w.release(one.held);

    auto const made = spans();
    BOOST_TEST_REQUIRE(made.size() == 4u);
    for (auto const i : {0u, 2u})
        BOOST_TEST(shown(*made[i], "redlock.resources") == "a+b");
    for (auto const i : {1u, 3u})
        BOOST_TEST(shown(*made[i], "redlock.resource") == "c");
    BOOST_TEST(shown(*made[1], "redlock.any") == "true");
}

BOOST_AUTO_TEST_CASE(span_text_replaces_invalid_utf8)
{
    for (std::string_view const valid :
         {"", "order:7", "größe", "€", "\xf0\x9f\x94\x92", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
        BOOST_TEST(detail::span_text(valid) == valid);
    for (auto const& [bad, shown] :
         std::vector<std::pair<std::string_view, std::string_view>>{{"\xff", "?"},
                                                                    {"a\xc3", "a?"},
                                                                    {"\xc3(", "?("},
                                                                    {"\xe2\x82", "??"},
                                                                    {"\xe2\x82z", "??z"},
                                                                    {"\xc0\xaf", "??"},
                                                                    {"\xe0\x80\x80", "???"},
                                                                    {"\xed\xa0\x80", "???"},
                                                                    {"\xf4\x90\x80\x80", "????"},
                                                                    {"\xf0\x9f\x94", "???"},
                                                                    {"\x80x", "?x"},
                                                                    {"\xf5", "?"}})
        BOOST_TEST(boost::replace_all_copy(detail::span_text(bad), "\xef\xbf\xbd", "?") == shown);
}

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_makes_two_spans_of_each_kind, traced)
{
    auto work = tracer->StartSpan("work");
    auto const parent = parent_span(work->GetContext());
    auto won = w.acquire(*locks, "stock", {.mode = mode::upgradeable, .context = &parent});
    w.upgrade(won.held);
    w.release(won.held);

    auto const all = spans();
    std::multiset<std::string> made;
    for (auto const& s : all) {
        auto const resource = shown(*s, "redlock.resource");
        made.insert(name_of(*s) + ' ' + (resource.starts_with("stock:=upgrade") ? "right" : resource) + ' '
                    + shown(*s, "redlock.mode"));
        BOOST_TEST((s->GetParentSpanId() == work->GetContext().span_id()));
    }
    BOOST_TEST(in_traces({made.begin(), made.end()})
               == in_traces({"lock acquire right exclusive", "lock acquire stock upgradeable",
                             "lock hold right exclusive", "lock hold stock upgradeable"}));
}

BOOST_FIXTURE_TEST_CASE(resume_makes_new_spans, traced)
{
    auto won = w.acquire(*locks, "stock");
    auto const ticket = won.held.detach();
    BOOST_TEST(read() == in_traces({"lock acquire 2: acquired after 200 us", "lock hold 2: detached after 0 us"}));

    auto const resume = [&](auto& o, auto how) { locks->async_resume(ticket, how, w.into(o)); };
    auto resumed = w.outcome_of({.ttl = 1s}, resume);
    w.release(resumed.held);
    w.outcome_of({.ttl = 1s}, resume);

    auto const all = spans();
    BOOST_TEST_REQUIRE(all.size() == 3u);
    BOOST_TEST(line_of(*all[0]) == "lock acquire 3: acquired after 200 us");
    BOOST_TEST(shown(*all[0], "redlock.resumes") == "true");
    BOOST_TEST(line_of(*all[1]) == "lock hold 3: released after 0 us");
    BOOST_TEST(line_of(*all[2]) == "lock acquire none: failed after 200 us, error");
    BOOST_TEST(shown(*all[2], "error.type") == "redlock:4");
}

BOOST_FIXTURE_TEST_CASE(observer_destruction_ends_the_spans_of_held_locks, traced)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    auto waits = w.start(*locks, "stock", {.wait = wait_forever});
    w.run_for(1ms);
    read();
    auto const started = ended->started;

    watching->lost({.when = w.now,
                    .lock = 99,
                    .resources = "another",
                    .why = "",
                    .held_for = 0s,
                    .reason = loss::expired,
                    .owner = "me"});
    auto alone = open_telemetry(tracer);
    resource_set const names("alone");
    alone->acquired({.when = w.now,
                     .acquisition = 1,
                     .lock = 1,
                     .joined = false,
                     .resources = names,
                     .mode = mode::exclusive,
                     .waited = 0s,
                     .took = 2s,
                     .rounds = 1,
                     .ahead = 0,
                     .validity = 1s,
                     .owner = "me"});
    alone.reset();

    BOOST_TEST(ended->started == started + 2);
    BOOST_TEST_REQUIRE(ended->all.size() == 2u);
    BOOST_TEST(line_of(*ended->all[0]) == "lock acquire 1: acquired after 2000000 us");
    BOOST_TEST(shown(*ended->all[1], "redlock.outcome") == "unknown");
    BOOST_TEST((ended->all[1]->GetStatus() == StatusCode::kUnset));
}

BOOST_FIXTURE_TEST_CASE(observer_called_late_keeps_the_times_of_spans, traced)
{
    auto const late = open_telemetry(tracer);
    resource_set const names("stock");
    auto const now = clock::now();
    auto const system = std::chrono::system_clock::now();

    late->acquisition_begun({.when = now - 5s,
                             .acquisition = 1,
                             .resources = names,
                             .any = false,
                             .resumes = false,
                             .mode = mode::exclusive,
                             .ttl = 10s,
                             .wait = 0s,
                             .ahead = 0,
                             .context = {},
                             .owner = "me"});
    late->not_acquired({.when = now - 4s,
                        .acquisition = 1,
                        .resources = names,
                        .reason = errc::contended,
                        .took = 1s,
                        .rounds = 1,
                        .ahead = 0,
                        .owner = "me"});

    BOOST_TEST_REQUIRE(ended->all.size() == 1u);
    BOOST_TEST((ended->all[0]->GetDuration() == 1s));
    auto const begun = ended->all[0]->GetStartTime().time_since_epoch() - system.time_since_epoch();
    BOOST_TEST((begun > -6s));
    BOOST_TEST((begun < -4s));
}

BOOST_AUTO_TEST_CASE(release_with_a_tracer_that_does_nothing_succeeds)
{
    lock_world w(3);
    auto const locks =
        w.manager({.observer = open_telemetry(otel::trace::Provider::GetTracerProvider()->GetTracer("nobody"))});

    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.extend(won.held, 2s);

    BOOST_TEST(!w.release(won.held));
}

BOOST_FIXTURE_TEST_CASE(open_telemetry_ends_each_started_span_once, traced)
{
    auto const begun_before = locks->stats();
    auto const started_before = ended->started;
    auto all = acquire_during_faults(w, *locks, mode::upgradeable);
    auto const at_the_end = locks->stats();
    BOOST_TEST(at_the_end.held > 0u);
    all.clear();
    locks.reset();
    w.run_for(10s);

    std::map<std::string, std::uint64_t> many;
    std::set<std::string> ids;
    for (auto const& s : ended->all) {
        ++many[name_of(*s)];
        char id[16];
        s->GetSpanId().ToLowerBase16(id);
        ids.emplace(id, sizeof id);
    }
    BOOST_TEST(ended->started - started_before == static_cast<int>(ended->all.size()));
    BOOST_TEST(ids.size() == ended->all.size());
    BOOST_TEST(many["lock acquire"] == at_the_end.begun - begun_before.begun);
    BOOST_TEST(many["lock hold"] == at_the_end.acquired - begun_before.acquired);
    BOOST_TEST(watching.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
