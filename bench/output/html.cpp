#include "output/html.hpp"
#include "output/json.hpp"

namespace redlock::bench {

std::string to_html(run const& r)
{
    constexpr std::string_view place = R"(<script id="run" type="application/json">)";
    std::string data;
    for (char const c : to_json(r))
        c == '<' ? data += "\\u003c" : data += c;  // only in its strings; "</script>" there would end it
    std::string text(page);
    return text.insert(text.find(place) + place.size(), data);
}

}  // namespace redlock::bench
