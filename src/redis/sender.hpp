#pragma once

#include "redis/scripts.hpp"
#include "runtime/strand.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <boost/redis/request.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::redis {

// How the server deletes a key if it holds a value: newer ones can do so without a script.
enum class deletion { script, delifeq, delex };

/// How an operation is put to one server.
struct manner {
    deletion by = deletion::script;
    bool load_script = false;  ///< the server does not know the script: send it along
    bool tombstone = false;    ///< of a release: leave one
    bool checks_type = false;  ///< the server knows `SET … NX … GET`, which fails where the key is no string
    bool tracking = false;     ///< the server tells of changes to what is read behind `CLIENT CACHING YES`

    friend bool operator==(manner, manner) = default;
};

/// The script that @p c is carried out with, or null if it is none.
script const* script_for(node_command const& c, manner);

/// How many commands of the server carry out @p c, apart from those that prepare it, and so how many replies are its answer.
std::size_t commands_for(node_command const& c);

/// Turns commands into those of the server. What is the same, in the same manner, is encoded once.
class encoder {
public:
    boost::redis::request const& encode(node_command const&, manner);

    /// What the last command views may go.
    void forget() noexcept { encoded_ = {}; }

private:
    void contend(node_command const&, std::string_view script);
    template <class... Options>
    void propose(node_command const&, Options const&...);

    boost::redis::request request_;
    node_command encoded_;  ///< to connect, which is never encoded: none
    manner how_;
    std::string fence_key_, tombstone_key_, wanted_key_, turn_key_;  // kept for their memory
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
