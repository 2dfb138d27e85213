#pragma once

#include <redlock/histogram.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>

namespace redlock::serve {

/// Measures how late an event loop calls back: a timer fires ten times a second. Renewals come as late.
class loop_lag {
public:
    explicit loop_lag(boost::asio::any_io_executor e) : meter_(std::make_shared<meter>(std::move(e))) { meter_->run(); }
    ~loop_lag()
    {
        meter_->is_over = true;
        meter_->timer.cancel();
    }
    loop_lag(loop_lag const&) = delete;
    loop_lag& operator=(loop_lag const&) = delete;

    histogram seen() const { return meter_->lengths.snapshot(); }

private:
    struct meter : std::enable_shared_from_this<meter> {
        explicit meter(boost::asio::any_io_executor e) : timer(std::move(e)) {}

        void run()
        {
            timer.expires_after(std::chrono::milliseconds(100));
            timer.async_wait([self = shared_from_this()](boost::system::error_code) {
                if (self->is_over)
                    return;
                self->lengths.add(std::chrono::steady_clock::now() - self->timer.expiry());
                self->run();
            });
        }

        boost::asio::steady_timer timer;
        histogram_recorder lengths{};
        bool is_over = false;
    };

    std::shared_ptr<meter> const meter_;
};

}  // namespace redlock::serve
