// redlock serve: SIGHUP makes it read tokens and certificates again. Secrets that others may read are refused.

#include "cli/event_reader.hpp"
#include "cli/running_service.hpp"
#include "tools/redlock/commands/served_files.hpp"
#include "support/certificates.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <sys/stat.h>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(serve_reload)

namespace {

std::string const goes = "token-that-goes-0123456789", stays = "token-that-stays-0123456789",
                  comes = "token-that-comes-0123456789";

http_headers with(std::string const& token) { return {{"Authorization", "Bearer " + token}}; }

struct service_with_tokens {
    /// Writes the file, and waits until the service has read it and says @p result.
    void reload(std::string const& text, std::string const& result)
    {
        write_secret(file, text);
        hang_up(result);
    }
    void hang_up(std::string const& result)
    {
        auto const count = count_of(s.tool().err(), result);
        s.tool().process().signal(SIGHUP);
        BOOST_TEST(comes_true([&] { return count_of(s.tool().err(), result) > count; }), s.tool().err());
    }
    std::string acquire(std::string const& name, std::string const& token, std::string const& session = "")
    {
        auto const of_session = session.empty() ? "" : ",\"session\":\"" + session + '"';
        auto const won = s.acquire(
            fmt::format(R"({{"resources":["{}"],"ttl_ms":60000,"wait_ms":9000{}}})", name, of_session), with(token));
        BOOST_TEST_REQUIRE(won.status == 201u, won.body);
        return won.text("id");
    }
    unsigned status_with(std::string const& token) const
    {
        return s.ask(verb::get, "/v1/locks", "", with(token)).status;
    }

    testbed::temporary_folder folder;
    std::string const file = [this] {
        write_secret(folder.path + "/tokens", goes + " * lock,read\n" + stays + " * lock,read,metrics stays\n");
        return folder.path + "/tokens";
    }();
    real_servers r{3};
    service s{r, {"--token-file", file}};
};

/// A client of a service with TLS, whose certificates are signed for `localhost`.
class tls_client {
public:
    tls_client(service const& s, certificates const& c) : trust_(asio::ssl::context::tls_client)
    {
        trust_.load_verify_file(c.file("ca.pem"));
        trust_.set_verify_mode(asio::ssl::verify_peer);
        stream_ = std::make_unique<asio::ssl::stream<asio::generic::stream_protocol::socket>>(context_, trust_);
        stream_->next_layer().connect(s.endpoint());
        stream_->handshake(asio::ssl::stream_base::client);
    }

    /// The common name of the certificate that the service shows.
    std::string name() const
    {
        std::unique_ptr<X509, void (*)(X509*)> const shown(::SSL_get1_peer_certificate(stream_->native_handle()),
                                                           &::X509_free);
        std::array<char, 100> text{};
        ::X509_NAME_get_text_by_NID(::X509_get_subject_name(shown.get()), NID_commonName, text.data(), text.size());
        return text.data();
    }

