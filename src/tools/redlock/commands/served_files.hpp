#pragma once

#include "tools/serve/access.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace redlock::cli {

/// Why a file with a secret is refused, and what helps. Empty: its mode is right. ssh judges private keys in this way.
/// A group may read a file of another user, because this user could not narrow the mode. An access list, as for
/// credentials of systemd, also shows as the rights of the group.
/// @param own the user of this process
std::string lax_mode(std::string const& path, struct stat const&, uid_t own);

/// The files that `redlock serve` reads at its start, and again after SIGHUP. All functions throw
/// std::invalid_argument, with the name of the file and a reason that contains no secret.
class served_files {
public:
    enum class reading {
        first,
        again,  ///< a pipe has been read, and nobody can be asked for a passphrase
    };

    /// @param tls the files of the certificate and of its key; empty: without TLS
    served_files(std::string tokens, std::vector<std::string> tls) : tokens_(std::move(tokens)), tls_(std::move(tls)) {}

    bool has_tokens() const noexcept { return !tokens_.empty(); }
    bool has_tls() const noexcept { return !tls_.empty(); }

    /// Without a file, every client may do everything.
    serve::access tokens(reading) const;

    /// Null: without TLS.
    std::shared_ptr<boost::asio::ssl::context> tls(reading) const;

    std::string const& token_file() const noexcept { return tokens_; }
    std::string const& certificate_file() const noexcept { return tls_.front(); }

private:
    std::string tokens_;
    std::vector<std::string> tls_;
};

}  // namespace redlock::cli
