// The observers of the library.

#include "events/event_line.hpp"
#include "events/every_event.hpp"
#include "events/shown_name.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace redlock::inline v1 {

namespace {

class line_writer final : public events::every_event<line_writer> {
public:
    using format = std::string (*)(events::event_line const&, std::chrono::system_clock::time_point);

    line_writer(format f, log_function to) : format_(f), to_(std::move(to)) {}

    template <class Event>
    void on(void (observer::*)(Event const&), Event const& e)
    {
        if (!to_)
            return;
        auto const line = events::describe(e);
        to_(line.level, format_(line, std::chrono::system_clock::now()));
    }

private:
    format const format_;
    log_function const to_;
};

class tee final : public events::every_event<tee> {
public:
    explicit tee(std::vector<std::shared_ptr<observer>> all) : all_(std::move(all)) { std::erase(all_, nullptr); }

    template <class Event>
    void on(void (observer::*what)(Event const&), Event const& e)
    {
        std::exception_ptr thrown;
        for (auto const& o : all_) {
            try {
                (o.get()->*what)(e);
            } catch (...) {
                thrown = std::current_exception();
            }
        }
        if (thrown)
            std::rethrow_exception(thrown);
    }

private:
    std::vector<std::shared_ptr<observer>> all_;
};

}  // namespace

std::shared_ptr<observer> log_sentences(log_function to)
{
    auto const sentence = [](events::event_line const& line, std::chrono::system_clock::time_point) {
        return events::in_one_line(line.sentence);
    };
    return std::make_shared<line_writer>(sentence, std::move(to));
}

std::shared_ptr<observer> log_logfmt(log_function to)
{
    return std::make_shared<line_writer>(events::as_logfmt, std::move(to));
}

std::shared_ptr<observer> log_json(log_function to)
{
    return std::make_shared<line_writer>(events::as_json, std::move(to));
}

std::shared_ptr<observer> observers(std::vector<std::shared_ptr<observer>> all)
{
    return std::make_shared<tee>(std::move(all));
}

}  // namespace redlock
