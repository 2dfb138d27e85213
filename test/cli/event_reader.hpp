#pragma once

#include "cli/running_service.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <memory>
#include <string>

namespace redlock::test {

/// An open stream of events.
class event_reader {
public:
    explicit event_reader(service const& s, std::string const& body = {}, http_headers const& more = {})
        : event_reader(s.endpoint(), body, more)
    {
    }

    explicit event_reader(asio::generic::stream_protocol::endpoint const& to, std::string const& body = {},
                          http_headers const& more = {})
        : connection_(std::make_unique<http_connection>(to))
    {
        connection_->send(verb::post, "/v1/sessions", body, more);
        head_ = connection_->read_until("\r\n\r\n");
    }

    std::string const& head() const { return head_; }

    /// Reads up to the next event with this name. @return its data
    boost::json::object next(std::string const& name)
    {
        for (;;) {
            auto const text = connection_->read_until("\n\n");
            if (auto const at = text.find("id: "); at != text.npos)
                last_id = text.substr(at + 4, text.find('\n', at) - at - 4);
            if (!has(text, "event: " + name + "\n")) {
                skipped += text;
                continue;
            }
            auto const at = text.find("data: ") + 6;
            return boost::json::parse(text.substr(at, text.find('\n', at) - at)).as_object();
        }
    }

    std::string session() { return std::string(next("session").at("session").as_string()); }

    std::string rest() { return connection_->read_all(); }

    std::string last_id{}, skipped{};

private:
    std::unique_ptr<http_connection> connection_;
    std::string head_;
};

}  // namespace redlock::test
