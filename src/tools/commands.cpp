#include "tools/commands.hpp"

#include <array>

namespace redlock::tools {

namespace {

constexpr std::array all{
    command{"run", "KEY… [--] CMD…", "runs a command while it holds locks, and stops it before they are lost", run},
    command{"hold", "KEY…", "holds locks until a signal, or the end of its input", hold},
};

}  // namespace

std::span<command const> commands()
{
    return all;
}

}  // namespace redlock::tools