    unsigned ask()
    {
        http::request<http::empty_body> r(verb::get, "/healthz", 11);
        r.set(http::field::host, "localhost");
        http::write(*stream_, r);
        http::response<http::string_body> answer;
        http::read(*stream_, input_, answer);
        return answer.result_int();
    }

private:
    asio::io_context context_;
    asio::ssl::context trust_;
    std::unique_ptr<asio::ssl::stream<asio::generic::stream_protocol::socket>> stream_;
    boost::beast::flat_buffer input_;
};

struct stat file_of(mode_t mode, uid_t owner)
{
    struct stat is {};
    is.st_mode = mode;
    is.st_uid = owner;
    return is;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(sighup_refuses_a_token_that_has_gone_and_ends_its_sessions, service_with_tokens)
{
    auto connected = s.connect();
    BOOST_TEST(connected.ask(verb::get, "/v1/locks", "", with(goes)).status == 200u);
    event_reader ends(s, R"({"grace_ms":60000})", with(goes)), lives(s, "", with(stays));
    auto const session = lives.session();
    acquire("a", goes, ends.session());
    auto const kept = acquire("b", stays, session);

    reload(stays + " * lock,read,metrics stays\n" + comes + " * lock,read\n", "was read again: ended sessions: 1");

    BOOST_TEST(connected.ask(verb::get, "/v1/locks", "", with(goes)).status == 401u);
    BOOST_TEST(status_with(comes) == 200u);
    BOOST_TEST(!has(ends.rest(), "event: stopping"));
    event_reader again(s, "", {{"Authorization", "Bearer " + goes}, {"Last-Event-ID", ends.last_id}});
    BOOST_TEST(has(again.head(), " 401 "));
    BOOST_TEST(r[0].ask({"EXISTS", "lock:a"}) == "1");  // the client may still be at work
    BOOST_TEST(s.ask(verb::get, "/v1/sessions/" + session, "", with(stays)).json().at("locks").as_array().size() == 1u);
    BOOST_TEST(s.ask(verb::delete_, "/v1/held/" + kept, "", with(stays)).status == 204u);
    BOOST_TEST(!has(s.tool().err(), goes), s.tool().err());
}

BOOST_FIXTURE_TEST_CASE(sighup_ends_a_session_with_a_lock_that_is_not_permitted, service_with_tokens)
{
    event_reader one(s, "", with(goes)), two(s, "", with(goes));
    acquire("jobs/1", goes, one.session());
    auto const session = two.session();
    acquire("other", goes, session);

    reload(goes + " other lock,read\n" + stays + " * lock,read,metrics stays\n", "was read again: ended sessions: 1");

    BOOST_TEST(!has(one.rest(), "event: lost"));
    BOOST_TEST(s.ask(verb::get, "/v1/sessions/" + session, "", with(goes)).status == 200u);
}

BOOST_FIXTURE_TEST_CASE(sighup_gives_no_lock_to_a_waiting_request_of_a_gone_token, service_with_tokens)
{
    auto const held = acquire("a", stays);
    auto waits = s.connect();
    waits.send(verb::post, "/v1/locks", R"({"resources":["a"],"ttl_ms":60000,"wait_ms":60000})", with(goes));
    BOOST_TEST(comes_true(
        [&] { return has(s.ask(verb::get, "/metrics", "", with(stays)).body, "redlock_service_waiting 1\n"); }));
    reload(stays + " * lock,read\n", "was read again: ended sessions: 0");

    BOOST_TEST(s.ask(verb::delete_, "/v1/held/" + held, "", with(stays)).status == 204u);

    BOOST_TEST(waits.receive().status == 403u);
    acquire("a", stays);
}

BOOST_FIXTURE_TEST_CASE(sighup_ends_the_right_to_repeat_a_request, service_with_tokens)
{
    http_headers const again{{"Authorization", "Bearer " + goes}, {"Idempotency-Key", "1"}};
    auto const body = R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})";
    BOOST_TEST(s.acquire(body, again).status == 201u);
    BOOST_TEST(s.acquire(body, again).status == 201u);

    reload(goes + " other lock,read\n", "was read again: ended sessions: 0");

    BOOST_TEST(s.acquire(body, again).status == 403u);
}

BOOST_FIXTURE_TEST_CASE(sighup_with_other_keys_believes_ids_of_the_keys_that_stay, service_with_tokens)
{
    auto const token = stays + " * lock\n";
    std::string const first = "key first-key-0123456789\n", second = "key second-key-0123456789\n";
    auto const path = "/v1/held/" + acquire("a", stays);
    auto const status = [&](std::string const& lock) { return s.ask(verb::patch, lock, "", with(stays)).status; };
    reload(token + first, "was read again: ended sessions: 0");
    BOOST_TEST(status(path) == 200u);  // before, all tokens together were the key
    auto const next = "/v1/held/" + acquire("b", stays);
    reload(token + second + first, "was read again: ended sessions: 0");
    BOOST_TEST(status(next) == 200u);

    reload(token + second, "was read again: ended sessions: 0");

    BOOST_TEST(status(next) == 404u);
    BOOST_TEST(status(path) == 200u);
}

