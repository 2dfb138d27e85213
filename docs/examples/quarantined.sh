# Servers that restart without their memory do not vote for max_ttl: docs/how-to/quarantined.md.
unset REDLOCK_RESTART_GUARD  # strict, as everywhere
export REDLOCK_NODE_TIMEOUT=1s
work=$(mktemp -d)
declare -A server
finish() {
    for process in $(jobs -pr); do kill "$process" && wait "$process" || true; done
    rm -rf "$work"
}
trap finish EXIT
cd "$work"
printf '#!/bin/sh\necho done >>done\n' >report
chmod +x report
start() {  # NAME: without a log, so it forgets when it stops
    redis-server --port 0 --unixsocket "$work/$1.socket" --save '' --dir "$work" >log &
    server[$1]=$!
    until [ -S "$1.socket" ]; do kill -0 $! || { cat log; exit 1; }; sleep 0.05; done
}
restart() {
    kill "${server[$1]}"
    wait "${server[$1]}"
    start "$1"
}
for name in a b c; do start $name; done
export REDLOCK_URLS=unix://$work/a.socket,unix://$work/b.socket,unix://$work/c.socket
status() { "$@" >out 2>err && echo 0 || echo $?; }

export REDLOCK_MAX_TTL=3s REDLOCK_TTL=3s  # the servers are as old as others are after a minute
redlock run warm-up true
restart a
restart b
export REDLOCK_MAX_TTL=1h REDLOCK_TTL=10s  # however long this test takes

#[refused
[ "$(status redlock run -n nightly ./report)" = 69 ]    # 69: look at the servers, not at the lock
grep 'restarted nodes do not vote yet, .* a majority votes again in' err
[ "$(status redlock doctor -o prometheus)" = 2 ]
grep '^redlock_doctor_quarantine_seconds' out           # for how long each of them does not vote yet
#]

export REDLOCK_MAX_TTL=4s REDLOCK_TTL=2s
#[waits
redlock run nightly ./report                            # waits until a majority votes, then runs
#]
[ -e done ]
