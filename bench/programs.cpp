#include "programs.hpp"

#include <filesystem>
#include <stdexcept>

namespace redlock::bench {

std::string program_of_ours(std::string const& name, std::string const& built, std::string const& otherwise)
{
    auto const here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    for (auto const& path : {here / name, here.parent_path() / built / name}) {
        if (std::filesystem::exists(path))
            return path;
    }
    throw std::runtime_error(name + " is neither beside this program nor built; " + otherwise);
}

}  // namespace redlock::bench
