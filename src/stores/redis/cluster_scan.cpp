#include "stores/redis/cluster_scan.hpp"

#include "net/url_text.hpp"

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores::redis {

namespace {

constexpr auto first_cursor = "0";

/// The operation with the cursor of one master.
class scan_of_member final : public node_operation {
public:
    /// @param next the place where the scan goes on after this master; empty: nowhere
    scan_of_member(std::shared_ptr<node_operation> o, std::string master, std::string cursor, std::string next)
        : operation_(std::move(o)),
          master_(std::move(master)),
          cursor_(std::move(cursor)),
          next_(std::move(next)),
          command_(operation_->command())
    {
        command_.value = cursor_;
        not_after = operation_->not_after;
    }

    node_command const& command() const noexcept override { return command_; }
    bool withdrawn() const noexcept override { return operation_->withdrawn(); }
    void mark_sent(std::uint32_t connection) noexcept override { operation_->mark_sent(connection); }
    std::uint32_t sent_on() const noexcept override { return operation_->sent_on(); }
    std::uint32_t unanswered_on() const noexcept override { return operation_->unanswered_on(); }

    void complete(node_reply r) override
    {
        if (r.vote == vote::granted)
            r.text = r.text.empty() ? next_ : master_ + ' ' + r.text;
        operation_->complete(std::move(r));
    }

private:
    std::shared_ptr<node_operation> const operation_;
    std::string const master_, cursor_, next_;
    node_command command_;
};

}  // namespace

std::optional<member_scan> next_scan(std::shared_ptr<node_operation> o, std::vector<net::place> const& masters)
{
    std::map<std::string, net::place, std::less<>> in_order;
    for (auto const& m : masters)
        in_order.emplace(net::to_string(m), m);
    auto cursor = o->command().value;
    auto const address = net::take(cursor, " ");
    auto const at = in_order.lower_bound(address);
    if (at == in_order.end())
        return std::nullopt;
    auto const behind = std::next(at);
    auto next = behind == in_order.end() ? std::string() : behind->first + ' ' + first_cursor;
    std::string begin(at->first == address ? cursor : first_cursor);
    return member_scan{at->second,
                       std::make_shared<scan_of_member>(std::move(o), at->first, std::move(begin), std::move(next))};
}

}  // namespace redlock::stores::redis
