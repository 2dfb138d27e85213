// Whether a server can be reached, and lets us in.

#include "tools/doctor/checks.hpp"

#include "tools/output.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>

namespace redlock::tools::doctor {

namespace {

using namespace std::chrono_literals;
using std::chrono::days;

constexpr auto renew_before = days(30), renew_at_once = days(7);

std::string host_of(node_facts const& f)
{
    return f.place.host.empty() ? "this host" : f.place.host;
}

findings reachable(node_facts const& f, demands const&)
{
    if (!f.is_server) {
        bool const answers = f.probe.failed_at.empty() || f.probe.is_taken;
        return {{.level = answers ? level::ok : level::critical,
                 .why = answers ? "it votes" : fmt::format("it does not vote: {}", printable(f.probe.message))}};
    }
    if (f.hello.what != reply::kind::silence)
        return {{.why = "it answers"}};
    return {{.level = level::critical,
             .why = fmt::format("it does not answer ({}), so it does not vote", printable(f.hello.text)),
             .mend = fmt::format("systemctl restart redis-server  # on {}", host_of(f))}};
}

findings login(node_facts const& f, demands const&)
{
    if (f.hello.what == reply::kind::silence)
        return {};
    if (!f.hello.failed())
        return {{.why = fmt::format("the user {} is let in", printable(f.place.user))}};
    auto const& words = f.hello.text;
    std::string mend = "redlock --password-file FILE doctor  # whose first line is the password";
    if (is_forbidden(f.hello))
        mend = allow(f, words.find("select") == words.npos ? "+hello" : "+select");
    else if (words.find("max number of clients") != words.npos)
        mend = f.place.client() + " CONFIG SET maxclients 10000";
    else if (words.starts_with("DENIED"))
        mend = fmt::format("redis-cli -p {} ACL SETUSER default on '>PASSWORD'  # on {}", f.place.port, host_of(f));
    return {{.level = level::critical, .why = fmt::format("the user {} is not let in: {}", printable(f.place.user), printable(words)), .mend = std::move(mend)}};
}

findings certificate(node_facts const& f, demands const& d)
{
    if (!f.certificate)
        return {};
    auto const& c = *f.certificate;
    auto const look = fmt::format("openssl s_client -connect {}:{} </dev/null", f.place.host, f.place.port);
    if (!c.unread.empty())
        return {{.level = level::unknown, .why = fmt::format("its certificate could not be read: {}", printable(c.unread)), .mend = look}};
    auto const left = std::chrono::floor<days>(c.ends - d.now);
    auto const is_over = c.ends <= d.now, is_early = c.begins > d.now;
    auto const replace = fmt::format("{} CONFIG SET tls-cert-file FILE tls-key-file FILE  # a new certificate and its key", f.place.client());
    finding found{.values = {{"days_left", left.count()}}};
    found.level = is_over || is_early || !c.complaint.empty() || left < renew_at_once ? level::critical
                : left < renew_before                                                 ? level::warning
                                                                                      : level::ok;
    if (is_over)
        found.why = fmt::format("its certificate has ended on {:%F}, so no client connects", c.ends);
    else if (is_early)
        found.why = fmt::format("its certificate begins on {:%F} only, so no client connects", c.begins);
    else if (!c.complaint.empty())
        found.why = fmt::format("its certificate is not trusted, so no client connects: {}", c.complaint);
    else
        found.why = fmt::format("its certificate ends in {}, on {:%F}", counted(left.count(), "day"), c.ends);
    if (!c.complaint.empty() && !is_over && !is_early)
        found.mend = "redlock --ca-file FILE doctor  # the authority that has signed it; " + look;
    else if (found.level != level::ok)
        found.mend = replace;
    return {std::move(found)};
}

constexpr std::array all_of_reach{
    check{"reachable", nullptr, "", "", reachable, true},
    check{"login", nullptr, "", "", login},
    check{"certificate", nullptr, "", "", certificate},
};

}  // namespace

std::span<check const> reach_checks()
{
    return all_of_reach;
}

}  // namespace redlock::tools::doctor
