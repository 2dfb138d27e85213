#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/** Checks values with the part of JSON Schema 2020-12 that the documents of this project use. A schema with another
    keyword is refused, so that no rule is ignored.

    A field that the schema does not list is a fault, although JSON Schema allows it: a document lists all fields.
*/
class json_schema {
public:
    using value = boost::json::value;

    /// @param document the place of what `$ref` names
    explicit json_schema(value const& document) : document_(document) {}

    /// The object, or the one that its `$ref` names.
    boost::json::object const& resolved(value const& v) const
    {
        auto const* const ref = v.as_object().if_contains("$ref");
        return ref ? resolved(document_.at_pointer(std::string_view(ref->as_string()).substr(1))) : v.as_object();
    }

    /// The first fault of the value, with its place. Empty: there is none.
    std::string fault_of(value const& v, value const& schema, std::string const& place = "") const
    {
        auto const& rules = schema.as_object();
        for (auto const& [name, rule] : rules) {
            if (auto const fault = fault_by(name, rule, rules, v, place); !fault.empty())
                return fault;
        }
        return {};
    }

    /// Values that the schema does not allow: of other types, and just outside each limit.
    std::vector<value> wrong_values(value const& schema) const
    {
        auto all = near(schema);
        for (auto const& other : {value(), value(true), value(5), value(1.5), value("text"), value(""),
                                  value(boost::json::array{}), value(boost::json::object{})})
            all.push_back(other);
        std::erase_if(all, [&](auto const& v) { return fault_of(v, schema).empty(); });
        return all;
    }

private:
    static bool is_type(std::string_view type, value const& v)
    {
        auto const is_whole = [](value const& n) {
            return n.is_int64() || n.is_uint64() || (n.is_double() && std::floor(n.get_double()) == n.get_double());
        };
        return (type == "null" && v.is_null()) || (type == "boolean" && v.is_bool())
               || (type == "string" && v.is_string()) || (type == "array" && v.is_array())
               || (type == "object" && v.is_object()) || (type == "number" && v.is_number())
               || (type == "integer" && is_whole(v));
    }

    static std::size_t characters(std::string_view text)
    {
        return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
    }

    static std::size_t count(value const& v) { return v.to_number<std::size_t>(); }

    std::string fault_by(std::string_view name, value const& rule, boost::json::object const& rules, value const& v,
                         std::string const& place) const
    {
        static constexpr std::array<std::string_view, 7> notes{"description",      "default",       "format", "example",
                                                               "contentMediaType", "contentSchema", "title"};
        auto const wrong_if = [&](bool is_wrong) {
            return is_wrong ? place + " is " + boost::json::serialize(v).substr(0, 200) + ", but " + std::string(name)
                                  + " is " + boost::json::serialize(rule).substr(0, 200)
                            : std::string();
        };
        if (std::ranges::find(notes, name) != notes.end())
            return {};
        if (name == "$ref")
            return fault_of(v, document_.at_pointer(std::string_view(rule.as_string()).substr(1)), place);
        if (name == "type" && rule.is_string())
            return wrong_if(!is_type(rule.get_string(), v));
        if (name == "type")
            return wrong_if(std::ranges::count_if(rule.as_array(), [&](auto& t) { return is_type(t.as_string(), v); })
                            == 0);
        if (name == "enum")
            return wrong_if(std::ranges::count(rule.as_array(), v) == 0);
        if (name == "oneOf")
            return wrong_if(
                std::ranges::count_if(rule.as_array(), [&](auto& s) { return fault_of(v, s, place).empty(); }) != 1);
        if (name == "minimum")
            return wrong_if(v.is_number() && v.to_number<double>() < rule.to_number<double>());
        if (name == "maximum")
            return wrong_if(v.is_number() && v.to_number<double>() > rule.to_number<double>());
        if (name == "minLength")
            return wrong_if(v.is_string() && characters(v.get_string()) < count(rule));
        if (name == "maxLength")
            return wrong_if(v.is_string() && characters(v.get_string()) > count(rule));
        if (name == "pattern")
            return wrong_if(
                v.is_string()
                && !std::regex_search(std::string(v.get_string()), std::regex(std::string(rule.as_string()))));
        if (name == "minItems")
            return wrong_if(v.is_array() && v.get_array().size() < count(rule));
        if (name == "maxItems")
            return wrong_if(v.is_array() && v.get_array().size() > count(rule));
        if (name == "items")
            return v.is_array() ? fault_of_items(v.get_array(), rule, place) : std::string();
        if (name == "required")
            return wrong_if(v.is_object() && std::ranges::count_if(rule.as_array(), [&](auto& field) {
                                                 return !v.get_object().contains(field.as_string());
                                             }) > 0);
        if (name == "properties")
            return v.is_object() ? fault_of_fields(v.get_object(), rule.as_object(), place) : std::string();
        if (name == "additionalProperties" && !rule.as_bool() && rules.contains("properties"))
            return {};
        throw std::invalid_argument("this validator does not know \"" + std::string(name) + '"');
    }

    std::string fault_of_items(boost::json::array const& items, value const& schema, std::string const& place) const
    {
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (auto const fault = fault_of(items[i], schema, place + '/' + std::to_string(i)); !fault.empty())
                return fault;
        }
        return {};
    }

    std::string fault_of_fields(boost::json::object const& fields, boost::json::object const& known,
                                std::string const& place) const
    {
        for (auto const& [name, v] : fields) {
            auto const here = place + '/' + std::string(name);
            auto const* const schema = known.if_contains(name);
            auto const fault = schema ? fault_of(v, *schema, here) : here + " is not listed";
            if (!fault.empty())
                return fault;
        }
        return {};
    }

    // Values on both sides of each limit.
    std::vector<value> near(value const& schema) const
    {
        std::vector<value> all;
        auto const& rules = schema.as_object();
        auto const add_texts = [&](std::size_t n) {
            for (auto const size : {n > 0 ? n - 1 : 0, n + 1})
                all.emplace_back(std::string(size, 'x'));
        };
        auto const add_arrays = [&](std::size_t n) {
            for (auto const size : {n > 0 ? n - 1 : 0, n + 1}) {
                boost::json::array items;
                for (std::size_t i = 0; i < size; ++i)
                    items.emplace_back("item " + std::to_string(i));
                all.emplace_back(std::move(items));
            }
        };
        auto const add_all = [&](value const& of) {
            for (auto& v : near(of))
                all.push_back(std::move(v));
        };
        for (auto const& [name, rule] : rules) {
            if (name == "$ref") {
                add_all(document_.at_pointer(std::string_view(rule.as_string()).substr(1)));
            } else if (name == "oneOf") {
                for (auto const& one : rule.as_array())
                    add_all(one);
            } else if (name == "minimum" || name == "maximum") {
                for (auto const step : {-1, 1})
                    all.emplace_back(rule.to_number<std::int64_t>() + step);
            } else if (name == "minLength" || name == "maxLength") {
                add_texts(count(rule));
            } else if (name == "minItems" || name == "maxItems") {
                add_arrays(count(rule));
            } else if (name == "items") {
                for (auto& v : wrong_values(rule))
                    all.emplace_back(boost::json::array{std::move(v)});
            }
        }
        return all;
    }

    value const& document_;
};

}  // namespace redlock::test
