# Five commands, with the wait and the ttl that suit each: docs/how-to/which-ttl.md. The commands are stand-ins.
export REDLOCK_NODE_TIMEOUT=1s  # for a busy machine
work=$(mktemp -d)
cd "$work"
for job in ship import report serve; do
    printf '#!/bin/sh\necho "$@" >>%s.done\n' $job >$job
    chmod +x $job
done
printf '#!/bin/sh\nexec sleep 60\n' >hang
chmod +x hang
ORDER=42

#[five
redlock run -t 5s -w 2s "order:$ORDER" ./ship "$ORDER"          # a customer waits: give up after 2 s, with status 75
redlock run -t 30s --max-hold 1h import ./import                # a long job; one that hangs is stopped after an hour
redlock run -n --skip-busy nightly ./report                     # a schedule; the other machines end with status 0
redlock run -t 10s service ./serve                              # one instance is active, the others wait for ever
redlock run --no-renew -t 30s -n step ./ship                    # it must end within the ttl, or it is stopped
#]
[ "$(cat ship.done)" = "$(printf '42\n\n')" ]
[ -e import.done ] && [ -e report.done ] && [ -e serve.done ]

status() {  # what the arguments print does not matter
    "$@" >out 2>&1 && echo 0 || echo $?
}
#[held
redlock hold -t 5s service >held & holder=$!            # another process has the lock
until [ -s held ]; do kill -0 $holder; sleep 0.1; done
[ "$(status redlock run -n service ./serve)" = 75 ]     # busy
[ "$(status redlock run -w 1s service ./serve)" = 75 ]  # still busy: the lock is renewed
kill -9 $holder                                         # it dies, and cannot release the lock
redlock run service ./serve                             # waits for what is left of the ttl, at most 5 s
#]
[ "$(wc -l <serve.done)" = 2 ]

#[ends
[ "$(status redlock run -t 30s --max-hold 1s import ./hang)" = 124 ]  # stopped before the second is over
[ "$(status redlock run --no-renew -t 2s step ./hang)" = 124 ]        # stopped before its ttl is over
redlock run -n import ./import                                        # and both locks are free
redlock run -n step ./ship
#]
