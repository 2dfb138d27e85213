// The meaning of a server's errors, and their texts without secrets.

#include "net/secrets.hpp"
#include "stores/redis/cluster_map.hpp"
#include "stores/redis/decoder.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace redlock::stores::redis {

namespace {

struct meaning {
    std::string_view code;
    errc error;
};

// With these errors the server refuses a command before it changes anything.
constexpr std::array refusals{
    meaning{"NOAUTH", errc::authentication_failed},   meaning{"WRONGPASS", errc::authentication_failed},
    meaning{"NOPERM", errc::permission_denied},       meaning{"NOPROTO", errc::unsupported_server},
    meaning{"LOADING", errc::node_loading},           meaning{"READONLY", errc::node_read_only},
    meaning{"MASTERDOWN", errc::node_read_only},      meaning{"BUSY", errc::node_busy},
    meaning{"OOM", errc::node_out_of_memory},         meaning{"MISCONF", errc::node_refuses_writes},
    meaning{"NOREPLICAS", errc::node_refuses_writes}, meaning{"MOVED", errc::wrong_cluster_node},
    meaning{"ASK", errc::wrong_cluster_node},         meaning{"TRYAGAIN", errc::wrong_cluster_node},
    meaning{"CLUSTERDOWN", errc::wrong_cluster_node}, meaning{"CROSSSLOT", errc::wrong_cluster_node},
    meaning{"WRONGTYPE", errc::wrong_type},           meaning{"NOSCRIPT", errc::script_missing},
};

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

// Redis up to 6.2 wraps an error inside a script: "ERR Error running script (…): @user_script:1: WRONGTYPE …".
// If the server itself refuses, the place appears twice, with a dash: "… @user_script:1: @user_script: 1: -OOM …".
std::string_view unwrapped(std::string_view text)
{
    constexpr std::string_view wrapped = "ERR Error running script", place = "@user_script:";
    if (!text.starts_with(wrapped))
        return text;
    text.remove_prefix(std::min(text.find(place), text.size()));
    while (text.starts_with(place)) {
        auto const line_end = text.find(": ", place.size());
        text.remove_prefix(line_end == text.npos ? text.size() : line_end + 2);
    }
    text.remove_prefix(text.starts_with('-') ? 1 : 0);
    return text;
}

meaning const* find_refusal(std::string_view text)
{
    auto const found = std::ranges::find(refusals, first_word(unwrapped(text)), &meaning::code);
    return found == refusals.end() ? nullptr : &*found;
}

// Redis 7 has no error code for it. It sends "ERR The user executing the script can't run this command …" or
// "ERR ACL failure in script: …".
bool is_forbidden_in_script(std::string_view text)
{
    return text.find("he user executing the script can't") != text.npos
           || text.find("ACL failure in script") != text.npos;
}

}  // namespace

node_reply decode_error(std::string_view text, std::initializer_list<std::string_view> secrets)
{
    node_reply r;
    // The cluster reads the place in this text, which contains nothing else.
    r.text = read_redirection(text) ? std::string(text) : net::presentable(text, secrets);
    if (auto const* refusal = find_refusal(text)) {
        r.error = refusal->error;
        r.untouched = true;
    } else if (is_forbidden_in_script(text)) {
        r.error = errc::permission_denied;
    } else {
        r.error = errc::server_error;
        // The server does not know the command, so it changed nothing.
        r.untouched = text.substr(0, 19) == "ERR unknown command";
    }
    return r;
}

}  // namespace redlock::stores::redis
