#include "stores/redis/cluster_map.hpp"

#include "stores/redis/decoder.hpp"
#include "net/url_text.hpp"

#include <algorithm>

namespace redlock::stores::redis {

namespace {

constexpr auto crc_table = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned i = 0; i < table.size(); ++i) {
        auto crc = i << 8;
        for (int bit = 0; bit < 8; ++bit)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
        table[i] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

// Reads "10.0.0.1:6379", "::1:6379", or ":6379" if the member does not know its own address.
std::optional<net::place> read_place(std::string_view text)
{
    auto const colon = text.rfind(':');
    if (colon == text.npos)
        return std::nullopt;
    auto const host = text.substr(0, colon);
    auto const port = net::to_number(text.substr(colon + 1), 1, 65'535);
    if (!port || !(host.empty() || net::is_host_name(host) || net::is_v6_address(host)))
        return std::nullopt;
    return net::place{std::string(host), std::to_string(*port)};
}

bool has_flag(std::string_view flags, std::string_view flag)
{
    while (!flags.empty()) {
        if (net::take(flags, ",") == flag)
            return true;
    }
    return false;
}

bool is_master(std::string_view flags)
{
    return has_flag(flags, "master") && !has_flag(flags, "noaddr") && !has_flag(flags, "handshake");
}

// Reads "5461" or "5461-10922". A slot in brackets is being moved; until the move ends, it belongs to its old master.
bool read_slots(std::string_view text, net::place const& owner, cluster_map& map)
{
    if (text.starts_with('['))
        return true;
    auto const first = net::to_number(net::take(text, "-"), 0, slot_count - 1);
    auto const last = text.empty() ? first : net::to_number(text, 0, slot_count - 1);
    if (!first || !last)
        return false;
    for (auto slot = *first; slot <= *last; ++slot)
        map.set_owner(static_cast<std::uint16_t>(slot), owner);
    return true;
}

// A line of the answer.
struct line {
    net::place address{};
    std::string name{};  // the host name; empty: it announces none
    std::string_view flags{}, slots{};

    net::place named() const { return {name, address.port}; }
};

// Reads "id address@bus[,hostname[,…]] flags master ping pong epoch link slot…".
std::optional<line> read_member(std::string_view line, net::place const& asked)
{
    redis::line m;
    net::take(line, " ");
    auto address = net::take(line, " ");
    auto const where = read_place(net::take(address, "@"));
    net::take(address, ",");
    if (auto const name = net::take(address, ","); net::is_host_name(name))
        m.name = net::lower(name);
    m.flags = net::take(line, " ");
    for (int i = 0; i < 5; ++i)
        net::take(line, " ");
    m.slots = line;
    if (where)
        m.address = {where->host.empty() ? asked.host : where->host, where->port};
    return where || !is_master(m.flags) ? std::optional(std::move(m)) : std::nullopt;
}

// Where to connect for a member. If two members announce one name and port, the name says nothing.
net::place target_of(line const& m, std::vector<line> const& all, net::url const& cluster)
{
    for (auto const& announced : {m.address, m.named()}) {
        if (auto const way = cluster.route_to(announced); way != announced)
            return way;
    }
    bool const is_named = !m.name.empty() && std::ranges::count(all, m.named(), &line::named) == 1;
    return is_named && cluster.transport == net::transport::tls ? m.named() : m.address;
}

bool add_slots(line const& m, cluster_map& map)
{
    if (!has_flag(m.flags, "fail") && !has_flag(m.flags, "fail?"))
        map.set_well(m.address);
    for (auto rest = m.slots; !rest.empty();) {
        if (!read_slots(net::take(rest, " "), m.address, map))
            return false;
    }
    return true;
}

}  // namespace

std::uint16_t slot_of(std::string_view key) noexcept
{
    if (auto const open = key.find('{'); open != key.npos) {
        if (auto const close = key.find('}', open); close != key.npos && close != open + 1)
            key = key.substr(open + 1, close - open - 1);
    }
    std::uint16_t crc = 0;
    for (unsigned char const c : key)
        crc = static_cast<std::uint16_t>(crc << 8 ^ crc_table[(crc >> 8 ^ c) & 0xff]);
    return crc % slot_count;
}

void cluster_map::set_owner(std::uint16_t slot, net::place const& p)
{
    auto known = std::ranges::find(masters_, p);
    if (known == masters_.end())
        known = masters_.insert(known, p);
    owners_[slot] = static_cast<std::uint16_t>(known - masters_.begin());
}

std::vector<net::place> cluster_map::owners() const
{
    std::vector<net::place> all;
    for (std::uint16_t i = 0; auto const& m : masters_) {
        if (std::ranges::find(owners_, i++) != owners_.end())
            all.push_back(m);
    }
    return all;
}

// All managers get the same tag as long as no slots move, because each takes the lowest number.
std::string cluster_map::tag_of(net::place const& p) const
{
    auto const all = owners();
    if (std::ranges::find(all, p) == all.end())
        return {};
    for (unsigned n = 0;; ++n) {
        auto tag = '{' + std::to_string(n) + '}';
        if (auto const* const there = owner(slot_of(tag)); there && *there == p)
            return tag;
    }
}

redis::request ask_for_cluster()
{
    redis::request r;
    r.push("CLUSTER", "NODES");
    return r;
}

net::place cluster_map::place_of(net::place const& announced) const
{
    auto const known = std::ranges::find(members_, announced, &member::named);
    return known == members_.end() || announced.host.empty() ? announced : known->at;
}

net::place cluster_map::target_of(net::place const& p) const
{
    auto const known = std::ranges::find(members_, p, &member::at);
    return known == members_.end() ? p : known->target;
}

node_reply read_cluster(reply const& answer, net::url const& asked, cluster_map& map)
{
    if (answer.is_error()) {
        auto r = decode_error(answer.text);
        return r.error == errc::server_error
                   ? node_reply{.error = errc::unsupported_server, .text = "this is no member of a cluster: " + r.text}
                   : r;
    }
    cluster_map read;
    std::string_view text = answer.text;
    if (text.starts_with("txt:"))  // the format prefix of a RESP3 verbatim string
        text.remove_prefix(4);
    if (!text.ends_with('\n'))
        return {.error = errc::unexpected_reply, .text = "its answer to CLUSTER NODES is incomplete"};
    std::vector<line> all;
    bool understood = true;
    while (!text.empty() && understood) {
        auto m = read_member(net::take(text, "\n"), {asked.host, asked.port});
        understood = m.has_value();
        if (m && !m->address.port.empty())
            all.push_back(std::move(*m));
    }
    for (auto const& m : all) {
        read.add(m.address, m.named(), target_of(m, all, asked));
        understood = understood && (!is_master(m.flags) || add_slots(m, read));
    }
    if (!understood)
        return {.error = errc::unexpected_reply, .text = "its answer to CLUSTER NODES is not understood"};
    if (read.owners().empty())
        return {.error = errc::wrong_cluster_node, .text = "its cluster has no slots"};
    map = std::move(read);
    return {};
}

std::optional<redirection> read_redirection(std::string_view refusal)
{
    if (net::take(refusal, " ") != "MOVED")
        return std::nullopt;
    auto const slot = net::to_number(net::take(refusal, " "), 0, slot_count - 1);
    auto const to = read_place(refusal);
    if (!slot || !to)
        return std::nullopt;
    return redirection{static_cast<std::uint16_t>(*slot), *to};
}

}  // namespace redlock::stores::redis
