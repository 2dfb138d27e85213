#include "net/url.hpp"

#include "net/url_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::net {

namespace {

constexpr int database_max = 65'535;

struct scheme {
    std::string_view name;
    net::transport transport;
    net::topology topology = topology::server;
};

constexpr scheme schemes[] = {
    {"redis", transport::tcp},
    {"valkey", transport::tcp},
    {"rediss", transport::tls},
    {"valkeys", transport::tls},
    {"unix", transport::unix_socket},
    {"memory", transport::memory},
    {"redis-sentinel", transport::tcp, topology::sentinel},
    {"valkey-sentinel", transport::tcp, topology::sentinel},
    {"rediss-sentinel", transport::tls, topology::sentinel},
    {"valkeys-sentinel", transport::tls, topology::sentinel},
    {"redis-cluster", transport::tcp, topology::cluster},
    {"valkey-cluster", transport::tcp, topology::cluster},
    {"rediss-cluster", transport::tls, topology::cluster},
    {"valkeys-cluster", transport::tls, topology::cluster},
};

class parser {
public:
    explicit parser(std::string_view text) : text_(text) {}

    url run()
    {
        auto rest = text_;
        if (auto const end = rest.find("://"); end != std::string_view::npos) {
            auto const named = lower(rest.substr(0, end));
            auto const* const known = std::ranges::find(schemes, named, &scheme::name);
            if (known == std::end(schemes))
                return refuse("its scheme must be redis, rediss, valkey, valkeys, one of these with -sentinel or "
                              "-cluster, unix or memory, or that of a store in manager_options::stores");
            url_.transport = known->transport;
            url_.topology = known->topology;
            rest.remove_prefix(end + 3);
        } else if (auto const slash = rest.find(":/"); slash != std::string_view::npos) {
            auto const before = lower(rest.substr(0, slash));
            if (std::ranges::find(schemes, before, &scheme::name) != std::end(schemes))
                return refuse(fmt::format("two slashes must follow the scheme: {}://", before));
        }
        switch (url_.transport) {
        case transport::memory:
            return memory(rest);
        case transport::unix_socket:
            return unix_socket(rest);
        case transport::tcp:
        case transport::tls:
            return url_.topology == topology::sentinel  ? sentinel(rest)
                   : url_.topology == topology::cluster ? cluster(rest)
                                                        : tcp(rest);
        }
        return url_;
    }

private:
    url memory(std::string_view rest)
    {
        if (rest.empty())
            return refuse("a name must follow \"memory://\"");
        url_.host = rest;
        return url_;
    }

    url unix_socket(std::string_view rest)
    {
        if (auto const at = rest.find("@/"); !rest.empty() && rest.front() != '/' && at != std::string_view::npos) {
            if (!set_credentials(rest.substr(0, at)))
                return url_;
            rest.remove_prefix(at + 1);
            // This "@/" may be a part of the password.
            if (rest.substr(0, rest.find('?')).find("@/") != std::string_view::npos)
                return refuse("an '@' in user, password or path of a Unix socket must be written %40");
        }
        auto const question = rest.find('?');
        url_.path = rest.substr(0, question);
        if (url_.path.size() < 2 || url_.path.front() != '/')
            return refuse("an absolute path must follow \"unix://\", or \"unix://user:password@\"");
        if (url_.path.size() > 107)
            return refuse("the path of a Unix socket has at most 107 bytes");
        if (question != std::string_view::npos) {
            auto const query = rest.substr(question + 1);
            if (query.substr(0, 3) != "db=")
                return refuse("what follows '?' must be \"db=\" and a number; user and password stand before the path: "
                              "unix://user:password@/path");
            if (!set_database(query.substr(3)))
                return refuse(database_rule);
        }
        return url_;
    }

