// Designated initialisers of some members compile without warnings about the missing ones.

#include <redlock.hpp>

using namespace std::chrono_literals;

extern redlock::manager_options const by_nodes{.nodes = {"redis://10.0.0.1"}};
extern redlock::manager_options const by_log{.nodes = {"a"}, .log = redlock::log_to_stderr};
extern redlock::tls_options const tls{.ca_file = "ca.pem"};
extern redlock::acquire_options const waiting{.ttl = 5s, .wait = 2s};
extern redlock::acquire_options const renewed{.renew = redlock::renewal::automatic};
extern redlock::lock_ticket const left{.resources = "stock", .token = "t"};
extern redlock::elect_options const rarely{.ttl = 5s, .at_least = 5s};
extern redlock::election_event const event{.what = redlock::election_event::kind::elected, .name = "scheduler"};
extern redlock::node_report const node{.name = "a", .vote = redlock::vote::denied};
extern redlock::attempt_report const attempt{.nodes = {node}, .message = "well"};
extern redlock::shutdown_options const strict{.keys_left_is_error = true};
extern redlock::list_options const next_page{.from = "3--"};
extern redlock::node_lock_info const info{.name = "a", .locked = true};
extern redlock::lock_info const lock{.resource = "stock", .nodes = {info}};
extern redlock::node_stats const counters{.name = "a"};
extern redlock::lock_stats const locks{.acquired = 1};
extern redlock::stats const all{};  // designated initialisers cannot name its base class
extern redlock::node_reply const reply{.vote = redlock::vote::granted};
extern redlock::server_identity const identity{.durable = false};
