# Servers that restart without their memory do not vote for max_ttl: docs/how-to/quarantined.md.
unset REDLOCK_RESTART_GUARD  # strict, as everywhere
export REDLOCK_NODE_TIMEOUT=1s
folder=${1%/1/socket}
work=$(mktemp -d)
started=()
finish() {
    for server in "${started[@]}"; do kill "$server" 2>/dev/null && wait "$server" || true; done
    rm -rf "$work"
}
trap finish EXIT
cd "$work"
printf '#!/bin/sh\necho done >>done\n' >report
chmod +x report
restart() {  # NUMBER: without a log, so it forgets
    redis-cli -s "$folder/$1/socket" SHUTDOWN NOSAVE
    while [ -e "$folder/$1/socket" ]; do sleep 0.05; done
    redis-server --port 0 --unixsocket "$folder/$1/socket" --save '' --dir "$folder/$1" >"$1.log" &
    started+=($!)
    until [ -S "$folder/$1/socket" ]; do kill -0 $! || { cat "$1.log"; exit 1; }; sleep 0.05; done
}
status() { "$@" >out 2>err && echo 0 || echo $?; }

export REDLOCK_MAX_TTL=3s REDLOCK_TTL=3s  # the servers are as old as others are after a minute
redlock run warm-up true
restart 1
restart 2
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
