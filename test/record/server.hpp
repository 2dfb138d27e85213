// A Redis server as far as the record of its memory depends on it: its process, its keys, its replication and its log.
// Tried on Redis 7.0.15; Redis 6.2 does the same.
#pragma once

#include "record/script_runner.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace redlock::test::record {

using milliseconds = std::int64_t;  ///< a time, or a duration

/// The text of a record, and its fields. Equal texts are kept once, so that a server is cheap to copy.
struct record_text {
    std::string text;
    std::uint64_t word = 0, run = 0, past = 0;
    char how = 0, state = 0;
    milliseconds till = 0;
    std::string slots;

    static record_text const& of(std::string_view text)
    {
        static std::unordered_map<std::string, record_text> all;
        auto const [known, is_new] = all.try_emplace(std::string(text));
        if (is_new)
            known->second.read(text);
        return known->second;
    }

private:
    void read(std::string_view all)
    {
        text = all;
        auto const head = all.substr(0, all.find('|'));
        slots = all.substr(head.size());
        std::vector<std::string> fields(1);
        for (char const c : head) {
            if (c == ' ')
                fields.emplace_back();
            else
                fields.back() += c;
        }
        fields.resize(6);
        word = std::strtoull(fields[0].c_str(), nullptr, 16);
        how = fields[1].front();
        run = std::strtoull(fields[2].c_str(), nullptr, 16);
        past = std::strtoull(fields[3].c_str(), nullptr, 16);
        state = fields[4].front();
        till = std::strtoll(fields[5].c_str(), nullptr, 10);
    }
};

/// The keys of the prefix. A lock is a bit.
struct keys {
    record_text const* record = nullptr;
    milliseconds record_until = 0;
    std::uint32_t locks = 0;
    bool seen_with_replica = false;  ///< the truth: at the last look, the server had replicas or a backlog

    friend bool operator==(keys const&, keys const&) = default;
};

struct snapshot {
    keys data{};
    std::uint64_t replid = 0;  ///< 0: the server had no backlog
};

struct server {
    // the process
    std::uint64_t run = 0, replid = 0, replid2 = 0;
    bool is_master = true, has_replica = false, has_backlog = false;
    bool log_on = false;
    bool first_rewrite = false;  ///< the log was switched on, and its first rewrite is not finished
    bool rewrites = false, has_rewritten = false;
    bool always = false;  ///< appendfsync
    keys memory{};

    // the disk
    std::optional<keys> log{};
    keys synced{};  ///< the part of the log that survives a power cut
    std::optional<snapshot> dump{};

    // the configuration file
    bool file_log = false, file_always = true;

    // a member of a cluster: the master has slots 0 to 8, and perhaps slot 9
    bool has_last_slot = false;

    bool is_durable() const { return log_on && !first_rewrite && always; }

    void written()
    {
        if (!log_on || first_rewrite)
            return;
        log = memory;
        if (always)
            synced = memory;
    }

    // The log on the disk stays as it is. Redis flushes and syncs it first.
    void switch_log_off()
    {
        log_on = first_rewrite = rewrites = false;
        if (log)
            synced = *log;
    }

    // Until the first rewrite is finished, the earlier log stays on the disk, and a restart reads that one.
    void switch_log_on() { log_on = first_rewrite = rewrites = true; }

    void finish_rewrite()
    {
        first_rewrite = rewrites = false;
        has_rewritten = true;
        log = synced = memory;
    }

    void save(keys const& what) { dump = snapshot{what, has_backlog ? replid : 0}; }

    /// The process ends at once, and the next one reads the disk.
    void restart(std::uint64_t new_run)
    {
        run = replid = new_run;
        replid2 = 0;
        is_master = true;
        has_replica = has_backlog = first_rewrite = rewrites = has_rewritten = false;
        log_on = file_log;
        always = file_always;
        if (log_on) {  // a dump is not read, even if there is no log
            if (!log)
                log = synced = keys();
            memory = *log;
        } else if (dump) {
            memory = dump->data;
            replid2 = dump->replid;  // since Redis 7; earlier releases leave it 0
            has_backlog = replid2 != 0;
        } else {
            memory = {};
        }
    }

    void attach_replica(std::uint64_t new_replid)
    {
        if (!std::exchange(has_backlog, true)) {
            replid = new_replid;
            replid2 = 0;
        }
        has_replica = true;
    }

    void free_backlog(std::uint64_t new_replid)
    {
        has_backlog = false;
        replid = new_replid;
        replid2 = 0;
    }

    void promote(std::uint64_t new_replid)
    {
        replid2 = replid;
        replid = new_replid;
        is_master = true;
    }

    /// Copies all of a master's keys. A server with a log writes it anew.
    void follow(server const& master)
    {
        is_master = false;
        replid = master.replid;
        replid2 = 0;
        has_backlog = true;
        has_replica = false;
        memory = master.memory;
        if (log_on)
            finish_rewrite();
    }
};

inline std::string id_text(std::uint64_t id, std::size_t digits)
{
    std::string text(digits, '0');
    for (auto c = text.rbegin(); id != 0; id >>= 4)
        *c++ = "0123456789abcdef"[id & 15];
    return text;
}

/// A server as the script sees it. @p written is called after each write.
template <class Written>
class script_view final : public script_server {
public:
    script_view(server& s, milliseconds now, Written written) : s_(s), now_(now), written_(written) {}

    std::string info(std::string_view section) const override
    {
        std::string all;
        auto const line = [&](char const* name, std::string_view value) {
            all.append(name).append(value).append("\r\n");
        };
        if (section == "server") {
            line("# Server", "");
            line("redis_version:", "7.0.15");
            line("run_id:", id_text(s_.run, 40));
            line("tcp_port:", "6379");
        } else if (section == "replication") {
            line("# Replication", "");
            line("role:", s_.is_master ? "master" : "slave");
            line("connected_slaves:", s_.has_replica ? "1" : "0");
            line("master_replid:", id_text(s_.replid, 40));
            line("master_replid2:", id_text(s_.replid2, 40));
            line("repl_backlog_active:", s_.has_backlog ? "1" : "0");
        } else {
            line("# Persistence", "");
            line("loading:", "0");
            line("aof_enabled:", s_.log_on ? "1" : "0");
            line("aof_rewrite_in_progress:", s_.rewrites ? "1" : "0");
            line("aof_rewrite_scheduled:", "0");
            line("aof_last_rewrite_time_sec:", s_.has_rewritten ? "0" : "-1");
            line("aof_last_write_status:", "ok");
        }
        return all;
    }

    std::string cluster_nodes() const override
    {
        auto const last = s_.has_last_slot ? "9\n" : "8\n";
        return "07c3 127.0.0.1:7001@17001 master - 0 1 2 connected 10-16383\n"
               "e7d1 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-"
               + std::string(last);
    }

    std::optional<std::string> get(std::string_view) const override
    {
        return s_.memory.record ? std::optional(s_.memory.record->text) : std::nullopt;
    }

    std::int64_t pttl(std::string_view) const override { return s_.memory.record ? s_.memory.record_until - now_ : -2; }

    void set(std::string_view, std::string_view value, std::optional<std::int64_t> ttl) override
    {
        s_.memory.record = &record_text::of(value);
        if (ttl)
            s_.memory.record_until = now_ + *ttl;
        written_();
    }

private:
    server& s_;
    milliseconds const now_;
    Written written_;
};

}  // namespace redlock::test::record
