#pragma once

#include "cli/doctor_report.hpp"
#include "support/real_servers.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace http = boost::beast::http;
using http::verb;
using http_headers = std::vector<std::pair<std::string, std::string>>;

/// The answer of the service.
struct http_answer {
    unsigned status = 0;
    std::string body{}, etag{}, retry_after{};

    boost::json::object json() const { return boost::json::parse(body).as_object(); }
    std::string text(char const* name) const { return std::string(json().at(name).as_string()); }
    std::int64_t number(char const* name) const { return json().at(name).to_number<std::int64_t>(); }
};

/// A connection to the service.
class http_connection {
public:
    explicit http_connection(asio::generic::stream_protocol::endpoint const& to) : socket_(context_)
    {
        socket_.connect(to);
    }

    void send(verb method, std::string const& target, std::string body = {}, http_headers const& more = {})
    {
        http::request<http::string_body> r(method, target, 11);
        r.set(http::field::host, "localhost");
        for (auto const& [name, value] : more)
            r.set(name, value);
        r.body() = std::move(body);
        r.prepare_payload();
        http::write(socket_, r);
    }

    void send_bytes(std::string const& bytes)
    {
        boost::system::error_code ignored;  // the service may have closed the connection already
        asio::write(socket_, asio::buffer(bytes), ignored);
    }

    http_answer receive()
    {
        http::response<http::string_body> r;
        http::read(socket_, input_, r);
        return {r.result_int(), r.body(), std::string(r[http::field::etag]), std::string(r[http::field::retry_after])};
    }

    http_answer ask(verb method, std::string const& target, std::string body = {}, http_headers const& more = {})
    {
        send(method, target, std::move(body), more);
        return receive();
    }

    /// Reads up to and with @p end, or up to the end of the connection.
    std::string read_until(std::string const& end)
    {
        boost::system::error_code ec;
        for (;;) {
            std::string text(static_cast<char const*>(input_.data().data()), input_.size());
            if (auto const at = text.find(end); at != text.npos) {
                input_.consume(at + end.size());
                return text.substr(0, at + end.size());
            }
            BOOST_TEST_REQUIRE(!ec, '"' << text << "\": " << ec.message());
            input_.commit(socket_.read_some(input_.prepare(4096), ec));
        }
    }

    /// Reads up to the end of the connection.
    std::string read_all()
    {
        boost::system::error_code ec;
        while (!ec)
            input_.commit(socket_.read_some(input_.prepare(4096), ec));
        std::string text(static_cast<char const*>(input_.data().data()), input_.size());
        input_.consume(input_.size());
        return text;
    }

    bool is_closed()
    {
        char byte = 0;
        boost::system::error_code ec;
        socket_.read_some(asio::buffer(&byte, 1), ec);
        return ec.failed();
    }

private:
    asio::io_context context_;
    asio::generic::stream_protocol::socket socket_;
    boost::beast::flat_buffer input_;
};

/// A running `redlock serve` on the servers, and its address.
class service {
public:
    /// @param before  see @ref started_tool
    service(real_servers& r, std::vector<std::string> const& options = {}, std::string const& address = "127.0.0.1:0",
            std::string const& before = "")
        : tool_(words(r, options, address), without_nodes(), "", before)
    {
        BOOST_TEST_REQUIRE(tool_.complains("redlock serve: "), tool_.err());
        BOOST_TEST_REQUIRE(comes_true([&] { return tool_.err().ends_with('\n'); }));
        auto const all = tool_.err();
        auto const told = all.substr(0, all.find('\n') + 1);  // a second line may say why no lock can be granted
        if (auto const at = told.find("unix:"); at != told.npos) {
            url_ = told.substr(at, told.size() - at - 1);
            to_ = asio::local::stream_protocol::endpoint(url_.substr(5));
        } else {
            auto const port = std::stoi(told.substr(told.rfind(':') + 1));
            url_ = (has(told, "https://") ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port);
            to_ = asio::ip::tcp::endpoint(asio::ip::make_address("127.0.0.1"), static_cast<unsigned short>(port));
        }
    }

    /// "http://127.0.0.1:PORT", "https://127.0.0.1:PORT" or "unix:PATH"
    std::string const& url() const { return url_; }

    asio::generic::stream_protocol::endpoint const& endpoint() const { return to_; }

    http_connection connect() const { return http_connection(to_); }

    http_answer ask(verb method, std::string const& target, std::string body = {}, http_headers const& more = {}) const
    {
        return connect().ask(method, target, std::move(body), more);
    }

    http_answer acquire(std::string const& body, http_headers const& more = {}) const
    {
        return ask(verb::post, "/v1/locks", body, more);
    }

    started_tool& tool() { return tool_; }

private:
    static std::vector<std::string> words(real_servers& r, std::vector<std::string> const& options,
                                          std::string const& address)
    {
        std::vector<std::string> all;
        for (auto const& s : r.servers)
            all.insert(all.end(), {"-u", s->url()});
        all.insert(all.end(), {"--node-timeout", "3s", "serve", "--listen", address});
        all.insert(all.end(), options.begin(), options.end());
        return all;
    }

    started_tool tool_;
    std::string url_;
    asio::generic::stream_protocol::endpoint to_;
};

}  // namespace redlock::test
