// Checks whether a server can be reached and accepts the login.

#include "tools/redlock/doctor/checks.hpp"

#include "tools/redlock/args/output.hpp"

#include <boost/asio/error.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>

namespace redlock::cli::doctor {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using std::chrono::days;

constexpr auto renew_before = days(30), renew_at_once = days(7);

std::string host_of(node_facts const& f) { return f.place.host.empty() ? "this host" : f.place.host; }

bool is_out_of_date(server_certificate const& c, demands const& d) { return c.ends <= d.now || c.begins > d.now; }

// If the certificate is out of date, the line restarts the server, which then reads its certificate again. CONFIG SET
// is not possible then, because redis-cli does not trust the server either.
std::string fix_certificate(node_facts const& f, demands const& d)
{
    auto const& c = *f.certificate;
    if (is_out_of_date(c, d))
        return fmt::format(
            "systemctl restart redis-server  # on {}, with a new certificate in its tls-cert-file and tls-key-file",
            host_of(f));
    if (!c.complaint.empty())
        return d.call.with("--ca-file", std::string(some_file)).line()
               + "  # FILE: the authority that has signed its certificate";
    auto const file = [&](char const* name, char const* otherwise) {
        auto const path = f.settings.field(name);
        return path.empty() ? std::string(otherwise) : shell_word(path);
    };
    return set_setting(f, fmt::format("tls-cert-file {} tls-key-file {}", file("tls-cert-file", "CERTIFICATE"),
                                      file("tls-key-file", "KEY")))
           + "  # when these files hold a new certificate and its key";
}

// The wording is the same as in the message of the library.
finding other_transport(node_facts const& f, demands const& d)
{
    auto other = f.place;
    other.has_tls = !f.place.has_tls;
    return {.level = level::critical,
            .why = fmt::format("{} on this port ({}): {} its URL begins with {}://",
                               f.place.has_tls ? "it does not speak TLS" : "it requires TLS", printable(f.hello.text),
                               f.place.has_tls ? "without TLS" : "with TLS", f.place.has_tls ? "redis" : "rediss"),
            .fix = d.call.with_node(f.name, other.url()).line()};
}

// The service of Debian listens on port 6379. If the port is different, a restart of the service may stop another
// server.
std::string fix_server(node_facts const& f, bool is_refused)
{
    bool const is_usual = f.place.port == "6379" || !f.place.socket.empty();
    if (is_usual)
        return fmt::format("systemctl restart redis-server  # on {}{}", host_of(f),
                           is_refused ? "" : ", if no firewall drops the packets");
    if (is_refused)
        return fmt::format("systemctl list-units --all '*redis*' '*valkey*'  # on {}: start the server of port {}",
                           host_of(f), f.place.port);
    return fmt::format("ss -ltnp 'sport = :{}'  # on {}: restart this server, if no firewall drops the packets",
                       f.place.port, host_of(f));
}

std::string fix_silence(node_facts const& f, demands const& d)
{
    auto const says = [&](error_code ec) { return f.hello.text.find(ec.message()) != f.hello.text.npos; };
    if (says(asio::error::host_not_found))
        return d.call.with_node(f.name, f.place.at("HOST", f.place.port).url()).line()
               + fmt::format("  # HOST: the right name, as {} is unknown", printable(f.place.host));
    if (f.hello.text.find("certificate required") != f.hello.text.npos)
        return d.call.with("--certificate-file", "CERTIFICATE").with("--private-key-file", "KEY").line()
               + "  # of a client that the server trusts";
    auto const& c = f.certificate;
    bool const is_trusted = !c || !c->unread.empty() || (c->complaint.empty() && !is_out_of_date(*c, d));
    return is_trusted ? fix_server(f, says(asio::error::connection_refused)) : fix_certificate(f, d);
}

findings reachable(node_facts const& f, demands const& d)
{
    if (!f.is_server) {
        bool const answers = f.probe.failed_at.empty() || f.probe.is_taken;
        return {{.level = answers ? level::ok : level::critical,
                 .why = answers ? "it votes" : fmt::format("it does not vote: {}", printable(f.probe.message)),
                 .fix = answers ? "" : d.call.with("--verbose", "").line()}};
    }
    if (f.hello.what != reply::kind::silence)
        return {{.why = "it answers"}};
    if (f.vote.error == errc::unsupported_server)
        return {{.level = level::critical,
                 .why = fmt::format("it cannot vote: {}", printable(f.vote.message)),
                 .fix = d.call.with_node(f.name, f.place.at("HOST", f.place.port).url()).line()
                        + "  # HOST: the server itself"}};
    if (f.is_other_transport)
        return {other_transport(f, d)};
    return {{.level = level::critical,
             .why = fmt::format("it does not answer ({}), so it does not vote", printable(f.hello.text)),
             .fix = fix_silence(f, d)}};
}

// A server that has reached maxclients also refuses redis-cli until another client disconnects, so the line loops.
std::string raise_maxclients(node_facts const& f)
{
    auto const client = f.place.admin_client();
    return fmt::format("until n=$({0} CONFIG GET maxclients | tee /dev/stderr | grep -x '[0-9][0-9]*') && "
                       "{0} CONFIG SET maxclients $((n * 2)) | tee /dev/stderr | grep -q OK; do sleep 1; done"
                       "  # it connects when a client disconnects: close idle ones",
                       client);
}

// In protected mode, a server without a password accepts only clients of its own host.
std::string set_password(node_facts const& f)
{
    return fmt::format("head -n 1 {0} | tr -d '\\n' | redis-cli -p {1} -x CONFIG SET requirepass"
                       "  # on {2}; {0}: its first line is the new password",
                       some_file, f.place.port, host_of(f));
}

std::string fix_login(node_facts const& f, demands const& d)
{
    auto const& words = f.hello.said;
    auto const says = [&](char const* text) { return words.find(text) != words.npos; };
    if (is_forbidden(f.hello))
        return allow(f, says("select") ? "+select" : "+hello");
    if (says("max number of clients"))
        return raise_maxclients(f);
    if (words.starts_with("DENIED"))
        return set_password(f);
    if (says("DB index"))
        return f.place.admin_client() + " CONFIG GET databases  # the number in the URL must be lower";
    return d.call.with("--password-file", std::string(some_file)).line() + "  # FILE: its first line is the password";
}

findings login(node_facts const& f, demands const& d)
{
    if (f.hello.what == reply::kind::silence)
        return {};
    if (!f.hello.failed())
        return {{.why = fmt::format("the server lets in the user {}", printable(f.place.user))}};
    return {{.level = level::critical,
             .why = fmt::format("the server does not let in the user {}: {}", printable(f.place.user),
                                printable(f.hello.text)),
             .fix = fix_login(f, d)}};
}

findings certificate(node_facts const& f, demands const& d)
{
    if (f.is_other_transport)
        return {};
    auto const& c = *f.certificate;
    if (!c.unread.empty())
        return {{.level = level::unknown,
                 .why = fmt::format("its certificate could not be read: {}", printable(c.unread)),
                 .fix = fmt::format("openssl s_client -connect {} </dev/null", f.place.host_and_port())}};
    auto const left = std::chrono::floor<days>(c.ends - d.now);
    auto const is_over = c.ends <= d.now, is_early = c.begins > d.now;
    finding found{.values = {{"days_left", left.count()}}};
    found.level = is_over || is_early || !c.complaint.empty() || left < renew_at_once ? level::critical
                  : left < renew_before                                               ? level::warning
                                                                                      : level::ok;
    if (is_over)
        found.why = fmt::format("its certificate has ended on {:%F}, so no client connects", c.ends);
    else if (is_early)
        found.why = fmt::format("its certificate begins on {:%F} only, so no client connects", c.begins);
    else if (!c.complaint.empty())
        found.why = fmt::format("its certificate is not trusted, so no client connects: {}", c.complaint);
    else
        found.why = fmt::format("its certificate ends in {}, on {:%F}", counted(left.count(), "day"), c.ends);
    if (found.level != level::ok)
        found.fix = fix_certificate(f, d);
    return {std::move(found)};
}

constexpr std::array all_of_reach{
    check{"reachable", nullptr, "", "", reachable, subject::node},
    check{"login", nullptr, "", "", login},
    check{"certificate", nullptr, "", "", certificate, subject::tls_server},
};

}  // namespace

constinit std::span<check const> const reach_checks{all_of_reach};

}  // namespace redlock::cli::doctor
