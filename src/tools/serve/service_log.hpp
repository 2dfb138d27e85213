#pragma once

#include "tools/serve/answers.hpp"

#include <redlock/inspect.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::serve {

namespace asio = boost::asio;

/// The lines of the service for operators: locks that were broken, and requests that were refused.
class service_log {
public:
    /// @param write receives lines without their end. They may have any bytes, because clients choose names and notes.
    service_log(asio::any_io_executor, std::function<void(std::string const&)> write);
    ~service_log();
    service_log(service_log const&) = delete;
    service_log& operator=(service_log const&) = delete;

    /// Every break has a line. @param who the client @param seen the lock before
    void broke(std::string const& who, lock_info const& seen, break_info const&);

    /// Whether the answer refuses the request for want of a right, or because of a limit.
    static bool is_refusal(response const&);

    /// A client must not fill the disk, so each status has one line in a second. The next line says how many there
    /// were. @param is_secret  whether a name in the reason is the id of a lock, or a token
    void refused(std::string const& who, response const&, std::function<bool(std::string_view)> const& is_secret);

private:
    struct refusals {
        explicit refusals(asio::any_io_executor e) : timer(std::move(e)) {}

        asio::steady_timer timer;  ///< runs for a second after each line
        bool is_running = false;
        std::size_t more = 0;     ///< since that line
        std::string last_from{};  ///< the client of the last of them
    };

    void write_rest(unsigned status, std::shared_ptr<refusals> const&);
    void run(unsigned status, std::shared_ptr<refusals> const&);

    asio::any_io_executor const executor_;
    std::function<void(std::string const&)> const write_;
    std::map<unsigned, std::shared_ptr<refusals>> refusals_;  ///< by status
};

}  // namespace redlock::serve
