#include "etcd_floor.hpp"

#include "threads.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

std::string base64(std::string_view text)
{
    namespace encoding = boost::beast::detail::base64;
    std::string to(encoding::encoded_size(text.size()), '\0');
    to.resize(encoding::encode(to.data(), text.data(), text.size()));
    return to;
}

class gateway {
public:
    std::size_t number = 0;  ///< part of the names of its keys

    explicit gateway(std::uint16_t port) : socket_(context_)
    {
        socket_.connect({asio::ip::address_v4::loopback(), port});
        socket_.set_option(asio::ip::tcp::no_delay(true));
        auto const granted = ask("/v3/lease/grant", R"({"TTL":"600"})");
        constexpr std::string_view label = R"("ID":")";
        auto const at = granted.find(label);
        if (at == granted.npos)
            throw std::runtime_error("etcd: " + granted);
        lease_ = granted.substr(at + label.size(), granted.find('"', at + label.size()) - at - label.size());
    }

    void cycle(std::string const& key)
    {
        static auto const value = base64("a value of the usual length, of about 50 bytes");
        carry_out(fmt::format(
            R"({{"compare":[{{"target":"CREATE","key":"{0}","create_revision":"0"}}],"success":[{{"request_put":{{"key":"{0}","value":"{1}","lease":"{2}"}}}}]}})",
            key, value, lease_));
        carry_out(fmt::format(
            R"({{"compare":[{{"target":"VALUE","key":"{0}","value":"{1}"}}],"success":[{{"request_delete_range":{{"key":"{0}"}}}}]}})",
            key, value));
    }

private:
    void carry_out(std::string const& transaction)
    {
        if (auto const said = ask("/v3/kv/txn", transaction); said.find(R"("succeeded":true)") == said.npos)
            throw std::runtime_error("etcd: " + said);
    }

    std::string ask(std::string_view path, std::string const& body)
    {
        http::request<http::string_body> question(http::verb::post, path, 11);
        question.set(http::field::host, "127.0.0.1");
        question.body() = body;
        question.prepare_payload();
        http::write(socket_, question);
        http::response<http::string_body> answer;
        http::read(socket_, buffer_, answer);
        return answer.body();
    }

    asio::io_context context_;
    asio::ip::tcp::socket socket_;
    boost::beast::flat_buffer buffer_;
    std::string lease_;
};

}  // namespace

sample run_etcd_floor(std::uint16_t port, std::size_t connections, std::chrono::milliseconds duration)
{
    std::vector<std::unique_ptr<gateway>> all;
    for (std::size_t i = 0; i < connections; ++i) {
        all.push_back(std::make_unique<gateway>(port));
        all.back()->number = i;
    }
    return run_threads(all, duration, [](auto& g, auto number) {
        g->cycle(base64(fmt::format("floor:{}:{:016}", g->number, number)));
    });
}

}  // namespace redlock::bench
