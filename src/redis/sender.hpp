#pragma once

#include "strand.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <boost/redis/request.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace redlock::redis {

// How the server deletes a key if it holds a value: newer ones can do so without a script.
enum class deletion { script, delifeq, delex };

/// Turns operations into commands. The same operation to the same kind of server is encoded once.
class encoder {
public:
    /// @p load_script: the server does not know the script, send it along.
    boost::redis::request const& encode(node_operation const&, deletion, bool load_script);

    /// The operations may go, and others come to be where they were.
    void forget() noexcept { what_ = node_operation::kind::connect; }

private:
    boost::redis::request request_;
    node_operation::kind what_ = node_operation::kind::connect;  ///< is never encoded: nothing is known
    std::string_view key_, value_;
    std::chrono::milliseconds ttl_{};
    deletion deletion_{};
    bool load_script_ = false;
};

/** Lets the nodes of a manager send what they were given, at the end of a turn of the event loop, side by side: an
    operation that goes to all of them is encoded once.
*/
class sender : public std::enable_shared_from_this<sender> {
public:
    class node {
    public:
        /// @return whether there is something to send
        virtual bool begin_sending(clock::time_point now) = 0;
        /// Its operation @p i. @return false: there is none
        virtual bool send(std::size_t i, clock::time_point now, encoder&) = 0;
        virtual void end_sending(clock::time_point now) = 0;

    protected:
        ~node() = default;
    };

    /// @p n has something to send; @p on is where all of them live.
    void add(std::weak_ptr<node> n, detail::strand const& on);

private:
    void run();

    std::vector<std::weak_ptr<node>> due_;
    std::vector<std::shared_ptr<node>> sending_;
    encoder encoder_;
};

}  // namespace redlock::redis
