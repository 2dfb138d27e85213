#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>
#include <redlock/report.hpp>

#include <memory>
#include <string>
#include <utility>

namespace redlock {

/** Why `lock_manager::with_lock` could not run its body to the end under the lock.

    Its code is that of `lock_manager::async_acquire`, or @ref errc::lost; `what()` names the resource.
*/
class REDLOCK_API lock_error : public system_error {
public:
    lock_error(error_code ec, std::string const& what, attempt_report report)
        : system_error(ec, what), report_(std::make_shared<attempt_report const>(std::move(report)))
    {
    }

    /// How the acquisition went. Of a lock that was lost: the outcome only.
    attempt_report const& report() const noexcept { return *report_; }

private:
    std::shared_ptr<attempt_report const> report_;  // an exception must be copied without a throw
};

}  // namespace redlock
