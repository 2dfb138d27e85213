#include "stores/mysql/transport.hpp"

#include "stores/kit/session.hpp"

#include <boost/asio/post.hpp>

#include <errmsg.h>
#include <mysql.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <sys/socket.h>
#include <utility>

namespace redlock::stores::mysql {

namespace {

constexpr std::size_t stack_size = 256 * 1024;  // of a suspended call: TLS needs more than the library's 60 kB

st_mysql* make_handle()
{
    static std::once_flag once;
    std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
    return mysql_init(nullptr);
}

}  // namespace

transport::transport(asio::any_io_executor e, std::shared_ptr<address const> a, std::string where,
                     std::function<void()> unasked)
    : executor_(std::move(e)),
      address_(std::move(a)),
      where_(std::move(where)),
      unasked_(std::move(unasked)),
      handle_(make_handle(), mysql_close)
{
}

transport::~transport() { drop_references(); }

bool transport::set_options()
{
    auto* const h = handle_.get();
    if (!h || mysql_optionsv(h, MYSQL_OPT_NONBLOCK, &stack_size) != 0)
        return false;
    unsigned const no_files = 0;
    my_bool const tls = address_->tls != security::off ? 1 : 0, verify = address_->tls == security::verified ? 1 : 0;
    mysql_optionsv(h, MYSQL_OPT_LOCAL_INFILE, &no_files);
    mysql_optionsv(h, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!address_->ssl_ca.empty())
        mysql_optionsv(h, MYSQL_OPT_SSL_CA, address_->ssl_ca.c_str());
    if (!address_->ssl_cert.empty()) {
        mysql_optionsv(h, MYSQL_OPT_SSL_CERT, address_->ssl_cert.c_str());
        mysql_optionsv(h, MYSQL_OPT_SSL_KEY, address_->ssl_key.c_str());
    }
    mysql_optionsv(h, MYSQL_OPT_SSL_ENFORCE, &tls);
    mysql_optionsv(h, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    return true;
}

/* The library would look up a host name itself, and block; therefore it gets a numeric address. After the server's
   greeting it reads the same bytes again, as the name that the certificate must contain. By then this function has
   replaced the address with the name. If the library read the bytes earlier, it would find the address, and reject the
   certificate. */
void transport::connect(handler done)
{
    done_ = std::move(done);
    within_call_ = true;
    if (!set_options()) {
        answer_ = {.error = CR_UNKNOWN_ERROR, .text = "this build of MariaDB Connector/C has no non-blocking calls"};
        return finish();
    }
    auto const& a = *address_;
    bool const local = where_.empty();
    where_.resize(std::max(where_.size(), a.host.size()) + 1);
    auto const status = mysql_real_connect_start(&made_, handle_.get(), local ? nullptr : where_.c_str(),
                                                 a.user.c_str(), a.password.c_str(), a.database.c_str(), a.port,
                                                 local ? a.socket.c_str() : nullptr, CLIENT_MULTI_RESULTS);
    std::copy_n(a.host.c_str(), a.host.size() + 1, where_.begin());
    perform(
        status, [this](int ready) { return mysql_real_connect_cont(&made_, handle_.get(), ready); },
        [this] { connected(); });
    within_call_ = false;
}

void transport::connected()
{
    if (!made_)
        return fail();
    if (address_->tls != security::off && !mysql_get_ssl_cipher(handle_.get()))
        answer_ = {.error = CR_SSL_CONNECTION_ERROR, .text = "the server does not speak TLS"};
    finish();
}

void transport::ask(std::string text, handler done)
{
    text_ = std::move(text);
    done_ = std::move(done);
    within_call_ = true;
    perform(
        mysql_real_query_start(&outcome_, handle_.get(), text_.data(), text_.size()),
        [this](int ready) { return mysql_real_query_cont(&outcome_, handle_.get(), ready); },
        [this] { outcome_ != 0 ? fail() : store(); });
    within_call_ = false;
}

// A procedure returns its results, and then its final status. The answer has the rows of all results.
void transport::store()
{
    perform(
        mysql_store_result_start(&result_, handle_.get()),
        [this](int ready) { return mysql_store_result_cont(&result_, handle_.get(), ready); }, [this] { stored(); });
}

void transport::stored()
{
    std::unique_ptr<st_mysql_res, void (*)(st_mysql_res*)> const result(std::exchange(result_, nullptr),
                                                                        mysql_free_result);
    if (!result && mysql_errno(handle_.get()) != 0)
        return fail();
    for (MYSQL_ROW row = nullptr; result && (row = mysql_fetch_row(result.get()));) {
        auto const* const sizes = mysql_fetch_lengths(result.get());
        auto& cells = answer_.rows.emplace_back();
        for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i)
            cells.emplace_back(row[i] ? row[i] : "", row[i] ? sizes[i] : 0);
    }
    answer_.begun = answer_.begun || result;
    if (!mysql_more_results(handle_.get()))
        return finish();
    perform(
        mysql_next_result_start(&outcome_, handle_.get()),
        [this](int ready) { return mysql_next_result_cont(&outcome_, handle_.get(), ready); },
        [this] { outcome_ > 0 ? fail() : store(); });
}

void transport::fail()
{
    answer_.error = mysql_errno(handle_.get());
    answer_.text = mysql_error(handle_.get());
    finish();
}

void transport::finish()
{
    auto tell = [done = std::exchange(done_, {}), said = std::exchange(answer_, {})]() mutable {
        done(std::move(said));
    };
    if (!closed_ && descriptor_)
        wait_for(wait::read);
    if (!within_call_)
        return tell();
    asio::post(executor_, [self = shared_from_this(), tell = std::move(tell)]() mutable {
        if (!self->closed_)
            tell();
    });
}

void transport::perform(int status, std::function<int(int)> go_on, std::function<void()> then)
{
    wanted_ = status;
    if (status == 0)
        return then();
    go_on_ = std::move(go_on);
    then_ = std::move(then);
    if (!descriptor_ && !closed_)  // a duplicate, because the library may close its socket at any time
        descriptor_.emplace(executor_, ::fcntl(static_cast<int>(mysql_get_socket(handle_.get())), F_DUPFD_CLOEXEC, 0));
    if (status & MYSQL_WAIT_READ)
        wait_for(wait::read);
    if (status & MYSQL_WAIT_WRITE)
        wait_for(wait::write);
}

void transport::wait_for(wait w)
{
    auto& waiting = w == wait::read ? reading_ : writing_;
    if (std::exchange(waiting, true) || closed_)
        return;
    descriptor_->async_wait(w == wait::read ? descriptor::wait_read : descriptor::wait_write,
                            [self = shared_from_this(), w](error_code ec) { self->on_io(w, ec); });
}

void transport::on_io(wait w, error_code ec)
{
    (w == wait::read ? reading_ : writing_) = false;
    if (closed_ || ec == asio::error::operation_aborted)
        return;
    auto const event = w == wait::read ? MYSQL_WAIT_READ : MYSQL_WAIT_WRITE;
    if (wanted_ == 0 && w == wait::read)
        return look_at_unasked();
    if (wanted_ & event) {
        auto go_on = std::move(go_on_);
        auto then = std::move(then_);
        auto const status = go_on(event);
        perform(status, std::move(go_on), std::move(then));
    }
}

// The library may have read the bytes meanwhile.
void transport::look_at_unasked()
{
    char byte = 0;
    if (::recv(descriptor_->native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0
        && (errno == EAGAIN || errno == EWOULDBLOCK))
        return wait_for(wait::read);
    unasked_();
}

bool transport::is_mariadb() const { return mariadb_connection(handle_.get()) != 0; }

unsigned long transport::id() const { return mysql_thread_id(handle_.get()); }

// If no call is suspended, mysql_close sends a few bytes to end the connection. A suspended call must end before its
// stack is freed. Without the socket it fails at once.
void transport::close()
{
    if (std::exchange(closed_, true))
        return;
    while (wanted_ != 0 && mariadb_cancel(handle_.get()) == 0) {
        auto const go_on = std::move(go_on_);
        perform(go_on(MYSQL_WAIT_READ), go_on, [] {});
    }
    drop_references();
}

void transport::abandon()
{
    closed_ = true;
    kit::silence(handle_ ? static_cast<int>(mysql_get_socket(handle_.get())) : -1);
    drop_references();
}

void transport::drop_references()
{
    descriptor_.reset();
    handle_.reset();
    done_ = {};
    go_on_ = {};
    then_ = {};
}

}  // namespace redlock::stores::mysql
