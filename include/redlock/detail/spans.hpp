#pragma once

// The spans of redlock/opentelemetry.hpp.

#include <redlock/clock.hpp>
#include <redlock/detail/outcome.hpp>
#include <redlock/error.hpp>
#include <redlock/mode.hpp>
#include <redlock/observer.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>

#include <opentelemetry/common/attribute_value.h>
#include <opentelemetry/common/key_value_iterable.h>
#include <opentelemetry/context/context.h>
#include <opentelemetry/nostd/function_ref.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/nostd/span.h>
#include <opentelemetry/nostd/string_view.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/span_context_kv_iterable_view.h>
#include <opentelemetry/trace/span_metadata.h>
#include <opentelemetry/trace/span_startoptions.h>
#include <opentelemetry/trace/tracer.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace redlock::inline v1::detail {

namespace otel = opentelemetry;

/// The deleter of a context, with the span. `std::get_deleter` finds it, so contexts of other types are recognized.
struct parent_of_spans {
    otel::trace::SpanContext span;
    void operator()(void const*) const noexcept {}
};

/// One moment on three clocks. Events have the first; spans need the other two.
struct span_time {
    clock::time_point when;
    std::chrono::system_clock::time_point system = std::chrono::system_clock::now();
    std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();

    /// Converts another moment. It does not read the clocks, because the system clock may have been set meanwhile.
    span_time at(clock::time_point t) const
    {
        auto const d = t - when;
        return {t, system + std::chrono::duration_cast<std::chrono::system_clock::duration>(d), steady + d};
    }

    static span_time of(clock::time_point when)
    {
        auto const now = clock::now();
        bool const is_test_clock = when > now || now - when > std::chrono::hours(1);
        return is_test_clock ? span_time{when} : span_time{now}.at(when);
    }
};

/// Converts to valid UTF-8; each invalid byte becomes U+FFFD. A collector refuses a whole batch with an invalid string.
inline std::string span_text(std::string_view text)
{
    auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    std::string valid;
    while (!text.empty()) {
        auto const c = byte(0);
        std::size_t const size = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
        // The second byte excludes overlong forms, surrogates, and numbers above U+10FFFF.
        bool is_valid = size == 1
                        || (size > 1
                            && byte(1) >= (c == 0xe0   ? 0xa0U
                                           : c == 0xf0 ? 0x90U
                                                       : 0x80U)
                            && byte(1) <= (c == 0xed   ? 0x9fU
                                           : c == 0xf4 ? 0x8fU
                                                       : 0xbfU));
        for (std::size_t i = 2; i < size; ++i)
            is_valid = is_valid && (byte(i) & 0xc0U) == 0x80;
        valid += is_valid ? text.substr(0, size) : "\xef\xbf\xbd";
        text.remove_prefix(is_valid ? size : 1);
    }
    return valid;
}

/// Attributes that own their values.
class span_attributes final : public otel::common::KeyValueIterable {
public:
    using pairs = std::vector<std::pair<otel::nostd::string_view, otel::common::AttributeValue>>;

    void set(char const* key, bool b) { all_.emplace_back(key, b); }
    void set(char const* key, std::string_view text) { all_.emplace_back(key, span_text(text)); }
    void set(char const* key, char const* text) { set(key, std::string_view(text)); }
    void set(char const* key, std::integral auto number) { all_.emplace_back(key, static_cast<std::int64_t>(number)); }
    void set(char const* key, std::chrono::milliseconds d) { set(key, d.count()); }
    void set(char const* key, clock::duration d)
    {
        all_.emplace_back(key, std::chrono::duration<double, std::milli>(d).count());
    }
    void set(char const* key, std::vector<std::string> texts) { all_.emplace_back(key, list(std::move(texts))); }

    using callback = otel::nostd::function_ref<bool(otel::nostd::string_view, otel::common::AttributeValue)>;
    bool ForEachKeyValue(callback to) const noexcept override
    {
        for (auto const& [key, value] : all_) {
            if (!std::visit([&, k = key](auto const& v) { return to(k, shown(v)); }, value))
                return false;
        }
        return true;
    }
    std::size_t size() const noexcept override { return all_.size(); }

private:
    using view = otel::nostd::string_view;

    struct list {
        explicit list(std::vector<std::string> own) : texts(std::move(own))
        {
            for (auto& t : texts)
                views.emplace_back((t = span_text(t)).data(), t.size());
        }
        list(list&&) noexcept = default;

        std::vector<std::string> texts;
        std::vector<view> views;
    };

    using shown_value = otel::common::AttributeValue;
    static shown_value shown(list const& l) { return otel::nostd::span<view const>(l.views.data(), l.views.size()); }
    static shown_value shown(std::string const& s) { return view(s.data(), s.size()); }
    static shown_value shown(auto number) { return number; }

    std::vector<std::pair<char const*, std::variant<bool, std::int64_t, double, std::string, list>>> all_;
};

