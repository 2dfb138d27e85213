#pragma once

#include "stores/kit/database_address.hpp"
#include "stores/kit/session.hpp"
#include "stores/kit/steps.hpp"

#include <redlock/error.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores::kit {

/// The common part of sessions over client libraries that keep an address of their own kind.
template <class Address>
class database_session : public client_session {
protected:
    database_session(asio::any_io_executor e, std::shared_ptr<Address const> a,
                     std::chrono::milliseconds connect_timeout, owner& o)
        : client_session(std::move(e), connect_timeout, o), given_(std::move(a)), address_(given_)
    {
    }

    /// Sets user and password for a new connection. @return false: there are none, and the connection has ended
    bool log_in()
    {
        try {
            address_ = logged_in(given_);
        } catch (std::exception const& e) {
            refuse(errc::node_unreachable, e.what());
            return false;
        }
        return true;
    }

    std::string for_our_table(std::string_view text) const { return for_table(text, address_->options.table); }

    std::shared_ptr<Address const> const given_;
    std::shared_ptr<Address const> address_;  ///< with user and password of the latest connection
};

}  // namespace redlock::stores::kit
