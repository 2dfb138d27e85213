#pragma once

#include "tools/redlock/doctor/facts.hpp"
#include "tools/redlock/doctor/finding.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli::doctor {

/// The kind of node that a check applies to.
enum class subject : std::uint8_t {
    server,      ///< Redis or Valkey
    tls_server,  ///< a Redis or Valkey server whose address requires TLS
    store,       ///< any other kind of node
    node,        ///< every kind of node
};

/// A check of one node.
struct check {
    std::string_view what;
    reply node_facts::*needs;                            ///< the answer that it needs; null: none
    std::string_view command;                            ///< the command of that answer, as access lists name it
    std::string_view field;                              ///< a field that the answer must have; empty: none
    findings (*run)(node_facts const&, demands const&);  ///< called if the needed answer is there
    subject about = subject::server;
};

/// A check of all nodes together.
struct check_of_all {
    std::string_view what;
    findings (*run)(set_facts const&, demands const&);
};

// The checks of one node, in groups. Only reach_checks apply to a server that refuses the login or does not answer.
extern std::span<check const> const reach_checks;
extern std::span<check const> const timing_checks;
extern std::span<check const> const service_checks;
extern std::span<check const> const memory_checks;
extern std::span<check const> const permission_checks;
extern std::span<check_of_all const> const checks_of_all;

/// The names of all checks.
std::vector<std::string_view> names_of_checks();

/// The names of the checks that apply to this node. A node that does not answer has findings of only some of them.
std::vector<std::string_view> checks_about(node_facts const&);

/// Runs all checks. @param skipped  the names of checks to leave out
findings diagnose(set_facts const&, demands const&, std::vector<std::string> const& skipped = {});

/// Whether a line that fixes this node needs a user who may change settings and users.
bool needs_administrator(node_facts const&, demands const&);

/// The finding for a command that was refused or not answered, with a line to run.
finding unread(node_facts const&, demands const&, reply const& refusal, std::string_view what,
               std::string_view command);

/// The line that gives the user of @p f a permission.
std::string allow(node_facts const& f, std::string_view rule);

/// The line that changes a setting of the server: "timeout 0".
std::string set_setting(node_facts const& f, std::string_view setting);

/// The call of the doctor with the check @p what skipped.
std::string without_check(demands const&, std::string_view what);

/// Whether an access list has forbidden the command: NOPERM.
bool is_forbidden(reply const&);

/// A number with its noun: "1 replica", "2 replicas".
std::string counted(std::int64_t, std::string_view noun);

}  // namespace redlock::cli::doctor
