#pragma once

#include <redlock/observer.hpp>

#include <fmt/format.h>

#include <boost/asio/error.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

/// An observer that writes a line for each event.
class event_recorder : public observer {
public:
    /// Returns the lines since the last call.
    std::vector<std::string> read() { return std::exchange(lines_, {}); }

    void acquisition_begun(events::acquisition_begun const& e) override
    {
        write("{} begins: {}{}{}{}", e.acquisition, names(e.resources), e.any ? ", any" : "",
              e.resumes ? ", resumes" : "", behind(e.ahead));
    }
    void round_decided(events::round_decided const& e) override
    {
        std::string votes;
        for (auto const& n : e.nodes)
            votes += n.vote == vote::granted ? '+' : n.vote == vote::denied ? '-' : n.error ? 'x' : '?';
        write("{} round {}{}: {} {} after {}", e.acquisition, e.round, e.draws_token ? " for a token" : "", votes,
              word(e.outcome), us(e.took));
    }
    void acquired(events::acquired const& e) override
    {
        auto const how = e.joined                  ? fmt::format("joins {}", e.lock)
                         : e.lock == e.acquisition ? std::string("acquired")
                                                   : std::string("wrong number");
        write("{} {}: {} after {}, waited {}, {} rounds{}", e.acquisition, how, names(e.resources), us(e.took),
              us(e.waited), e.rounds, behind(e.ahead));
    }
    void not_acquired(events::not_acquired const& e) override
    {
        write("{} not acquired: {} {} after {}, {} rounds{}", e.acquisition, names(e.resources), word(e.reason),
              us(e.took), e.rounds, behind(e.ahead));
    }
    void extended(events::extended const& e) override
    {
        write("{} {} with {} left, valid for {}", e.lock, e.automatic ? "renewed" : "extended", ms(e.slack),
              ms(e.validity));
    }
    void extension_failed(events::extension_failed const& e) override
    {
        write("{} not {}: {}, valid for {}{}{}", e.lock, e.automatic ? "renewed" : "extended", word(e.reason),
              ms(e.validity), e.why.empty() ? "" : ": ", e.why);
    }
    void renewals_failing(events::renewals_failing const& e) override
    {
        write("renewals fail, first {}: {}", e.lock, e.why);
    }
    void renewals_well(events::renewals_well const& e) override
    {
        write("renewals are well after {}: {} failed, {} lost", ms(e.after), e.failures, e.lost);
    }
    void lost(events::lost const& e) override
    {
        write("{} lost: {} after {}: {}: {}", e.lock, names(e.resources), ms(e.held_for), to_string(e.reason), e.why);
    }
    void released(events::released const& e) override
    {
        write("{} released: {} after {}, valid for {}", e.lock, names(e.resources), ms(e.held_for), ms(e.validity));
    }
    void detached(events::detached const& e) override
    {
        write("{} detached: {} after {}, valid for {}", e.lock, names(e.resources), ms(e.held_for), ms(e.validity));
    }
    void handed_over(events::handed_over const& e) override { write("{} handed over: {}", e.lock, e.resource); }

    void node_up(events::node_up const& e) override { write("{} is up", e.node); }
    void node_down(events::node_down const& e) override { write("{} is down: {}{}", e.node, word(e.error), e.message); }
    void node_refused(events::node_refused const& e) override
    {
        write("{} refuses: {}{}", e.node, word(e.error), e.message);
    }
    void node_quarantined(events::node_quarantined const& e) override
    {
        write("{} is quarantined for {}", e.node, ms(e.remaining));
    }
    void node_trusted(events::node_trusted const& e) override { write("{} is trusted", e.node); }
    void clean_up_behind(events::clean_up_behind const& e) override
    {
        write("clean-up behind on {}: {}, {} pending", e.node, word(e.error), e.pending);
    }
    void keys_left(events::keys_left const& e) override { write("{} keys left", e.keys); }
    void log_line(events::log_line const& e) override { write("{}: {}", to_string(e.level), e.text); }

protected:
    template <class... Args>
    void write(fmt::format_string<Args...> format, Args&&... args)
    {
        lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
    }

private:
    static std::string names(resource_set const& resources)
    {
        return fmt::format("{}", fmt::join(resources.begin(), resources.end(), "+"));
    }
    static std::string behind(std::size_t ahead) { return ahead == 0 ? "" : fmt::format(", behind {}", ahead); }
    static std::string us(std::chrono::nanoseconds d) { return fmt::format("{} us", d / std::chrono::microseconds(1)); }
    static std::string ms(std::chrono::nanoseconds d) { return fmt::format("{} ms", d / std::chrono::milliseconds(1)); }
    static std::string word(error_code ec)
    {
        if (!ec)
            return "won";
        if (ec == errc::contended)
            return "contended";
        if (ec == errc::no_quorum)
            return "no_quorum";
        if (ec == errc::validity_exhausted)
            return "validity_exhausted";
        if (ec == errc::quarantined)
            return "quarantined";
        if (ec == errc::lost)
            return "lost";
        return ec == boost::asio::error::operation_aborted ? "aborted" : ec.message();
    }

    std::vector<std::string> lines_;
};

/// Joins the lines with line feeds, so that a difference is easy to read.
inline std::string in_lines(std::vector<std::string> const& lines)
{
    return fmt::format("\n{}\n", fmt::join(lines, "\n"));
}

}  // namespace redlock::test
