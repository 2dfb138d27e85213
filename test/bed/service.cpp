#include "bed/service.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace redlock::testbed {

service::service(std::string const& program, std::vector<std::string> options, std::vector<std::string> environment)
    : process_((options.insert(options.begin(), program), std::move(options)),
               {.environment = std::move(environment), .piped = true})
{
    auto const said = process_.read('\n');
    auto const colon = std::min(said.rfind(':'), said.size());
    auto const* const digits = said.data() + std::min(colon + 1, said.size());
    if (std::from_chars(digits, said.data() + said.size(), port_).ec != std::errc())
        throw std::runtime_error(program + " does not start; it said \"" + said + "\"");
}

int service::stop(int signal)
{
    if (process_.pid() <= 0)
        return -1;
    process_.signal(signal);
    return process_.wait().code();
}

}  // namespace redlock::testbed
