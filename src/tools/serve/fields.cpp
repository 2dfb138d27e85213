#include "tools/serve/fields.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace redlock::serve {

namespace {

namespace json = boost::json;

constexpr std::size_t names_max = 256, name_max = 512;  // of a lock_manager

[[noreturn]] void refuse(std::string_view name, json::value const& value, std::string_view must_be)
{
    throw wrong_field(std::string(name) + " is " + json::serialize(value).substr(0, 100) + ", but must be "
                      + std::string(must_be));
}

std::string as_text(std::string_view name, json::value const& value)
{
    if (!value.is_string())
        refuse(name, value, "a text");
    return std::string(value.get_string());
}

}  // namespace

wrong_field unknown_field(std::string_view kind, std::string_view name, std::initializer_list<std::string_view> known)
{
    if (known.size() == 0)
        return wrong_field("there is no " + std::string(kind) + " \"" + std::string(name.substr(0, 100))
                           + "\"; this request has none, but may have fields in its body");
    std::string names;
    for (auto const k : known)
        names.append(names.empty() ? "" : ", ").append(k);
    return wrong_field("there is no " + std::string(kind) + " \"" + std::string(name.substr(0, 100)) + "\"; there are "
                       + names);
}

fields::fields(std::string_view text, std::initializer_list<std::string_view> known)
{
    if (text.empty())
        return;
    boost::system::error_code ec;
    auto document = json::parse(text, ec, all_.storage());
    if (ec || !document.is_object())
        throw wrong_field("the body must be a JSON object");
    all_ = std::move(document.get_object());
    for (auto const& member : all_) {
        if (std::ranges::find(known, std::string_view(member.key())) == known.end())
            throw unknown_field("field", member.key(), known);
    }
}

std::chrono::milliseconds fields::milliseconds(std::string_view name, std::chrono::milliseconds otherwise,
                                               std::chrono::milliseconds least, std::chrono::milliseconds most) const
{
    auto const* const value = all_.if_contains(name);
    if (!value)
        return otherwise;
    boost::system::error_code ec;
    auto const n = value->to_number<std::int64_t>(ec);
    if (!value->is_number() || ec || n < least.count() || n > most.count())
        refuse(name, *value,
               "a number of milliseconds, " + std::to_string(least.count()) + " to " + std::to_string(most.count()));
    return std::chrono::milliseconds(n);
}

bool fields::flag(std::string_view name) const
{
    auto const* const value = all_.if_contains(name);
    if (value && !value->is_bool())
        refuse(name, *value, "true or false");
    return value && value->get_bool();
}

std::string fields::text(std::string_view name) const
{
    auto const* const value = all_.if_contains(name);
    return value ? as_text(name, *value) : std::string();
}

std::string fields::word(std::string_view name) const
{
    auto word = text(name);
    if (word.empty() && all_.contains(name))
        refuse(name, all_.at(name), "a text that is not empty; or leave the field out");
    return word;
}

std::vector<json::object> fields::objects(std::string_view name, std::size_t most) const
{
    auto const* const value = all_.if_contains(name);
    if (!value)
        throw wrong_field(std::string(name) + " is missing");
    auto const* const array = value->if_array();
    auto const is_object = [](json::value const& v) { return v.is_object(); };
    if (!array || array->empty() || array->size() > most || !std::ranges::all_of(*array, is_object))
        refuse(name, *value, "an array of 1 to " + std::to_string(most) + " objects");
    std::vector<json::object> objects;
    for (auto const& v : *array)
        objects.push_back(v.get_object());
    return objects;
}

std::vector<std::string> fields::texts(std::string_view name) const
{
    auto const* const value = all_.if_contains(name);
    if (!value)
        throw wrong_field(std::string(name) + " is missing");
    std::vector<std::string> texts;
    auto const add = [&](json::value const& v) {
        texts.push_back(as_text(name, v));
        if (texts.back().empty() || texts.back().size() > name_max)
            refuse(name, v, "a text of 1 to " + std::to_string(name_max) + " bytes");
    };
    if (value->is_array())
        std::ranges::for_each(value->get_array(), add);
    else
        add(*value);
    if (texts.empty() || texts.size() > names_max)
        refuse(name, *value, "1 to " + std::to_string(names_max) + " texts");
    return texts;
}

}  // namespace redlock::serve
