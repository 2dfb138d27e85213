#pragma once

#include "tools/serve/openapi.hpp"
#include "support/json_schema.hpp"

#include <boost/beast/http/verb.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

/// The document /openapi.json: its operations and their parameters.
namespace redlock::test::described {

namespace json = boost::json;
namespace http = boost::beast::http;

inline json::value const& document()
{
    static json::value const parsed = json::parse(serve::openapi_document());
    return parsed;
}

inline json_schema const& schemas()
{
    static json_schema const of_document(document());
    return of_document;
}

inline std::string text_in(json::object const& o, std::string_view name) { return std::string(o.at(name).as_string()); }

/// A method of a path in the document.
struct operation {
    std::string path{}, name{};
    http::verb method = http::verb::get;
    json::object what{};

    bool needs_token() const { return !what.contains("security"); }

    /// The schema of the body of its requests. Null: they have none.
    json::value const* body_schema() const
    {
        auto const* const body = what.if_contains("requestBody");
        return body ? &body->at_pointer("/content/application~1json/schema") : nullptr;
    }

    json::object example() const
    {
        return what.at("requestBody").at_pointer("/content/application~1json/example").as_object();
    }

    std::string title() const { return std::string(http::to_string(method)) + ' ' + path; }
};

inline std::vector<operation> operations()
{
    std::vector<operation> all;
    for (auto const& [path, methods] : document().at("paths").as_object()) {
        for (auto const& [method, what] : methods.as_object()) {
            std::string upper;
            for (char const c : method)
                upper += static_cast<char>(std::toupper(c));
            all.push_back({.path = path,
                           .name = text_in(what.as_object(), "operationId"),
                           .method = http::string_to_verb(upper),
                           .what = what.as_object()});
        }
    }
    return all;
}

/// The operation with this `operationId`.
inline operation operation_named(std::string_view name)
{
    auto const all = operations();
    return *std::ranges::find(all, name, &operation::name);
}

/// A parameter, and the name that distinguishes it from others with the same `name`.
struct parameter {
    std::string key{};
    json::object what{};

    std::string name() const { return text_in(what, "name"); }
    std::string place() const { return text_in(what, "in"); }
    bool is_required() const { return what.contains("required"); }
};

inline std::vector<parameter> parameters_of(operation const& o)
{
    std::vector<parameter> all;
    if (auto const* const given = o.what.if_contains("parameters")) {
        for (auto const& p : given->as_array()) {
            auto const* const ref = p.as_object().if_contains("$ref");
            auto const& what = schemas().resolved(p);
            auto const key = ref ? std::string(ref->as_string()) : text_in(what, "name");
            all.push_back({.key = key.substr(key.rfind('/') + 1), .what = what});
        }
    }
    return all;
}

}  // namespace redlock::test::described
