#include "net/log_in.hpp"

#include <exception>
#include <stdexcept>
#include <string>

namespace redlock::net {

credentials log_in(credentials_function const& source, credentials_request const& node)
try {
    return source ? source(node) : node.in_address;
} catch (std::exception const& e) {
    throw std::runtime_error(std::string("no password for a new connection: ") + e.what());
} catch (...) {
    throw std::runtime_error("no password for a new connection: manager_options::credentials threw an exception");
}

}  // namespace redlock::net
