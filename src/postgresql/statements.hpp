#pragma once

#include <redlock/node.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::pg {

using result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

/// What is asked for, by name; the same for each connection.
struct statement {
    char const* name;
    char const* text;  ///< with the default name of the table
};

/// Values as libpq takes them.
class parameters {
public:
    void add_bytes(std::string_view);
    void add_bytes_or_null(std::string_view);  ///< null: empty
    void add_number(std::int64_t);
    void add_switch(bool);
    void add_keys(key_view);

    int count() const noexcept { return static_cast<int>(values_.size()); }
    std::vector<char const*> pointers() const;
    std::vector<int> lengths() const;
    std::vector<int> const& formats() const noexcept { return formats_; }

private:
    struct value {
        std::string bytes;
        bool null = false;
    };
    std::vector<value> values_;
    std::vector<int> formats_;
};

/// All of them, to be prepared.
std::vector<statement> const& all_statements();

/// How @p command is put. @p tombstone: of a release: leave one.
std::pair<statement const*, parameters> put(node_command const& command, bool tombstone);

/// What the answer to it says. Errors: see @ref refusal.
node_reply interpret(node_command const&, PGresult const&);

/// Why a statement was not carried out.
node_reply refusal(PGresult const&);

}  // namespace redlock::pg