BOOST_FIXTURE_TEST_CASE(sighup_with_a_broken_token_file_keeps_the_old_tokens, service_with_tokens)
{
    hang_up("was read again: it has not changed");
    reload(comes + " * lock\n" + stays + " * lok\n", "tokens\" cannot be used: line 2: there is no right \"lok\"; "
                                                     "there are lock, read, break and metrics. The old tokens "
                                                     "stay in use");
    BOOST_TEST(status_with(stays) == 200u);
    BOOST_TEST(status_with(comes) == 401u);
    write_secret(file, stays + " * lock\n", 0644);
    hang_up("has the mode 0644, so other users may read or change it: chmod 600 " + file);
    std::remove(file.c_str());
    hang_up("tokens\" cannot be read: No such file or directory. The old tokens stay in use");
    BOOST_TEST(status_with(stays) == 200u);
    hang_up("cannot be read");  // and again
    for (auto const& token : {goes, stays, comes})
        BOOST_TEST(!has(s.tool().err(), token), s.tool().err());
    BOOST_TEST(s.tool().end_by(SIGTERM).status == 0);
}

BOOST_AUTO_TEST_CASE(sighup_uses_the_new_certificate_for_new_connections)
{
    certificates own;
    own.make("cp server.pem now.pem && cp server.key now.key");
    real_servers r(1);
    service s(r, {"--threads", "2", "--tls", own.file("now.pem"), own.file("now.key")});
    tls_client old(s, own);
    BOOST_TEST(old.name() == "server");
    BOOST_TEST(old.ask() == 200u);
    auto const reload = [&](std::string const& change, std::string const& result) {
        own.make(change);
        s.tool().process().signal(SIGHUP);
        BOOST_TEST(s.tool().complains(result), s.tool().err());
    };

    reload("cp elsewhere.pem now.pem && cp elsewhere.key now.key", "now.pem\" was read again, for new connections");

    BOOST_TEST(tls_client(s, own).name() == "elsewhere");
    BOOST_TEST(old.ask() == 200u);
    reload("cp server.pem now.pem", "now.key\" cannot be used: ");
    reload("openssl ecparam -name prime256v1 -genkey -noout -out now.key", "it is not the key of ");
    reload("openssl rsa -aes128 -passout pass:word -in server.key -out now.key", "it has a passphrase, for which only");
    reload("chmod 640 now.key", "has the mode 0640, so other users may read or change it: chmod 600 ");
    reload(": >now.pem", "now.pem\" cannot be used: ");
    BOOST_TEST(comes_true([&] { return count_of(s.tool().err(), "The old certificate stays in use") == 5; }));
    BOOST_TEST(tls_client(s, own).name() == "elsewhere");
    BOOST_TEST(s.tool().end_by(SIGTERM).status == 0);
}

BOOST_AUTO_TEST_CASE(sighup_without_files_changes_nothing)
{
    real_servers r(1);
    service s(r);
    s.tool().process().signal(SIGHUP);
    BOOST_TEST(s.tool().complains("SIGHUP: there is no --token-file and no --tls to read again"), s.tool().err());
    BOOST_TEST(s.ask(verb::get, "/v1/locks").status == 200u);
}

BOOST_AUTO_TEST_CASE(sighup_while_the_service_ends_does_not_end_it_at_once)
{
    real_servers r(1);
    service s(r, {"--drain", "60s"});
    auto slow = s.connect(), idle = s.connect();
    slow.send_bytes("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n");
    BOOST_TEST(s.ask(verb::get, "/healthz").status == 200u);
    s.tool().process().signal(SIGTERM);
    BOOST_TEST(idle.is_closed());
    s.tool().process().signal(SIGHUP);
    slow.send_bytes("\r\n");
    BOOST_TEST(slow.receive().status == 200u);
    BOOST_TEST(s.tool().wait().status == 0);
}

