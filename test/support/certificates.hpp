#pragma once

#include "bed/local_server.hpp"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace redlock::test {

using testbed::local_server;

/// A certificate authority for the test, and the certificates that it has signed.
struct certificates {
    certificates()
    {
        make("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem");
        sign("server", "DNS:localhost,IP:127.0.0.1");
        sign("client", "DNS:client");
        sign("elsewhere", "DNS:elsewhere.example");
        sign("localhost", "IP:127.0.0.1");  // only the common name is the requested host
    }

    void sign(std::string const& name, std::string const& names)
    {
        make("openssl req -newkey rsa:2048 -nodes -subj /CN=" + name + " -keyout " + name + ".key -out " + name
             + ".csr");
        make("printf 'subjectAltName=" + names + "' > ext && openssl x509 -req -in " + name
             + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out " + name + ".pem");
    }

    /// Signs a certificate that is valid only from @p begin to @p end, such as "20010101000000Z".
    void sign_for(std::string const& name, std::string const& begin, std::string const& end)
    {
        sign(name, "DNS:localhost");
        make("printf "
             "'[ca]\ndefault_ca=d\n[d]\ndatabase=index\nserial=number\nnew_certs_dir=.\npolicy=p\ndefault_md=sha256\n"
             "x509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=DNS:localhost\n' > ca.cnf && : > index "
             "&& echo 01 > number "
             "&& openssl ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -startdate "
             + begin + " -enddate " + end + " -notext -in " + name + ".csr -out " + name + ".pem");
    }

    void make(std::string const& command)
    {
        auto const all = "cd " + folder.path + " && (" + command + ") >/dev/null 2>&1";
        if (std::system(all.c_str()) != 0)
            throw std::runtime_error("failed: " + command);
    }

    std::string file(std::string const& name) const { return folder.path + "/" + name; }

    testbed::temporary_folder folder;
};

/// A server with TLS on `port`. The test looks at it on its other port, without TLS.
struct tls_server {
    explicit tls_server(certificates const& c, std::string const& identity = "server",
                        std::string const& clients = "no")
        : port(testbed::free_port()),
          server({"--tls-port", std::to_string(port), "--tls-cert-file", c.file(identity + ".pem"), "--tls-key-file",
                  c.file(identity + ".key"), "--tls-ca-cert-file", c.file("ca.pem"), "--tls-auth-clients", clients})
    {
    }

    std::string url(std::string const& host = "localhost") const
    {
        return "rediss://" + host + ":" + std::to_string(port);
    }

    std::uint16_t port;
    local_server server;
};

}  // namespace redlock::test
