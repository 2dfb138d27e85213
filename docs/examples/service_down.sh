# Scripts that stop, and scripts that work on, if the lock servers are down: docs/when-the-service-is-down.md.
export REDLOCK_NODE_TIMEOUT=2s  # for a busy machine
cd "$(mktemp -d)"
printf '#!/bin/sh\necho done >>refreshed\n' >refresh
chmod +x refresh
refreshed() { grep -c done refreshed; }
closed() {
#[closed
redlock run -w 1s prices ./refresh || case $? in
    69) echo "the lock servers are down: nothing was done" >&2; exit 1 ;;
    75) echo "another machine does it" >&2; exit 0 ;;
    *) exit 1 ;;
esac
#]
}
open() {
#[open
redlock run --if-unavailable run -w 1s prices ./refresh || case $? in
    75) echo "another machine does it" >&2 ;;
    *) exit 1 ;;
esac
#]
}
until redlock run prices true; do sleep 0.1; done
(closed)
(open)
[ "$(refreshed)" = 2 ]  # each under the lock

redlock hold prices >held & holder=$!
until [ -s held ]; do kill -0 $holder; sleep 0.1; done
(closed)
(open)
[ "$(refreshed)" = 2 ]  # another process has the lock, so nothing was done
kill $holder
wait $holder || true

export REDLOCK_URLS=unix://$PWD/1,unix://$PWD/2,unix://$PWD/3  # nobody is there
status=0
(closed) || status=$?
[ $status = 1 ]
[ "$(refreshed)" = 2 ]  # nothing was done
(open)
[ "$(refreshed)" = 3 ]  # it was done without the lock