BOOST_AUTO_TEST_CASE(serve_reads_tokens_from_a_pipe_once)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    auto const pipe = folder.path + "/pipe";
    service s(r, {"--token-file", pipe}, "127.0.0.1:0",
              "mkfifo -m 666 " + pipe + " && (sleep 0.2; echo " + stays + " '*' read >" + pipe + ") &");
    BOOST_TEST(s.ask(verb::get, "/v1/locks", "", with(stays)).status == 200u);
    s.tool().process().signal(SIGHUP);
    BOOST_TEST(s.tool().complains("pipe\" is no regular file, so it cannot be read again: restart the service"),
               s.tool().err());
    BOOST_TEST(s.ask(verb::get, "/v1/locks", "", with(stays)).status == 200u);
}

BOOST_AUTO_TEST_CASE(serve_refuses_secrets_that_others_may_read)
{
    testbed::temporary_folder folder;
    auto const file = folder.path + "/tokens";
    certificates own;
    for (mode_t const mode : {0604, 0640, 0620, 0602}) {
        write_secret(file, stays + " * lock\n", mode);
        must_say(run_tool({"-u", "memory://a", "serve", "--token-file", file}), 64, "--token-file", file,
                 "chmod 600 " + file);
    }
    own.make("chmod 644 server.key");
    must_say(run_tool({"-u", "memory://a", "serve", "--tls", own.file("server.pem"), own.file("server.key")}), 64,
             "--tls", "mode 0644", "chmod 600 " + own.file("server.key"));
    own.make("openssl ecparam -name prime256v1 -genkey -noout -out other.key");
    must_say(run_tool({"-u", "memory://a", "serve", "--tls", own.file("server.pem"), own.file("other.key")}), 64,
             "it is not the key of \"" + own.file("server.pem"));
}

// systemd gives a service the credentials of root by an access list, which fstat shows as the rights of the group.
BOOST_AUTO_TEST_CASE(lax_mode_permits_a_group_to_read_a_file_of_another_user)
{
    using redlock::cli::lax_mode;
    BOOST_TEST(lax_mode("f", file_of(S_IFREG | 0440, 0), 1000) == "");
    BOOST_TEST(lax_mode("f", file_of(S_IFREG | 0400, 1000), 1000) == "");
    BOOST_TEST(lax_mode("f", file_of(S_IFREG | 0640, 0), 1000) == "");
    BOOST_TEST(lax_mode("f", file_of(S_IFIFO | 0666, 1000), 1000) == "");
    for (mode_t const mode : {0444, 0660, 0442})
        BOOST_TEST(has(lax_mode("f", file_of(S_IFREG | mode, 0), 1000), "chmod 640 f"), mode);
    BOOST_TEST(has(lax_mode("f", file_of(S_IFREG | 0440, 0), 0), "has the mode 0440"));
}

// A client knows its lock by the id and the entity tag that it was given.
BOOST_FIXTURE_TEST_CASE(sighup_with_a_new_key_changes_no_id_of_a_held_lock, service_with_tokens)
{
    event_reader stream(s, "", with(stays));
    auto const session = stream.session();
    auto const won = s.acquire(
        fmt::format(R"({{"resources":["a"],"ttl_ms":5000,"wait_ms":9000,"session":"{}"}})", session), with(stays));
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    auto const seen = s.ask(verb::get, "/v1/locks/a", "", with(stays)).etag;
    reload("key a-new-key-0123456789\n" + stays + " * lock,read,break stays\n", "was read again: ended sessions: 0");

    BOOST_TEST(stream.next("valid").at("id").as_string() == won.text("id"));
    auto const shown = s.ask(verb::get, "/v1/sessions/" + session, "", with(stays)).json().at("locks").as_array();
    BOOST_TEST(shown.at(0).at("id").as_string() == won.text("id"));
    auto headers = with(stays);
    headers.emplace_back("If-Match", won.etag);
    BOOST_TEST(s.ask(verb::patch, "/v1/held/" + won.text("id"), "", headers).status == 200u);
    headers.back().second = seen;
    BOOST_TEST(s.ask(verb::post, "/v1/locks/a/break", "", headers).status == 200u);
    stream.next("lost");
}

BOOST_AUTO_TEST_SUITE_END()
