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

/// What the nodes of a manager have in common.
class group {
public:
    /// Without a runtime each node makes one, on the executor that it is started on.
    explicit group(std::shared_ptr<runtime::runtime> = {});

    /// One server under two addresses must not vote twice: node @p name has met the server @p run_id.
    /// @return the name of the node that met it before; empty: none.
    std::string claim(std::string const& name, std::string const& run_id);

    /// Whether no node of the manager has said @p words before. After a hundred different words the answer is always
    /// false.
    bool tells_first(std::string const& words) { return told_.size() < 100 && told_.insert(words).second; }

    std::shared_ptr<redis::sender> const sender;
    std::shared_ptr<runtime::runtime> const runtime;

private:
    std::map<std::string, std::string> names_;  // by run_id
    std::set<std::string> told_;
};

/// A node whose server may be asked more than operations ask.
class server_node : public node {
public:
    /// Only while it is @ref ready. The server answers in the order of what it was sent. If the connection ends before
    /// it does, @p look is not called.
    virtual void ask(redis::request const&, std::function<void(batch const& answer)> look) = 0;
};

/// @p over: how it reaches the server.
std::shared_ptr<server_node> make_redis_node(net::url const&, config const&, std::shared_ptr<group>,
                                             std::shared_ptr<link> over);

}  // namespace redlock::stores::redis
