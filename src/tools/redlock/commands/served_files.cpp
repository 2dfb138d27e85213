#include "tools/redlock/commands/served_files.hpp"

#include "tools/redlock/args/text_file.hpp"

#include <boost/asio/buffer.hpp>

#include <fmt/format.h>

#include <openssl/ssl.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace redlock::cli {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using reading = served_files::reading;

enum class content { open, secret };

[[noreturn]] void refuse_file(std::string_view option, std::string const& path, std::string const& why)
{
    throw std::invalid_argument(fmt::format("{}: \"{}\" {}", option, path, why));
}

/// A descriptor that is closed at the end.
class opened_file {
public:
    // A pipe without a writer must not stop the event loop.
    opened_file(std::string const& path, reading when)
        : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (when == reading::again ? O_NONBLOCK : 0)))
    {
    }
    ~opened_file()
    {
        if (number_ >= 0)
            ::close(number_);
    }
    opened_file(opened_file const&) = delete;
    opened_file& operator=(opened_file const&) = delete;

    int number() const noexcept { return number_; }

private:
    int const number_;
};

// The mode is that of the opened file, so nobody can exchange the file in between.
std::string read_file(std::string_view option, std::string const& path, content what, reading when)
{
    auto const fails = [&] { refuse_file(option, path, "cannot be read: " + std::generic_category().message(errno)); };
    opened_file const file(path, when);
    struct stat is {};
    if (file.number() < 0 || ::fstat(file.number(), &is) != 0)
        fails();
    if (when == reading::again && !S_ISREG(is.st_mode))
        refuse_file(option, path, "is no regular file, so it cannot be read again: restart the service");
    if (auto const why = lax_mode(path, is, ::geteuid()); what == content::secret && !why.empty())
        refuse_file(option, path, why);
    std::string text;
    std::array<char, 4096> piece{};
    for (;;) {
        auto const size = ::read(file.number(), piece.data(), piece.size());
        if (size == 0)
            return text;
        if (size < 0 && errno != EINTR)
            fails();
        text.append(piece.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    }
}

}  // namespace

std::string lax_mode(std::string const& path, struct stat const& is, uid_t own)
{
    bool const is_ours = is.st_uid == own;
    mode_t const excess = is_ours ? S_IRWXG | S_IRWXO : S_IWGRP | S_IRWXO;
    if (!S_ISREG(is.st_mode) || (is.st_mode & excess) == 0)
        return {};
    auto const found = fmt::format("has the mode {:04o}, so other users may read or change it: ", is.st_mode & 07777);
    return is_ours ? fmt::format("{}chmod 600 {}", found, path)
                   : fmt::format("{}chmod 640 {}, and let its group be one of the service", found, path);
}

serve::access served_files::tokens(reading when) const
{
    if (!has_tokens())
        return {};
    auto const text = read_file("--token-file", tokens_, content::secret, when);
    try {
        return serve::access::read(without_byte_order_mark(text));
    } catch (std::invalid_argument const& e) {
        refuse_file("--token-file", tokens_, std::string("cannot be used: ") + e.what());
    }
}

std::shared_ptr<asio::ssl::context> served_files::tls(reading when) const
{
    if (!has_tls())
        return nullptr;
    auto const& certificate = tls_[0];
    auto const& key = tls_[1];
    auto made = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    made->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1
                      | asio::ssl::context::no_tlsv1_1);
    auto const was_asked = std::make_shared<bool>(false);
    if (when == reading::again)
        made->set_password_callback([was_asked](std::size_t, asio::ssl::context::password_purpose) {
            *was_asked = true;
            return std::string();
        });
    auto const must_load = [&](std::string const& file, error_code ec) {
        if (*was_asked)
            refuse_file("--tls", file, "cannot be used: it has a passphrase, for which only the start can ask");
        if (ec)
            refuse_file("--tls", file, "cannot be used: " + ec.message());
    };
    error_code ec;
    auto const chain = read_file("--tls", certificate, content::open, when);
    must_load(certificate, made->use_certificate_chain(asio::buffer(chain), ec));
    auto const secret = read_file("--tls", key, content::secret, when);
    must_load(key, made->use_private_key(asio::buffer(secret), asio::ssl::context::pem, ec));
    if (::SSL_CTX_check_private_key(made->native_handle()) != 1)  // such as an RSA certificate, and a key of ECDSA
        refuse_file("--tls", key, fmt::format("cannot be used: it is not the key of \"{}\"", certificate));
    return made;
}

}  // namespace redlock::cli