    url tcp(std::string_view rest)
    {
        // A comma in a password is no reason to refuse the address.
        auto const comma = rest.find(',');
        bool const in_password = rest.find('@', comma) != rest.npos && rest.find("://", comma) == rest.npos;
        if (comma != rest.npos && !in_password)
            return refuse("it names several servers, but each node has an address of its own: an element of "
                          "manager_options::nodes, or a --url");
        if (!take_credentials(rest, rest.rfind('@')))
            return url_;
        if (auto const mark = rest.find_first_of("?#"); mark != std::string_view::npos)
            return refuse("'?' and '#' are not allowed: set timeouts and TLS in manager_options, such as "
                          "manager_options::connect_timeout, and the "
                          "database after a slash: redis://host/2");
        if (auto const slash = rest.find('/'); slash != std::string_view::npos) {
            auto const database = rest.substr(slash + 1);
            if (!database.empty() && !set_database(database))
                return refuse(database_rule);
            rest = rest.substr(0, slash);
        }
        if (auto const where = place_in(rest, "6379")) {
            url_.host = where->host;
            url_.port = where->port;
        }
        return url_;
    }

    url sentinel(std::string_view rest)
    {
        if (!take_credentials(rest, rest.substr(0, rest.find('/')).rfind('@')))
            return url_;
        auto places = take(rest, "/");
        url_.service = take(rest, "?");
        if (!set_asked(places, "26379"))
            return url_;
        if (url_.service.empty() || !is_host_name(url_.service))
            return refuse(
                "after the Sentinels, a slash and the name of the master must follow, of letters, digits and ._-: "
                "redis-sentinel://10.0.0.1,10.0.0.2/mymaster");
        set_parameters(rest);
        return url_;
    }

    url cluster(std::string_view rest)
    {
        if (!take_credentials(rest, rest.rfind('@')))
            return url_;
        auto const members = take(rest, "?");
        if (members.find_first_of("/#") != std::string_view::npos)
            return refuse("it must name only members of the cluster, such as redis-cluster://10.0.0.1,10.0.0.2:7000. A "
                          "cluster has one database, and all other settings are in manager_options");
        if (set_asked(members, "6379"))
            set_parameters(rest);
        return url_;
    }

    bool set_asked(std::string_view places, std::string_view usual_port)
    {
        do {
            auto const where = place_in(take(places, ","), usual_port);
            if (!where)
                return false;
            url_.asked.push_back(*where);
        } while (!places.empty());
        url_.host = url_.asked.front().host;
        url_.port = url_.asked.front().port;
        return true;
    }

    void set_parameters(std::string_view all)
    {
        while (!all.empty() && url_.wrong.empty()) {
            auto value = take(all, "&");
            auto const name = take(value, "=");
            if (name == "map")
                set_routes(value);
            else if (url_.topology == topology::sentinel)
                set_parameter(name, value);
            else
                refuse("what follows '?' must be map, such as map=10.0.0.1:6379=proxy:7001; all other settings are in "
                       "manager_options");
        }
    }

    // Reads "10.0.0.1:6379=proxy:7001,…".
    void set_routes(std::string_view text)
    {
        if (text.ends_with(','))
            return void(refuse("map ends with a comma"));
        do {
            auto reachable = take(text, ",");
            auto const announced = take(reachable, "=");
            auto const from = place_in(announced, "6379"), to = from ? place_in(reachable, "6379") : std::nullopt;
            if (!to)
                return void(refuse("map must be ANNOUNCED=REACHABLE[,…], each a host and a port: "
                                   "map=10.0.0.1:6379=proxy:7001"));
            url_.routes.emplace_back(*from, *to);
        } while (!text.empty());
    }

    bool set_parameter(std::string_view name, std::string_view value)
    {
        auto const text = percent_decode(value);
        if (name == "db" && set_database(value))
            return true;
        if (name == "sentinel_tls" && (value == "on" || value == "off")) {
            url_.sentinel_transport = value == "on" ? transport::tls : transport::tcp;
            return true;
        }
        if (name == "sentinel_user" && text)
            url_.sentinel_user = *text;
        else if (name == "sentinel_password" && text)
            url_.sentinel_password = *text;
        else if (name == "db")
            refuse(database_rule);
        else if (name == "sentinel_tls")
            refuse("sentinel_tls must be on or off");
        else if (name == "sentinel_user" || name == "sentinel_password")
            refuse("'%' in sentinel_user and sentinel_password must be followed by two hexadecimal digits");
        else
            refuse("what follows '?' must be db, map, sentinel_tls, sentinel_user or sentinel_password, such as "
                   "db=2&sentinel_tls=off; user and password of the servers stand before the Sentinels; all other "
                   "settings are in manager_options");
        return url_.wrong.empty();
    }

