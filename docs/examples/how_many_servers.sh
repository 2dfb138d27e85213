# Stops and starts the servers of REDLOCK_URLS, and takes locks meanwhile: docs/how-to/how-many-servers.md.
export REDLOCK_NODE_TIMEOUT=2s REDLOCK_MAX_TTL=1h  # a busy machine changes nothing: no server is slow, and all are new
folder=${1%/1/socket}
work=$(mktemp -d)
started=()
finish() {
    for server in "${started[@]}"; do kill "$server" 2>/dev/null && wait "$server" || true; done
    rm -rf "$work"
}
trap finish EXIT
stop() {  # NUMBER
    redis-cli -s "$folder/$1/socket" SHUTDOWN NOSAVE
    while [ -e "$folder/$1/socket" ]; do sleep 0.05; done
}
start() {
    redis-server --port 0 --unixsocket "$folder/$1/socket" --save '' --dir "$folder/$1" >"$work/$1" &
    started+=($!)
    until [ -S "$folder/$1/socket" ]; do kill -0 $! || { cat "$work/$1"; exit 1; }; sleep 0.05; done
}
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
REDLOCK_URLS=unix://$folder/2/socket,unix://$folder/3/socket
is 0 report          # two servers need both votes
stop 2
is 69 report         # so each failure stops all locks
#]

#[one
REDLOCK_URLS=unix://$folder/3/socket
is 0 report          # one server: no round trip waits for a second one
stop 3
is 69 report         # and nothing works without it
#]
