#pragma once

#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/request.hpp"

#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

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

/// A node that can also send its server questions that are not operations.
class server_node : public node {
public:
    /// Call it only while the node is @ref ready. The server answers in the order of the requests. If the connection
    /// ends before the answer, @p look is not called.
    virtual void ask(redis::request const&, std::function<void(batch const& answer)> look) = 0;
};

/// @param over the link to the server
std::shared_ptr<server_node> make_redis_node(net::url const&, config const&, std::shared_ptr<group>,
                                             std::shared_ptr<link> over);

}  // namespace redlock::stores::redis
