# Runs the command lines of nightly.cron and nightly.service on three "machines": docs/how-to/cron.md.
here=$(cd "$(dirname "$0")" && pwd)
export REDLOCK_NODE_TIMEOUT=2s
work=$(mktemp -d)
machines=()
cd "$work"
printf '#!/bin/sh\necho done >>done\n' >report
chmod +x report
{
    tr , '\n' <<<"$REDLOCK_URLS" | sed 's/.*/"&"/' | paste -sd, | sed 's/.*/url = [&]/'
    echo "ttl = 10s"
} >redlock.conf
unset REDLOCK_URLS
export REDLOCK_CONFIG=$work/redlock.conf
command=$(sed -n 's/^0 3 \* \* \*  //p' "$here/nightly.cron")
[ "$command" = "$(sed -n 's/^ExecStart=//p' "$here/nightly.service")" ]
command=${command//'/usr/local/bin/redlock'/redlock}
command=${command//'/usr/local/bin'/.}  # the folder may have a space in its name

for machine in 1 2 3; do sh -c "exec $command" >>output 2>&1 & machines+=($!); done
until [ -e done ] && [ "$(jobs -pr | wc -l)" = 1 ]; do  # one has done it, and keeps the lock
    [ "$(jobs -pr | wc -l)" != 0 ] || { cat output; exit 1; }
    sleep 0.1
done
for machine in "${machines[@]}"; do kill -0 "$machine" 2>/dev/null || wait "$machine"; done  # the others end with 0
sh -c "$command" >>output 2>&1  # the clock of another machine is late: it does nothing, either
[ "$(wc -l <done)" = 1 ]
cmp output - </dev/null                # and cron has no output to send by mail

#[status
busy=0
redlock run -n nightly ./report || busy=$?
[ "$busy" = 75 ]                                        # another machine has it, or had it less than 60 s ago
redlock status nightly                                  # which one
#]
