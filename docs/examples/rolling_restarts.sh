# Restarts three servers with durable logs, one after the other, while locks are held and taken:
# docs/how-to/rolling-restarts.md.
unset REDLOCK_RESTART_GUARD  # strict, as everywhere
export REDLOCK_NODE_TIMEOUT=1s REDLOCK_MAX_TTL=1h REDLOCK_TTL=6s  # a server that is not believed would wait for an hour
work=$(mktemp -d)
declare -A server
cd "$work"
start() {
    mkdir -p "$1"
    redis-server --port 0 --unixsocket "$work/$1/socket" --dir "$work/$1" --save '' \
        --appendonly yes --appendfsync always >"$1/log" &
    server[$1]=$!
}
restart() {  # stands for: ssh "$1" systemctl restart redis-server
    kill "${server[$1]}"
    wait "${server[$1]}"
    start "$1"
    until redis-cli -s "$1/socket" PING 2>&1 | grep -q PONG; do sleep 0.1; done
    redlock -u "unix://$work/$1/socket" run -n alone true  # it votes at once, by its log
}
for name in a b c; do start $name; done
export REDLOCK_URLS=unix://$work/a/socket,unix://$work/b/socket,unix://$work/c/socket
for name in a b c; do until redis-cli -s "$name/socket" PING 2>&1 | grep -q PONG; do sleep 0.1; done; done
redlock nodes init  # the set is new

#[all_vote
all_vote() { redlock doctor -o prometheus | grep -q '^redlock_doctor_votes 3$'; }
#]
until all_vote; do sleep 0.5; done
redlock run importer sh -c 'until [ -e stop ]; do sleep 0.1; done; echo "held through the restarts" >held' &
importer=$!

redlock acquire remembered -t 1h >/dev/null  # nobody renews it
had=$(redlock status remembered | grep -oE 'on [23] of 3 nodes' | cut -c4)  # a majority, perhaps all

#[servers
for name in a b c; do
    all_vote || exit                                # one server at a time, and only if the others vote
    restart $name
    redlock run nightly echo "the report"           # meanwhile two of three are a majority
    until all_vote; do sleep 1; done                # seconds: the server has read its log, and votes
done
#]
tries=0
until redlock status remembered | grep "on [$had-3] of 3 nodes"; do  # the logs have kept it; nobody sets the key again
    sleep 1
    [ $((++tries)) -lt 20 ]
done

touch stop
wait $importer
cat held
#[programs
redlock hold service >old & old=$!                  # the old program
until [ -s old ]; do kill -0 $old; sleep 0.1; done
redlock hold service >new & new=$!                  # the new one waits
kill -TERM $old                                     # the old one releases the lock on its way out
until [ -s new ]; do kill -0 $new; sleep 0.1; done  # so the new one has it at once, not when a ttl is over
#]
kill $new  # it releases its lock, before the servers end
wait $new || true