/// A span that has not ended. Its events are added at the end, because only the latest ones are kept.
struct open_span {
    struct event {
        char const* name;
        clock::time_point when;
        span_attributes attributes;
    };

    span_time begun;
    otel::trace::SpanContext parent = otel::trace::SpanContext::GetInvalid();
    otel::nostd::shared_ptr<otel::trace::Span> span{};  ///< null: not started
    span_attributes attributes{};                       ///< not yet set in the span
    std::vector<event> events{};
    std::size_t extensions = 0, extensions_failed = 0;
    clock::duration least_slack = clock::duration::max();
    bool failed = false;
    std::string why{};

    void fail(std::string_view type, std::string_view text)
    {
        attributes.set("error.type", type);
        failed = true;
        why = span_text(text);
    }

    span_attributes& add(char const* name, clock::time_point when, std::size_t max_events)
    {
        events.push_back({.name = name, .when = when, .attributes = {}});
        if (events.size() > std::max<std::size_t>(max_events, 1))
            events.erase(events.begin());
        return events.back().attributes;
    }
};

/// Creates the span of an acquisition when the acquisition ends, because only a new span can get a link.
class span_maker final : public observer {
public:
    span_maker(otel::nostd::shared_ptr<otel::trace::Tracer> tracer, bool with_names, std::size_t max_events)
        : tracer_(std::move(tracer)), with_names_(with_names), max_events_(max_events)
    {
    }

    ~span_maker() override
    {
        for (auto& [number, h] : held_) {
            try {
                set_end(h, "unknown");
                end(h);
            } catch (...) {  // out of memory: the destructor of the span ends it
            }
        }
    }

    void acquisition_begun(events::acquisition_begun const& e) override
    {
        open_span a{.begun = span_time::of(e.when)};
        if (auto const* const parent = std::get_deleter<parent_of_spans>(e.context))
            a.parent = parent->span;
        a.attributes.set("redlock.acquisition", e.acquisition);
        a.attributes.set("redlock.mode", name_of(e.mode));
        a.attributes.set("redlock.ttl_ms", e.ttl);
        if (e.wait != wait_forever)
            a.attributes.set("redlock.wait_ms", e.wait);
        a.attributes.set("redlock.any", e.any);
        a.attributes.set("redlock.resumes", e.resumes);
        acquisitions_.insert_or_assign(e.acquisition, std::move(a));
    }

    void round_decided(events::round_decided const& e) override
    {
        auto const a = acquisitions_.find(e.acquisition);
        if (a == acquisitions_.end())
            return;
        auto const votes = [&](vote v) { return std::ranges::count(e.nodes, v, &node_report::vote); };
        std::vector<std::string> failed;
        for (auto const& n : e.nodes) {
            if (n.error)
                failed.push_back(n.name);
        }
        auto& to = a->second.add("redlock.round", e.when, max_events_);
        to.set("redlock.round", e.round);
        to.set("redlock.draws_token", e.draws_token);
        to.set("redlock.outcome", e.outcome ? outcome_of(e.outcome).metric : "won");
        to.set("redlock.granted", votes(vote::granted));
        to.set("redlock.denied", votes(vote::denied));
        to.set("redlock.unknown", votes(vote::unknown));
        to.set("redlock.took_ms", e.took);
        if (!failed.empty())
            to.set("redlock.failed_nodes", std::move(failed));
    }

    void acquired(events::acquired const& e) override
    {
        auto a = take(e);
        a.attributes.set("redlock.outcome", e.joined ? "joined" : "acquired");
        a.attributes.set("redlock.lock", e.lock);
        a.attributes.set("redlock.waited_ms", e.waited);
        auto const shared = e.joined ? held_.find(e.lock) : held_.end();
        start("lock acquire", a, shared == held_.end() ? none() : shared->second.span->GetContext());
        end_at(e.when, a);
        if (e.joined)
            return;
        open_span h{.begun = a.begun.at(e.when), .parent = a.parent.IsValid() ? a.parent : a.span->GetContext()};
        set_names(h, e);
        h.attributes.set("redlock.lock", e.lock);
        h.attributes.set("redlock.mode", name_of(e.mode));
        h.attributes.set("redlock.validity_ms", e.validity);
        start("lock hold", h, a.span->GetContext());
        held_.insert_or_assign(e.lock, std::move(h));
    }

    void not_acquired(events::not_acquired const& e) override
    {
        auto a = take(e);
        auto const known = outcome_of(e.reason);
        std::string_view const word = known.metric;
        if (word == "failed")
            a.fail(e.reason.category().name() + (':' + std::to_string(e.reason.value())), e.reason.message());
        else if (known.kind == outcome_kind::unavailable)
            a.fail(word, e.reason.message());
        a.attributes.set("redlock.outcome", word);
        start("lock acquire", a, none());
        end_at(e.when, a);
    }

