#pragma once

#include <redlock/node.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::postgresql {

/// Values in the form that libpq takes.
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

/// A statement that a session prepares, or sends as text.
struct statement {
    std::string_view name;  ///< empty: not prepared
    char const* text;       ///< with the default name of the table
};

/// The name of the prepared statement. Behind a pooler, clients with other tables or versions may use the same
/// connection, so the name contains both.
std::string prepared_name(statement const& s, std::string_view table);

/// All statements to prepare.
std::span<statement const> all_statements() noexcept;

/// The statement for @p command.
/// @param tombstone a release leaves a tombstone
/// @param is_standby the server is a standby, which has no unlogged tables: it does not know who waits
std::pair<statement const*, parameters> encode(node_command const& command, bool tombstone, bool is_standby);

/// The statement that asks the server to notify of the end of a hold, and of each reader that leaves. It never waits
/// for another client, and answers whether there is a hold, and the server will notify. Nobody is notified of a further
/// reader.
std::pair<statement const*, parameters> encode_watch(node_command const& inspection);

}  // namespace redlock::stores::postgresql
