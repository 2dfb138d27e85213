#pragma once

#include "serve/access.hpp"
#include "serve/client_loads.hpp"
#include "serve/lock_ids.hpp"
#include "serve/repeats.hpp"
#include "serve/sessions.hpp"
#include "serve/target.hpp"
#include "serve/waiting_requests.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <map>
#include <string>
#include <utility>

namespace redlock::serve {

/// The objects that all requests of one instance of the service share.
struct instance {
    instance(asio::any_io_executor e, lock_manager& m, access a, serve::limits l)
        : locks(m), who(std::move(a)), ids(who.keys()), limits(l), open_sessions(std::move(e), m, waiting, who, ids)
    {
    }

    lock_manager& locks;
    access const who;
    lock_ids const ids;
    serve::limits const limits;
    client_loads loads{};
    std::map<std::string, repeats> repeated{};  ///< by client
    waiting_requests waiting{};
    sessions open_sessions;
    bool is_local = false;  ///< it listens on the loopback interface
    bool stopping = false;
};

/// A request, and the client that sends it.
struct call {
    request const& r;
    serve::target const& target;
    std::string client{};  ///< the bearer token; empty if the service has no tokens

    std::string const& name() const { return target.path[2]; }  ///< the third part of the path
};

}  // namespace redlock::serve
