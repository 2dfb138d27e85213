#pragma once

#include "tools/demo/servers.hpp"
#include "tools/demo/shop.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::demo {

/// One line of the table at the end.
struct act_result {
    std::string name;
    std::size_t buyers = 0;
    std::int64_t delivered = 0;
    std::int64_t sold = 0;
    std::int64_t oversold = 0;
    std::int64_t sent_away = 0;
    std::int64_t no_quorum = 0;
    double seconds = 0;
};

/** Writes the progress and the results to the standard output.

    A terminal shows events and, below them, two lines that are redrawn. Any other output gets a plain line each second.

    @throws std::system_error from any function if the output cannot be written
*/
class progress {
public:
    progress();

    void begin_act(std::string_view title, std::string_view explanation);
    void show(shop const& s, std::vector<servers::state> const& states);  ///< draws only if its interval is over
    void event(std::string_view text);
    void claim(bool held, std::string_view text);
    void print(std::string_view line);
    void summary(std::vector<act_result> const& results);
    void conclude();  ///< prints how many claims held
    void erase();     ///< erases the lines that are redrawn

    std::size_t claims() const noexcept { return claims_; }
    std::size_t failed_claims() const noexcept { return failed_; }

private:
    using steady = std::chrono::steady_clock;

    std::string paint(std::string_view code, std::string_view text) const;
    std::string dots(std::vector<servers::state> const& states) const;
    std::string two_lines(shop const& s, std::vector<servers::state> const& states, double seconds) const;
    void write(std::string const& text);

    bool drawing_;
    bool colours_;
    bool drawn_ = false;
    std::size_t claims_ = 0;
    std::size_t failed_ = 0;
    steady::time_point act_began_;
    steady::time_point next_;
};

}  // namespace redlock::demo
