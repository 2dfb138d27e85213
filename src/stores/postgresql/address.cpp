#include "stores/postgresql/address.hpp"

#include "net/secrets.hpp"
#include "stores/kit/database_options.hpp"
#include "stores/kit/steps.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace redlock::stores::postgresql {

namespace {

using kit::refuse;

constexpr std::string_view default_schema = "public";
constexpr std::size_t full_table_max = 60;  // the name of a channel has at most 63

constexpr auto form =
    "it must be postgresql://[user[:password]@]host[:port]/database, and special characters in user and "
    "password must be percent-encoded";

// @return false: not an option of this library
bool read_option(std::string_view name, std::string_view value, postgresql_options& o)
{
    if (name == "notify")
        o.notify = kit::to_switch(name, value);
    else if (name == "prepare")
        o.prepare = kit::to_switch(name, value);
    else if (name == "session_pooler")
        o.session_pooler = kit::to_switch(name, value);
    else if (name == "application_name")
        o.application_name = value;
    else if (name == "schema" && !value.empty())
        o.schema = value;
    else if (name == "schema")
        refuse("schema has no value");
    else
        return kit::read_option(name, value, o);
    return true;
}

// Reads this library's own parameters from @p url. @return the address without them
std::string without_options(std::string_view url, postgresql_options& o)
{
    std::string rest(kit::take(url, '?'));
    char mark = '?';
    while (!url.empty()) {
        auto const one = kit::take(url, '&');
        auto value = one;
        auto const name = kit::take(value, '=');
        if (read_option(name, value, o))
            continue;
        (rest += mark) += one;
        mark = '&';
    }
    return rest;
}

auto settings_of(std::string const& url)
{
    char* text = nullptr;
    std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> const known(PQconninfoParse(url.c_str(), &text),
                                                                               PQconninfoFree);
    std::unique_ptr<char, void (*)(void*)> const words(text, PQfreemem);
    if (!known) {  // the error message of libpq may quote a password
        std::string_view const why = words ? words.get() : "";
        constexpr std::string_view unknown = "invalid URI query parameter: ";
        if (!why.starts_with(unknown))
            kit::refuse(fmt::format("libpq rejects the address; {}", form));
        auto const name = why.substr(unknown.size(), why.find('\n') - unknown.size());
        kit::refuse(fmt::format("neither libpq nor redlock has the parameter {}", name));
    }
    decltype(address::settings) settings;
    for (auto const* s = known.get(); s->keyword; ++s) {
        if (s->val)
            settings[s->keyword] = s->val;
    }
    return settings;
}

std::string name_of(address const& a)
{
    auto const hosts = a.list(a.get("host").empty() ? "hostaddr" : "host"), ports = a.list("port");
    std::string name = "postgresql://";
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        name += i > 0 ? "," : "";
        name += hosts[i];
        if (!ports.empty())
            name += ":" + ports[std::min(i, ports.size() - 1)];
    }
    if (auto const database = a.get("dbname"); !database.empty())
        name += "/" + database;
    auto const table = schema_of(a.options) == default_schema ? bare_table_of(a.options) : full_table_of(a.options);
    return table == postgresql_options().table ? name : name + "?table=" + table;
}

}  // namespace

std::string schema_of(postgresql_options const& o)
{
    auto const dot = o.table.find('.');
    if (dot != o.table.npos)
        return o.table.substr(0, dot);
    return o.schema.empty() ? std::string(default_schema) : o.schema;
}

std::string bare_table_of(postgresql_options const& o)
{
    return o.table.substr(o.table.find('.') + 1);  // npos + 1 is 0
}

std::string full_table_of(postgresql_options const& o) { return schema_of(o) + '.' + bare_table_of(o); }

std::string address::get(std::string_view setting) const
{
    auto const known = settings.find(setting);
    return known != settings.end() ? known->second : std::string();
}

std::vector<std::string> address::list(std::string_view setting) const
{
    auto const text = get(setting);
    std::vector<std::string> parts;
    for (std::string_view rest = text; !rest.empty();)
        parts.emplace_back(kit::take(rest, ','));
    return parts;
}

void address::use(redlock::credentials who)
{
    settings["user"] = std::move(who.user);  // libpq ignores empty settings
    settings["password"] = std::move(who.password);
}

address only(address a, found const& one)
{
    if (auto const ports = a.list("port"); !ports.empty())
        a.settings["port"] = ports[std::min(one.host, ports.size() - 1)];
    a.settings["host"] = one.name;
    a.settings["hostaddr"] = one.address;
    a.settings["target_session_attrs"] = "any";  // the session finds out itself whether the server is a primary
    return a;
}

void check(postgresql_options const& o)
{
    kit::check(o.connections, o.timeout);
    std::string_view table = o.table;
    bool const has_schema = table.find('.') != table.npos;
    if (table.size() > kit::table_max || (has_schema && !kit::is_name(kit::take(table, '.'))) || !kit::is_name(table))
        kit::refuse(fmt::format("table is \"{}\", but must be at most {} lower-case letters, digits and _, "
                                "with a schema and a dot before it or without",
                                o.table, kit::table_max));
    if (!o.schema.empty() && !kit::is_name(o.schema))
        kit::refuse(fmt::format("schema is \"{}\", but must be lower-case letters, digits and _", o.schema));
    if (auto const full = full_table_of(o); full.size() > full_table_max)
        kit::refuse(fmt::format("the table {} must have at most {} characters with its schema", full, full_table_max));
    if (has_schema && !o.schema.empty() && o.schema != schema_of(o))
        kit::refuse(fmt::format("schema is \"{}\", and table is \"{}\": name one schema", o.schema, o.table));
}

address parse_address(std::string_view url, postgresql_options defaults)
{
    auto const where = url.substr(std::min(url.find("://") + 3, url.size()));
    auto const place = where.substr(0, where.find('?'));
    if (place.find('@', std::min(place.find_first_of("@/"), place.size() - 1) + 1) != place.npos)
        kit::refuse(form);  // the host or the database may be a part of the password
    address a;
    a.options = std::move(defaults);
    a.settings = settings_of(without_options(url, a.options));
    a.settings["application_name"] = a.options.application_name;
    if (a.get("gssencmode").empty())
        a.settings["gssencmode"] = "disable";  // GSSAPI may block
    check(a.options);
    a.name = name_of(a);
    return a;
}

std::string presentable(std::string_view text, address const& a)
{
    auto const password = a.get("password"), of_key = a.get("sslpassword"), user = a.get("user"),
               database = a.get("dbname");
    return kit::presentable(text, {net::secret_of(password, user, database), of_key});
}

}  // namespace redlock::stores::postgresql
