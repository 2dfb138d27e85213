#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::kit {

/** What a manager wants to be told of. The server tells all connections that listen of everything; and a change may be
    heard of before the answer to the command that asked to be told of it, which must come first.
*/
class watches {
public:
    /// A command that watches has been sent, and is answered.
    void sent(node_command const&);
    /// @return what has changed meanwhile, of which to tell now, behind the answer
    std::vector<std::string> answered(node_command const&, node_reply const&, clock::time_point now);

    /// What the server said. @return the name of what has changed; empty: nobody wants to know, or not yet
    std::string heard(std::string_view what);

    void clear();

private:
    struct question {
        std::size_t under_way = 0;
        std::vector<std::string> early{};  ///< names that have changed meanwhile
    };

    void note(std::string name, clock::time_point until);

    std::map<std::string, clock::time_point, std::less<>> names_;  ///< until when anybody looks again by himself
    std::map<std::string, question, std::less<>> asked_;           ///< by each key of the commands that are under way
    std::size_t tidy_at_ = 1024;
};

}  // namespace redlock::stores::kit
