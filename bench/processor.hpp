#pragma once

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::bench {

/// Restricts this process, and what it starts from now on, to @p processors.
/// @throws std::runtime_error naming --pin if that cannot be
void pin_to(std::vector<int> const& processors);

/// Those that this process may use.
std::vector<int> processors_in_use();

/// What this process has used so far; what process @p pid has, 0 if it is gone.
double own_cpu_seconds();
double cpu_seconds_of(pid_t pid);
double cpu_seconds_of_family(pid_t pid);  ///< and what its children have
double cpu_seconds_of_the_dead();         ///< those that this process has started, and outlived

/// What was done on @p processors since the machine started, by whomever, and what its host took away.
double busy_seconds(std::vector<int> const& processors);

/// For result files: "processor", "cores", "kernel", "compiler", "date".
std::map<std::string, std::string> describe_machine();

}  // namespace redlock::bench