    // Refuses the URL if @p text is not a host with an optional port.
    std::optional<place> place_in(std::string_view text, std::string_view usual_port)
    {
        auto host = text;
        std::string_view port;
        if (!text.empty() && text.front() == '[') {  // an IPv6 address
            auto const bracket = text.find(']');
            if (bracket == std::string_view::npos)
                return none("'[' is not followed by ']'");
            host = text.substr(1, bracket - 1);
            port = text.substr(bracket + 1);
        } else if (auto const colon = text.find(':'); colon != std::string_view::npos) {
            host = text.substr(0, colon);
            port = text.substr(colon);
        }
        if (host.empty())
            return none("it names no host");
        if (text.front() == '[' ? !is_v6_address(host) : !is_host_name(host))
            return none("its host is neither a name nor an address");
        auto const number = port.empty()          ? to_number(usual_port, 1, 65'535)
                            : port.front() == ':' ? to_number(port.substr(1), 1, 65'535)
                                                  : std::nullopt;
        if (!number)
            return none("its port must be 1 to 65535");
        return place{lower(host), std::to_string(*number)};
    }

    std::optional<place> none(std::string_view why)
    {
        refuse(why);
        return std::nullopt;
    }

    // Reads user and password before the '@' at @p at, if there is one.
    bool take_credentials(std::string_view& rest, std::size_t at)
    {
        if (at == rest.npos)
            return true;
        bool const good = set_credentials(rest.substr(0, at));
        rest.remove_prefix(at + 1);
        return good;
    }

    bool set_credentials(std::string_view text)
    {
        auto const colon = text.find(':');
        auto const user = percent_decode(text.substr(0, colon));
        if (colon == std::string_view::npos) {  // perhaps it is the password
            refuse("a user must be followed by ':' and a password, or by ':' alone if the user has none");
            return false;
        }
        auto const password = percent_decode(text.substr(colon + 1));
        if (!user || !password) {
            refuse("'%' in user or password must be followed by two hexadecimal digits");
            return false;
        }
        url_.user = *user;
        url_.password = *password;
        return true;
    }

    bool set_database(std::string_view text)
    {
        auto const number = to_number(text, 0, database_max);
        url_.database = static_cast<int>(number.value_or(0));
        return number.has_value();
    }

    url refuse(std::string_view why)
    {
        url_ = {};
        url_.wrong = fmt::format("\"{}\" is not the address of a node: {}", shown(text_), why);
        return url_;
    }

    static constexpr std::string_view database_rule = "its database must be 0 to 65535";

    std::string_view text_;
    url url_;
};

}  // namespace

std::string url::name() const
{
    switch (transport) {
    case transport::memory:
        return "memory://" + host;
    case transport::unix_socket:
        return "unix://" + path;
    case transport::tcp:
    case transport::tls:
        break;
    }
    bool const tls = transport == transport::tls;
    if (topology == topology::server)
        return (tls ? "rediss://" : "redis://") + to_string({host, port});
    if (topology == topology::member)
        return cluster + " (" + to_string({host, port}) + ')';
    std::string name =
        fmt::format("redis{}-{}://", tls ? "s" : "", topology == topology::sentinel ? "sentinel" : "cluster");
    for (auto const& p : asked)
        name += (&p == &asked.front() ? "" : ",") + to_string(p);
    return topology == topology::sentinel ? name + '/' + service : name;
}

url url::of(place const& p) const
{
    url u = *this;
    u.topology = topology::server;
    u.host = p.host;
    u.port = p.port;
    return u;
}

place url::route_to(place const& p) const
{
    auto const known = std::ranges::find(routes, p, &std::pair<place, place>::first);
    return known == routes.end() ? p : known->second;
}

url parse_url(std::string_view text) { return parser(text).run(); }

}  // namespace redlock::net
