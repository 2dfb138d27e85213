#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::kit {

/** Selects the notifications that a manager waits for, because the server sends all notifications to all listeners.

    A notification may arrive before the answer to the command that asked for it. The manager must get the answer first.
*/
class watches {
public:
    /// A command with `watch` has been sent.
    void sent(node_command const&);
    /// The command has its answer. @return names that have changed meanwhile, to report right after the answer
    std::vector<std::string> answered(node_command const&, node_reply const&, clock::time_point now);

    /// A notification has arrived. @return the changed name; empty: not wanted, or not to be reported yet
    std::string heard(std::string_view what);

    void clear();

private:
    struct question {
        std::size_t under_way = 0;
        std::vector<std::string> early{};  ///< names that changed before the answer
    };

    void note(std::string name, clock::time_point until);

    std::map<std::string, clock::time_point, std::less<>> names_;  ///< until when a waiter needs the notification
    std::map<std::string, question, std::less<>> asked_;           ///< by key of a command that is under way
    std::size_t tidy_at_ = 1024;
};

}  // namespace redlock::stores::kit
