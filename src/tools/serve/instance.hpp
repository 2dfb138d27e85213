#pragma once

#include "tools/serve/access.hpp"
#include "tools/serve/client_loads.hpp"
#include "tools/serve/connection_shares.hpp"
#include "tools/serve/lock_ids.hpp"
#include "tools/serve/repeats.hpp"
#include "tools/serve/service_log.hpp"
#include "tools/serve/service_metrics.hpp"
#include "tools/serve/sessions.hpp"
#include "tools/serve/target.hpp"
#include "tools/serve/waiting_requests.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::serve {

/// The objects that all requests of one instance of the service share.
struct instance {
    instance(asio::any_io_executor e, lock_manager& m, access a, serve::limits l,
             std::function<void(std::string const&)> write_log)
        : locks(m),
          who(std::move(a)),
          ids(who.keys()),
          limits(l),
          connections(l.connections_of_all, l.connections),
          log(e, std::move(write_log)),
          metrics(e),
          open_sessions(std::move(e), m, waiting, who, ids, loads)
    {
    }

    lock_manager& locks;
    access who;    ///< SIGHUP replaces it
    lock_ids ids;  ///< with the keys of @ref who
    serve::limits const limits;
    client_loads loads{limits.bytes};
    connection_shares connections;
    std::map<std::string, repeats> repeated{};  ///< by client
    waiting_requests waiting{};
    service_log log;
    service_metrics metrics;
    sessions open_sessions;
    bool is_local = false;  ///< it listens on the loopback interface
    bool stopping = false;
};

/// A request, and the client that sends it.
struct call {
    request const& r;
    serve::target const& target;
    std::string client{};        ///< the bearer token; empty if the service has no tokens
    std::size_t connection = 0;  ///< its number in @ref instance::connections

    std::string const& name() const { return target.path[2]; }  ///< the third part of the path
};

/// The client, for the log.
inline std::string client_in_words(instance const& all, call const& c)
{
    return all.who.in_words(c.client) + " from " + all.connections.peer(c.connection);
}

/// Writes a line for a request that was refused for want of a right, or because of a limit.
inline void log_refusal(instance& all, call const& c, response const& r)
{
    if (service_log::is_refusal(r))
        all.log.refused(client_in_words(all, c), r, [&](std::string_view name) {
            return all.ids.ticket_of(name) || (all.who.needs_tokens() && all.who.knows_client(std::string(name)));
        });
}

}  // namespace redlock::serve
