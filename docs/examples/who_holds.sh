# Asks who holds a lock, since when, for what, and who waits for it: docs/how-to/who-holds-a-lock.md.
export REDLOCK_NODE_TIMEOUT=2s  # for a busy machine
work=$(mktemp -d)
cd "$work"
printf '#!/bin/sh\n>started\nuntil [ -e over ]; do sleep 0.1; done\n' >report
chmod +x report
shows() {  # PATTERN…: whether the status has each of them
    redlock status -o json nightly >now || return
    for pattern in "$@"; do grep -q "$pattern" now || return; done
}

#[hold
redlock run --owner web-3:4121 --note "nightly report" nightly ./report &
#]
holder=$!
until [ -e started ]; do kill -0 $holder; sleep 0.1; done
until shows '"owner": *"web-3:4121"' '"note": *"nightly report"' '"since": *"20[0-9-]*T[0-9:.]*Z"'; do
    kill -0 $holder
    sleep 0.1
done

#[wait
redlock run --owner web-4:977 nightly ./report &  # waits; its note is its command: ./report
#]
waiter=$!
until shows '"owner": *"web-4:977"' '"note": *"./report"'; do kill -0 $waiter; sleep 0.1; done
#[ask
redlock status nightly           # who holds it, since when, for what, and who waits
redlock status -o json nightly   # the same for programs
#]
>over
wait $holder
wait $waiter
