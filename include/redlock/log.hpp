#pragma once

/** @file
    Lines of text about the events of a manager: the log function, and observers that write each event as a line.
*/

#include <redlock/detail/api.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace redlock::inline v1 {

class observer;

/// The severity of a log line.
enum class log_level : std::uint8_t {
    debug,    ///< Each acquisition, extension and release.
    info,     ///< A change that needs no action, such as a new connection.
    warning,  ///< Trouble that the library handles, such as a node that does not answer.
    error     ///< Trouble that somebody must look at.
};

/// The name of a level: "debug", "info", "warning" or "error".
REDLOCK_API char const* to_string(log_level) noexcept;

/// A function that receives lines: `manager_options::log`, which says when and where it is called, or a parameter of
/// @ref log_json . Lines contain no passwords and no lock tokens.
using log_function = std::function<void(log_level, std::string_view line)>;

/// Prints a line to the standard error stream, except debug lines. A logger to begin with: `manager_options::log =
/// redlock::log_to_stderr`. May be called from any thread. It waits for the stream, as any print does.
REDLOCK_API void log_to_stderr(log_level, std::string_view line) noexcept;

/** @name Each event as a line

    Makes an observer that writes a line for each event of the manager, and for each line that `manager_options::log`
   receives. Set `manager_options::observer = redlock::log_json(print)`, and leave `manager_options::log` empty.
   Acquisitions, extensions and releases have the level debug, with the owner and the durations. docs/metrics.md lists
   the fields.

    @param to Called with each line, which has no line break. It may throw; then the line is lost. Empty: no lines.

    @par Thread safety
    That of @p to. If several managers share the observer, they may call @p to at the same time.
*/
///@{

/// Writes sentences for people: `acquired "stock" after 0.4 ms, valid for 9897.0 ms (owner
/// web-3:4121)`.
REDLOCK_API std::shared_ptr<observer> log_sentences(log_function to);

/// Writes lines for logfmt: `time=… level=debug event=acquired owner=web-3:4121 …
/// message="acquired …"`.
REDLOCK_API std::shared_ptr<observer> log_logfmt(log_function to);

/// Writes a JSON object (RFC 8259) in each line, with the fields of `log_logfmt`.
REDLOCK_API std::shared_ptr<observer> log_json(log_function to);

///@}

}  // namespace redlock
