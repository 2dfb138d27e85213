# Servers that restart without their memory do not vote for max_ttl: docs/how-to/quarantined.md.
unset REDLOCK_RESTART_GUARD  # strict, as everywhere
export REDLOCK_NODE_TIMEOUT=1s
work=$(mktemp -d)
declare -A server
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
export REDLOCK_MAX_TTL=6s REDLOCK_TTL=6s  # restarted servers vote after 6 s, and not after a minute
#[new
redlock nodes init                                           # all servers are newly installed: they vote at once
#]

attempt() {
    restart a
    restart b
    #[refused
    redlock run -n nightly ./report || [ $? = 69 ]           # 69: look at the servers, not at the lock
    redlock doctor -o prometheus | grep quarantine_seconds   # for how long each of them does not vote yet
    #]
}
votes() { grep -q "quarantine_seconds.*/$1.socket\"} 0\$" out; }
for try in 1 2 3 4 5 6 7 8 9 10; do  # on a busy machine the servers may vote again before they were asked
    attempt >out 2>err
    ! [ -e done ] && ! votes a && ! votes b && votes c && break
    rm -f done
done
[ "$try" -lt 10 ]
grep 'restarted nodes do not vote yet, .* a majority votes again in' err

#[waits
redlock run nightly ./report                                 # waits until a majority votes, then runs
#]
[ -e done ]
