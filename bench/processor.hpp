#pragma once

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::bench {

/// Restricts this process, and the processes that it starts from now on, to @p processors.
/// @throws std::runtime_error naming --pin if the system refuses
void pin_to(std::vector<int> const& processors);

/// The processors that this process may use.
std::vector<int> processors_in_use();

/// Processor time of this process so far; of process @p pid, 0 if it has ended.
double own_cpu_seconds();
double cpu_seconds_of(pid_t pid);
double cpu_seconds_of_family(pid_t pid);  ///< including its children
double cpu_seconds_of_the_dead();         ///< children of this process that have ended

/// Memory of process @p pid that belongs to no file, in bytes: heap and stacks. 0 if it has ended.
double anonymous_bytes_of(pid_t pid);

/// Busy time of @p processors since the machine started, of all processes, including time that its host has stolen.
double busy_seconds(std::vector<int> const& processors);

/// For result files: "processor", "cores", "kernel", "compiler", "date".
std::map<std::string, std::string> describe_machine();

}  // namespace redlock::bench
