#pragma once

#include "cli/doctor/facts.hpp"
#include "cli/doctor/finding.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli::doctor {

/// The subject of a check.
enum class subject : std::uint8_t {
    server,      ///< Redis or Valkey
    tls_server,  ///< a server whose address says TLS
    store,       ///< any other kind of node
    node,        ///< all of these
};

/// One question about one node.
struct check {
    std::string_view what;
    reply node_facts::*needs;                            ///< what it reads; nothing that is known without asking
    std::string_view command;                            ///< that asks for it, as access lists name it
    std::string_view field;                              ///< without which it is not known; empty: any answer will do
    findings (*run)(node_facts const&, demands const&);  ///< called if what it needs is known
    subject about = subject::server;
};

/// One question about all nodes.
struct check_of_all {
    std::string_view what;
    findings (*run)(std::vector<node_facts> const&, demands const&);
};

// A group that begins behind another one is for who has let us in.
extern std::span<check const> const reach_checks;
extern std::span<check const> const timing_checks;
extern std::span<check const> const service_checks;
extern std::span<check const> const memory_checks;
extern std::span<check const> const permission_checks;
extern std::span<check_of_all const> const checks_of_all;

/// The names of all checks.
std::vector<std::string_view> names_of_checks();

/// The names of the checks that are about this node. A node that does not answer has findings of some of them only.
std::vector<std::string_view> checks_about(node_facts const&);

/// @param skipped  names of checks that are left out
findings diagnose(std::vector<node_facts> const&, demands const&, std::vector<std::string> const& skipped = {});

/// Whether a line that mends this node must be run by somebody who may change settings and users.
bool needs_administrator(node_facts const&, demands const&);

/// The finding that a question was refused or not answered, with the line to run instead.
finding unread(node_facts const&, demands const&, reply const& refusal, std::string_view what,
               std::string_view command);

/// The line that gives the user of @p f a permission.
std::string allow(node_facts const& f, std::string_view rule);

/// The line that changes a setting of the server: "timeout 0".
std::string set_setting(node_facts const& f, std::string_view setting);

/// The call of the doctor without the check @p what.
std::string without_check(demands const&, std::string_view what);

/// The words of a refusal because of an access list: NOPERM.
bool is_forbidden(reply const&);

/// "replica" and "replicas".
std::string counted(std::int64_t, std::string_view noun);

}  // namespace redlock::cli::doctor
