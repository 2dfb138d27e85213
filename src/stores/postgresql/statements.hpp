#pragma once

#include "stores/kit/steps.hpp"

#include <redlock/node.hpp>

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::postgresql {

using result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

/// Values as libpq takes them.
class parameters {
public:
    void add_bytes(std::string bytes) { add(std::move(bytes), 1); }
    void add_text(std::string text) { add(std::move(text), 0); }
    void add_null() { add(std::nullopt, 0); }

    int count() const noexcept { return static_cast<int>(values_.size()); }
    std::vector<char const*> pointers() const;
    std::vector<int> lengths() const;
    std::vector<int> const& formats() const noexcept { return formats_; }

private:
    void add(std::optional<std::string> value, int format);

    std::vector<std::optional<std::string>> values_;
    std::vector<int> formats_;
};

/// The rows of an answer, as text.
kit::rows rows_of(PGresult const&);

/// One statement that a session prepares, or sends as text.
struct statement {
    std::string_view name;  ///< empty: it is not prepared
    char const* text;       ///< with the default name of the table
};

/// The name that @p s is prepared by. Behind a pooler, clients with other tables or of other versions may find it on
/// the same connection.
std::string prepared_name(statement const& s, std::string_view table);

/// All of them, to be prepared.
std::span<statement const> all_statements() noexcept;

/// How @p command is put. @p tombstone: of a release: leave one.
std::pair<statement const*, parameters> put(node_command const& command, bool tombstone);

/// What the answer to it says. Errors: see @ref refusal.
node_reply interpret(node_command const&, PGresult const&);

/// Why a statement was not carried out.
node_reply refusal(PGresult const&);

}  // namespace redlock::stores::postgresql
