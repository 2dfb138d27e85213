#include "tools/serve/http_connection.hpp"

#include "tools/serve/framing.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace redlock::serve {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto idle_time = 60s;           // between two requests
constexpr auto transfer_time = 10s;       // for one request, or one answer
constexpr auto brief_transfer_time = 1s;  // for an answer to a client that is not known
constexpr auto goodbye_time = 1s;
constexpr auto check_time = 5s;  // how late a client is disconnected at most
constexpr std::size_t header_max = 16 * 1024, body_max = 256 * 1024;
constexpr std::size_t early_input_max = 64 * 1024;  // while a request is under way

// The answer to what is no request, or too large.
response refusal_of(request const& r, error_code ec)
{
    auto const status = ec == http::error::body_limit     ? http::status::payload_too_large
                        : ec == http::error::header_limit ? http::status::request_header_fields_too_large
                                                          : http::status::bad_request;
    return problem(r, status, "bad-request", "The request is wrong", ec.message());
}

// The time in the form of RFC 9110.
std::string const& date_now()
{
    auto const now = std::time(nullptr);
    thread_local std::pair<std::time_t, std::string> latest;
    if (latest.first != now) {
        std::tm parts{};
        ::gmtime_r(&now, &parts);
        latest = {now, fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", parts)};
    }
    return latest.second;
}

// By hand, because http::serializer takes several times as long.
std::string text_of(response const& r, bool with_body)
{
    std::string text;
    text.reserve(512 + (with_body ? r.body().size() : 0));
    text += r.version() == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
    auto const add = [&](auto const&... parts) { (text.append(parts.data(), parts.size()), ...); };
    using namespace std::string_view_literals;
    add(std::to_string(r.result_int()), " "sv, r.reason(), "\r\n"sv);
    for (auto const& field : r)
        add(field.name_string(), ": "sv, field.value(), "\r\n"sv);
    add("Date: "sv, date_now(), "\r\n\r\n"sv);
    if (with_body)
        add(r.body());
    return text;
}

/** A state machine, because coroutines for each part of each request would double the time of a request.

    A read is always pending while a request is under way, so that the end of the connection is noticed.
*/
template <class Stream>
class connection_on final : public http_connection, public std::enable_shared_from_this<connection_on<Stream>> {
public:
    template <class... More>
    connection_on(socket s, std::size_t number, api& a, asio::any_io_executor of_api, More&... more)
        : number_(number),
          api_(a),
          of_api_(std::move(of_api)),
          stream_(std::move(s), more...),
          timer_(stream_.get_executor())
    {
    }

    void start(std::function<void()> ended) override
    {
        on_thread([this, ended = std::move(ended)]() mutable {
            ended_ = std::move(ended);
            set_deadline(transfer_time);
            watch_deadline();
            if constexpr (is_tls) {
                ++pending_;
                stream_.async_handshake(asio::ssl::stream_base::server,
                                        [self = this->shared_from_this()](error_code ec) {
                                            --self->pending_;
                                            ec ? self->end() : self->begin_request();
                                            self->finish();
                                        });
            } else {
                begin_request();
            }
        });
    }

    void stop() override
    {
        on_thread([this] {
            stopping_ = true;
            if (now_ == state::waiting)
                end();
        });
    }

    void drop() override
    {
        on_thread([this] {
            gone_ = true;  // the end of TLS would wait for the client
            end();
        });
    }

    void drop_if_idle() override
    {
        on_thread([this] {
            if (!is_under_way())
                drop();
        });
    }

    void close() override
    {
        on_thread([this] { end(); });
    }

private:
    enum class state { waiting, reading, checking, handling, sending, streaming, draining, ended };
    static constexpr bool is_tls = !std::is_same_v<Stream, socket>;

    /// The signal of a coroutine on the executor of the api.
    struct call_under_way {
        asio::cancellation_signal signal{};
    };

    template <class F>
    void on_thread(F f)
    {
        asio::dispatch(stream_.get_executor(), [self = this->shared_from_this(), f = std::move(f)]() mutable {
            f();
            self->finish();
        });
    }

    void set_deadline(steady_clock::duration d) { deadline_ = steady_clock::now() + d; }
    void set_no_deadline() { deadline_ = steady_clock::time_point::max(); }

    // The deadline changes with each part of each request. A timer that is set each time would cost more.
    void watch_deadline()
    {
        timer_.expires_after(check_time);
        timer_.async_wait([self = this->shared_from_this()](error_code ec) {
            if (ec || self->now_ == state::ended)
                return;
            if (steady_clock::now() >= self->deadline_) {
                self->end();
                self->finish();
            } else {
                self->watch_deadline();
            }
        });
    }

    void begin_request()
    {
        now_ = state::waiting;
        set_idle(true);
        parser_.emplace();
        parser_->header_limit(header_max);
        parser_->body_limit(body_max);
        parser_->eager(true);
        is_checked_ = false;
        set_deadline(std::exchange(had_request_, true) ? idle_time : transfer_time);
        parse();
    }

    void parse()
    {
        error_code ec;
        bool const has_begun = input_.size() > 0;
        while (input_.size() > 0 && !parser_->is_done() && !ec)
            input_.consume(parser_->put(input_.data(), ec));
        if (ec && ec != http::error::need_more)
            return refuse(refusal_of(parser_->get(), ec));
        if (parser_->is_done())
            return handle();
        if (gone_)
            return end();
        if (now_ == state::waiting && has_begun) {
            now_ = state::reading;
            set_deadline(transfer_time);
        }
        if (parser_->is_header_done() && !std::exchange(is_checked_, true))
            return check();
        if (parser_->is_header_done() && beast::iequals(parser_->get()[http::field::expect], "100-continue"))
            return ask_for_body();
        read();
    }

    // A client that may not send this request must not send its body either. Meanwhile, nothing more is read: the body
    // may be longer than other input that comes early.
    void check()
    {
        auto const& header = parser_->get();
        if (refuses_framing(header))
            return;
        now_ = state::checking;
        set_idle(false);
        set_no_deadline();
        auto const body = static_cast<std::size_t>(parser_->content_length().value_or(body_max));
        call<std::optional<response>>(api_.check(header, number_, body),
                                      [this](std::exception_ptr failure, std::optional<response> refusal) {
                                          if (now_ == state::ended || failure)
                                              return end();
                                          if (refusal) {
                                              refuse(std::move(*refusal));
                                          } else {
                                              now_ = state::reading;
                                              set_idle(true);
                                              set_deadline(transfer_time);
                                              parse();
                                          }
                                      });
    }

    bool refuses_framing(request const& r)
    {
        auto refusal = refusal_of_framing(r);
        if (refusal)
            refuse(std::move(*refusal));
        return refusal.has_value();
    }

    void ask_for_body()
    {
        parser_->get().erase(http::field::expect);
        write("HTTP/1.1 100 Continue\r\n\r\n", [this](error_code ec) { ec || now_ == state::ended ? end() : read(); });
    }

    void read()
    {
        if (reads_ || gone_ || input_.size() >= input_.max_size() - piece_.size())
            return;
        reads_ = true;
        ++pending_;
        stream_.async_read_some(asio::buffer(piece_), [self = this->shared_from_this()](error_code ec, std::size_t n) {
            self->reads_ = false;
            --self->pending_;
            self->input_.commit(asio::buffer_copy(self->input_.prepare(n), asio::buffer(self->piece_, n)));
            self->gone_ = self->gone_ || ec;
            self->after_read();
            self->finish();
        });
    }

    void after_read()
    {
        if (now_ == state::ended)
            return say_goodbye();
        if (now_ == state::checking)
            return;
        if (now_ == state::waiting || now_ == state::reading)
            return parse();
        if (gone_ && now_ != state::sending)
            return end();
        if (now_ == state::draining)
            input_.clear();
        // More input is not read, so the end of the connection would not be noticed.
        if (input_.size() >= early_input_max)
            return end();
        read();
    }

    // The rest of the request is not read, so the connection ends after the answer.
    void refuse(response refusal)
    {
        if (parser_)
            asked_ = parser_->release();
        is_refused_ = true;
        refusal.keep_alive(false);
        send(std::move(refusal));
    }

    void handle()
    {
        now_ = state::handling;
        set_idle(false);
        asked_ = parser_->release();
        parser_.reset();
        if (refuses_framing(asked_))
            return;
        set_no_deadline();
        read();
        call<answer>(api_.handle(asked_, number_), [this](std::exception_ptr failure, answer a) {
            if (now_ == state::ended || failure) {
                answer_ = std::move(a);  // its events end on the executor of the api
                give_back(answer_);
                end();
            } else {
                send(std::move(a));
            }
        });
    }

    // Runs a coroutine on the executor of the api, and @p then on ours.
    template <class T, class Then>
    void call(asio::awaitable<T> what, Then then)
    {
        ++pending_;
        call_ = std::make_shared<call_under_way>();
        auto ended = [self = this->shared_from_this(), call = call_, then](std::exception_ptr failure, T result) {
            asio::dispatch(self->stream_.get_executor(), [self, then, failure, result = std::move(result)]() mutable {
                --self->pending_;
                self->call_.reset();
                then(failure, std::move(result));
                self->finish();
            });
        };
        asio::co_spawn(of_api_, std::move(what), asio::bind_cancellation_slot(call_->signal.slot(), std::move(ended)));
    }

    void send(answer a)
    {
        now_ = state::sending;
        answer_ = std::move(a);
        api_.count(answer_.response);
        set_idle(!answer_.events && !is_known());
        set_answered();
        stays_ = answer_.response.keep_alive() && !stopping_ && !answer_.events;
        answer_.response.keep_alive(stays_);
        auto text = text_of(answer_.response, asked_.method() != http::verb::head);
        answer_.response.body() = {};  // a long one must not be kept twice
        write(std::move(text), [this](error_code ec) {
            answer_was_read();
            if (ec)
                give_back(answer_);
            if (ec || now_ == state::ended)
                end();
            else if (answer_.events)
                begin_stream();
            else if (stays_ && !gone_)
                begin_request();
            else if (is_refused_)
                drain();
            else
                end();
        });
    }

    void answer_was_read()
    {
        if (output_.size() > short_bytes)
            output_ = {};
        if (answer_.unread)
            asio::post(of_api_, [unread = std::move(answer_.unread)]() mutable { unread.reset(); });
    }

    template <class Then>
    void write(std::string text, Then then)
    {
        output_ = std::move(text);
        set_deadline(is_known() ? transfer_time : brief_transfer_time);
        ++pending_;
        asio::async_write(stream_, asio::buffer(output_),
                          [self = this->shared_from_this(), then](error_code ec, std::size_t) {
                              --self->pending_;
                              then(ec);
                              self->finish();
                          });
    }

    // A client that is still sending would lose the answer if the connection were closed now.
    void drain()
    {
        now_ = state::draining;
        set_deadline(goodbye_time);
        error_code ec;
        stream_.lowest_layer().shutdown(asio::socket_base::shutdown_send, ec);
        input_.clear();
        if (gone_ || ec)
            return end();
        read();
    }

    void begin_stream()
    {
        now_ = state::streaming;
        if (gone_)
            return end();
        read();
        next_event();
    }

    void next_event()
    {
        set_no_deadline();
        call<std::optional<std::string>>(answer_.events->next(), [this](std::exception_ptr failure, auto text) {
            if (now_ == state::ended || failure || !text)
                return end();
            if (text->empty())
                return next_event();
            write(std::move(*text), [this](error_code ec) { ec || now_ == state::ended ? end() : next_event(); });
        });
    }

    void give_back(answer& a)
    {
        for (auto& lost : std::exchange(a.acquired, {})) {
            ++pending_;
            asio::co_spawn(of_api_, api_.give_back(std::move(lost)),
                           [self = this->shared_from_this()](std::exception_ptr) {
                               asio::dispatch(self->stream_.get_executor(), [self] {
                                   --self->pending_;
                                   self->finish();
                               });
                           });
        }
    }

    void end()
    {
        if (now_ == state::ended)
            return;
        bool const is_polite = is_tls && !gone_ && (now_ == state::sending || now_ == state::streaming);
        now_ = state::ended;
        timer_.cancel();
        if (call_)
            asio::dispatch(of_api_, [call = call_] { call->signal.emit(asio::cancellation_type::terminal); });
        error_code ignored;
        if (!is_polite) {
            stream_.lowest_layer().close(ignored);
        } else {
            says_goodbye_ = true;
            reads_ ? static_cast<void>(stream_.lowest_layer().cancel(ignored)) : say_goodbye();
        }
    }

    // Ends TLS, so that the client knows that nothing is missing. A pending read must have ended before.
    void say_goodbye()
    {
        if constexpr (is_tls) {
            if (!std::exchange(says_goodbye_, false))
                return;
            timer_.expires_after(goodbye_time);
            timer_.async_wait([self = this->shared_from_this()](error_code ec) {
                error_code ignored;
                if (!ec)
                    self->stream_.lowest_layer().close(ignored);
            });
            ++pending_;
            stream_.async_shutdown([self = this->shared_from_this()](error_code) {
                --self->pending_;
                self->timer_.cancel();
                error_code ignored;
                self->stream_.lowest_layer().close(ignored);
                self->finish();
            });
        }
    }

    void finish()
    {
        if (now_ != state::ended || pending_ > 0 || !ended_)
            return;
        error_code ignored;
        stream_.lowest_layer().close(ignored);
        // The stream of a session ends on the executor of the api.
        asio::post(of_api_, [ended = std::exchange(ended_, {}), answer = std::move(answer_)]() mutable {
            answer = {};
            ended();
        });
    }

    std::size_t const number_;
    api& api_;
    asio::any_io_executor const of_api_;
    Stream stream_;
    asio::steady_timer timer_;
    steady_clock::time_point deadline_{};
    std::function<void()> ended_;
    // The pending read has a buffer of its own, because requests are taken from the input meanwhile.
    std::array<char, 1024> piece_{};
    beast::flat_buffer input_{header_max + body_max};
    std::optional<http::request_parser<http::string_body>> parser_;
    request asked_;
    answer answer_;
    std::string output_;
    std::shared_ptr<call_under_way> call_;
    std::size_t pending_ = 0;  ///< operations that call back
    state now_ = state::waiting;
    bool reads_ = false, gone_ = false, stopping_ = false, stays_ = false, says_goodbye_ = false, had_request_ = false,
         is_refused_ = false, is_checked_ = false;
};

}  // namespace

std::shared_ptr<http_connection> http_connection::make(socket s, std::size_t number, api& a,
                                                       asio::any_io_executor of_api, asio::ssl::context* tls)
{
    if (tls)
        return std::make_shared<connection_on<asio::ssl::stream<socket>>>(std::move(s), number, a, std::move(of_api),
                                                                          *tls);
    return std::make_shared<connection_on<socket>>(std::move(s), number, a, std::move(of_api));
}

}  // namespace redlock::serve