    void extended(events::extended const& e) override
    {
        auto const h = held_.find(e.lock);
        if (h == held_.end())
            return;
        ++h->second.extensions;
        h->second.least_slack = std::min(h->second.least_slack, e.slack);
        auto& to = h->second.add("redlock.extended", e.when, max_events_);
        to.set("redlock.automatic", e.automatic);
        to.set("redlock.slack_ms", e.slack);
        to.set("redlock.validity_ms", e.validity);
    }

    void extension_failed(events::extension_failed const& e) override
    {
        auto const h = held_.find(e.lock);
        if (h == held_.end())
            return;
        ++h->second.extensions_failed;
        auto& to = h->second.add("redlock.extension_failed", e.when, max_events_);
        to.set("redlock.automatic", e.automatic);
        to.set("redlock.reason", e.why.empty() ? std::string_view(e.reason.message()) : e.why);
        to.set("redlock.validity_ms", e.validity);
    }

    void lost(events::lost const& e) override { end_hold(e, "lost"); }
    void released(events::released const& e) override { end_hold(e, "released"); }
    void detached(events::detached const& e) override { end_hold(e, "detached"); }

private:
    static otel::trace::SpanContext none() { return otel::trace::SpanContext::GetInvalid(); }

    static char const* name_of(redlock::mode m) noexcept
    {
        return m == mode::exclusive ? "exclusive" : m == mode::shared ? "shared" : "upgradeable";
    }

    void set_names(open_span& s, auto const& e) const
    {
        s.attributes.set("redlock.owner", e.owner);
        if (!with_names_)
            return;
        if (e.resources.size() == 1)
            s.attributes.set("redlock.resource", *e.resources.begin());
        else
            s.attributes.set("redlock.resources", std::vector<std::string>(e.resources.begin(), e.resources.end()));
    }

    /// Removes and returns an acquisition that has ended.
    open_span take(auto const& e)
    {
        auto const known = acquisitions_.extract(e.acquisition);
        auto a = known ? std::move(known.mapped()) : open_span{.begun = span_time::of(e.when).at(e.when - e.took)};
        set_names(a, e);
        a.attributes.set("redlock.rounds", e.rounds);
        a.attributes.set("redlock.ahead", e.ahead);
        return a;
    }

    void start(char const* name, open_span& s, otel::trace::SpanContext const& linked)
    {
        otel::trace::StartSpanOptions o;
        o.start_system_time = s.begun.system;
        o.start_steady_time = s.begun.steady;
        if (s.parent.IsValid())
            o.parent = s.parent;
        else  // otherwise the active span of this thread would be the parent
            o.parent = otel::context::Context(otel::trace::kIsRootSpanKey, true);
        std::vector<std::pair<otel::trace::SpanContext, span_attributes::pairs>> links;
        if (linked.IsValid())
            links.emplace_back(linked, span_attributes::pairs());
        s.span = tracer_->StartSpan(name, s.attributes, otel::trace::SpanContextKeyValueIterableView(links), o);
        s.attributes = {};
    }

    /// Ends the span. Without @p when, it ends now.
    void end(open_span& s, otel::trace::EndSpanOptions const& when = {})
    {
        s.attributes.ForEachKeyValue([&](auto key, auto const& value) {
            s.span->SetAttribute(key, value);
            return true;
        });
        for (auto const& e : s.events)
            s.span->AddEvent(e.name, s.begun.at(e.when).system, e.attributes);
        if (s.failed)
            s.span->SetStatus(otel::trace::StatusCode::kError, s.why);
        s.span->End(when);
    }

    void end_at(clock::time_point when, open_span& s)
    {
        otel::trace::EndSpanOptions o;
        o.end_steady_time = s.begun.at(when).steady;
        end(s, o);
    }

    static void set_end(open_span& hold, char const* outcome)
    {
        hold.attributes.set("redlock.outcome", outcome);
        hold.attributes.set("redlock.extensions", hold.extensions);
        hold.attributes.set("redlock.extensions_failed", hold.extensions_failed);
        if (hold.extensions > 0)
            hold.attributes.set("redlock.least_slack_ms", hold.least_slack);
    }

    void end_hold(auto const& e, char const* outcome)
    {
        auto const known = held_.extract(e.lock);
        if (!known)
            return;
        auto& h = known.mapped();
        set_end(h, outcome);
        if constexpr (requires { e.reason; })
            h.fail(to_string(e.reason), e.why);
        else
            h.attributes.set("redlock.validity_left_ms", e.validity);
        end_at(e.when, h);
    }

    otel::nostd::shared_ptr<otel::trace::Tracer> const tracer_;
    bool const with_names_;
    std::size_t const max_events_;
    std::unordered_map<std::uint64_t, open_span> acquisitions_, held_;  // by acquisition number, by lock number
};

}  // namespace redlock::inline v1::detail
