#pragma once

#include "sim/wire.hpp"
#include "stores/redis/inbox.hpp"
#include "stores/redis/link.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::sim {

/// The way of a Redis node to its server: batches and replies are the bytes of a real connection. Replies are split at random places.
class link final : public redis::link, wire::owner, public std::enable_shared_from_this<link> {
public:
    link(world& w, process& p, server& s) : world_(w), process_(p), server_(s), wire_(std::make_shared<wire>(w, p, s)) {}

    void start(std::shared_ptr<detail::runtime> const& by, listener& l) override;
    void open(std::shared_ptr<redis::batch> greeting) override;
    void keep() override;
    void send(std::shared_ptr<redis::batch> const&) override;
    void cut() override { wire_->cut(); }
    void close() override;
    void abandon() override { close(); }

private:
    void opened(std::shared_ptr<client> const&) override;
    void told(std::string const& key) override;
    void broken(std::string_view why, std::vector<std::function<void()>> lost) override;

    void transmit(std::shared_ptr<redis::batch> const&, std::vector<command>, std::string value, std::shared_ptr<bool> const& lost);
    void received(std::string_view bytes);
    void handle(redis::inbox::event);
    void answered(std::shared_ptr<redis::batch> const&);
    void failed(std::string_view why);

    world& world_;
    process& process_;
    server& server_;
    std::shared_ptr<wire> const wire_;
    std::shared_ptr<redis::batch> greeting_;
    redis::inbox inbox_;
    std::string unread_;
    listener* listener_ = nullptr;  ///< null after the end
};

}  // namespace redlock::sim
