#pragma once

/** @file
    Distributed locks on Redis and Valkey for Boost.Asio: this header includes all others of the core.

    Begin with `redlock::lock_manager`, which acquires locks, and `redlock::lock`, which is a lock that is held.
*/

#include <redlock/clock.hpp>
#include <redlock/elect.hpp>
#include <redlock/error.hpp>
#include <redlock/fence_gate.hpp>
#include <redlock/histogram.hpp>
#include <redlock/inspect.hpp>
#include <redlock/lock.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/lock_manager.hpp>
#include <redlock/lock_scope.hpp>
#include <redlock/lock_ticket.hpp>
#include <redlock/log.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/memory_server.hpp>
#include <redlock/mode.hpp>
#include <redlock/node.hpp>
#include <redlock/node_command.hpp>
#include <redlock/node_reply.hpp>
#include <redlock/observer.hpp>
#include <redlock/options.hpp>
#include <redlock/plain_store.hpp>
#include <redlock/quarantine_reason.hpp>
#include <redlock/report.hpp>
#include <redlock/stats.hpp>
#include <redlock/testing.hpp>
#include <redlock/version.hpp>
