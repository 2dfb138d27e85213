# A managed service in small: CONFIG is refused, one instance may evict keys, and a replica is promoted that lacks the
# last lock. docs/how-to/managed-redis.md quotes it.
export REDLOCK_NODE_TIMEOUT=2s REDLOCK_MAX_TTL=1h  # a busy machine changes nothing: no server is slow, and all are new
folder=${1%/1/socket}
work=$(mktemp -d)
cd "$work"
printf '#!/bin/sh\necho done >>done\n' >report
chmod +x report

cli() { redis-cli -s "$folder/$1/socket" "${@:2}" >answer && ! grep -E '^(ERR|NOPERM)' answer; }
for try in 1 2 3 4 5 6 7 8 9 10; do  # the port may be taken
    port=$((20000 + RANDOM % 40000))
    redis-server --bind 127.0.0.1 --port $port --unixsocket "$work/primary" --dir "$work" --save '' \
        --repl-diskless-sync-delay 0 --rename-command CONFIG '' >log &
    primary=$!
    while kill -0 $primary 2>/dev/null && ! [ -S primary ]; do sleep 0.05; done
    if [ -S primary ]; then break; fi
done
[ -S primary ] || { cat log; exit 1; }
ln -s "$work/primary" address  # the name of the instance: a failover moves it
cli 1 CONFIG SET maxmemory 64mb
cli 1 CONFIG SET maxmemory-policy volatile-lru
evicting=unix://$folder/1/socket
for server in 2 3; do cli $server ACL SETUSER default -config; done
export REDLOCK_URLS=unix://$work/address,unix://$folder/2/socket,unix://$folder/3/socket
is() {  # STATUS COMMAND: fails unless the command ends with it. Its output is in out and err
    local status=0
    "${@:2}" >out 2>err || status=$?
    [ $status = "$1" ] || { cat out err; echo "$2: status $status, not $1"; exit 1; }
}

#[doctor
is 0 redlock run -n nightly ./report              # locks work without CONFIG
is 1 redlock doctor --skip timeout,slow-log       # 1: WARN
grep 'UNKNOWN .* durability .* CONFIG GET is refused' out
grep 'WARN .* permissions .* may not run config|get' out
#]

#[eviction
is 69 redlock -u "$evicting" run -n nightly ./report
grep 'its maxmemory-policy is volatile-lru' err
#]

cli 1 CONFIG SET maxmemory-policy noeviction
cli 1 CONFIG SET repl-diskless-sync-delay 0
cli 1 REPLICAOF 127.0.0.1 $port
for ((try = 0; try < 600; ++try)); do
    cli 1 INFO replication
    if grep -q master_link_status:up answer; then break; fi
    sleep 0.1
done
hold() {  # KEY: another process holds the lock until it is killed
    redlock hold -t 1h "$1" >"$1.held" &
    until [ -s "$1.held" ]; do kill -0 $!; sleep 0.05; done
}
three=$REDLOCK_URLS
cut_the_replica_off() { cli 1 REPLICAOF NO ONE; }
failover() { ln -sfn "$folder/1/socket" address; }

#[promoted
cut_the_replica_off                                 # replication is late when
REDLOCK_URLS=unix://$work/address hold import       # a process gets its lock from the primary alone,
REDLOCK_URLS=$three hold nightly                    # and another one its lock from three instances
failover                                            # then the replica becomes the primary
is 69 redlock -u "unix://$work/address" run -n import ./report  # refused: the new primary may have forgotten the lock
is 75 redlock run -n nightly ./report                           # refused: the other two instances know the holder
#]
[ "$(wc -l <done)" = 1 ]
