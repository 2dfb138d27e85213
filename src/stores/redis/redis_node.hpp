#pragma once

#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"
#include "stores/redis/transport.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/server_record.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace redlock::stores::redis {

class sender;

/// State that the Redis nodes of a manager share.
class group {
public:
    /// Without a runtime, each node makes its own on the executor that it is started on.
    explicit group(std::shared_ptr<runtime::runtime> = {});

    /// Notes that node @p name has connected to the server @p run_id. One server with two addresses must not vote
    /// twice.
    /// @return the name of another node that has connected to this server before; empty: none
    std::string claim(std::string const& name, std::string const& run_id);

    /// Whether no node of the manager has logged @p words before. After a hundred different texts, always false.
    bool logs_first(std::string const& words) { return told_.size() < 100 && told_.insert(words).second; }

    std::shared_ptr<redis::sender> const sender;
    std::shared_ptr<runtime::runtime> const runtime;

private:
    std::map<std::string, std::string> names_;  // of nodes, by run_id
    std::set<std::string> told_;
};

/// Gets what a server tells about its record. Both are set, or neither.
struct record_observer {
    std::function<void(server_record const&)> told;
    std::function<void()> moved;  ///< the master has lost the slot of the record: call @ref server_node::move_to
};

/// A node that can also send its server questions that are not operations.
class server_node : public node {
public:
    /// Call it only while the node is @ref ready. The server answers in the order of the requests. If the connection
    /// ends before the answer, @p look is not called.
    virtual void ask(redis::request const&, std::function<void(batch const& answer)> look) = 0;

    /// Asks for the record, in front of all operations that are submitted later. Does nothing if the node is not ready.
    /// @param slots slots that are not young, because a living master has handed them over
    virtual void vouch(slot_set const& slots) = 0;

    /// Keeps the record under another tag.
    virtual void move_to(std::string_view tag) = 0;

    /// Call it before @ref start.
    virtual void observe(record_observer) = 0;
};

/// @param over the transport to the server
std::shared_ptr<server_node> make_redis_node(net::url const&, manager_options const&, std::shared_ptr<group>,
                                             std::shared_ptr<transport> over);

}  // namespace redlock::stores::redis
