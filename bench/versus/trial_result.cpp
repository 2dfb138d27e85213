#include "versus/trial_result.hpp"

#include <boost/describe.hpp>
#include <boost/json.hpp>

namespace redlock::versus {

// The fields of the file, in the order of the file.
BOOST_DESCRIBE_STRUCT(trial_result, (),
                      (peer, fault, confirmed_writes, lost_updates, refused_writes, held_twice, keys_left, tombstones,
                       crashed_workers, killed_workers, recovered, recovery_us, notices, notice_us, never_noticed,
                       remarks, failure))

trial_result from_json(std::string_view text)
{
    boost::json::parse_options options;
    options.allow_invalid_utf8 = true;  // a remark may quote a worker
    return boost::json::value_to<trial_result>(boost::json::parse(text, {}, options));
}

std::string to_json(trial_result const& r) { return boost::json::serialize(boost::json::value_from(r)); }

}  // namespace redlock::versus
