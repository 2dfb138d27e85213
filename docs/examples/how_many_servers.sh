# Stops and starts three servers, and takes locks meanwhile: docs/how-to/how-many-servers.md.
unset REDLOCK_RESTART_GUARD  # strict, as everywhere
export REDLOCK_NODE_TIMEOUT=2s  # for a busy machine
work=$(mktemp -d)
declare -A server
start() {  # NUMBER: with a durable log, so it votes at once when it comes back
    mkdir -p "$work/$1"
    redis-server --port 0 --unixsocket "$work/$1.socket" --save '' --dir "$work/$1" \
        --appendonly yes --appendfsync always >"$work/log" &
    server[$1]=$!
    until redis-cli -s "$work/$1.socket" PING 2>&1 | grep -q PONG; do
        kill -0 $! || { cat "$work/log"; exit 1; }
        sleep 0.05
    done
}
stop() {
    kill "${server[$1]}"
    wait "${server[$1]}"
}
for number in 1 2 3; do start $number; done
REDLOCK_URLS=unix://$work/1.socket,unix://$work/2.socket,unix://$work/3.socket
export REDLOCK_URLS
redlock nodes init
report() { redlock run -n nightly echo "the report"; }
is() {  # STATUS COMMAND: fails unless the command ends with it
    local status=0
    "${@:2}" >"$work/out" 2>"$work/err" || status=$?
    [ $status = "$1" ] || { cat "$work/err"; echo "$2: status $status, not $1"; exit 1; }
}

#[three
is 0 report          # three servers vote
stop 1
is 0 report          # one is away: the other two are a majority
stop 2
is 69 report         # two are away: nobody gets a lock
start 2
is 0 report          # one has come back
#]

#[two
REDLOCK_URLS=unix://$work/2.socket,unix://$work/3.socket
is 0 report          # two servers need both votes
stop 2
is 69 report         # so each failure stops all locks
#]

#[one
REDLOCK_URLS=unix://$work/3.socket
is 0 report          # one server: no round trip waits for a second one
stop 3
is 69 report         # and nothing works without it
#]
