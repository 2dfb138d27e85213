# Runs the very command lines of kubernetes.yaml, without a cluster: processes stand for containers, a folder for volumes.
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
mkdir bin lock secrets data{0,1,2}
printf secret >secrets/password
if python3 -c 'import yaml' 2>/dev/null; then
    python3 -c 'import sys, yaml; assert all(d["kind"] for d in yaml.safe_load_all(sys.stdin))' <"$here/kubernetes.yaml"
fi

# The files of the manifest are in this folder.
manifest=$(sed "s|/usr/local/bin|$work/bin|g; s|/lock/|$work/lock/|g; s|/secrets/locks|$work/secrets|g
                s|\$(PASSWORD)|secret|" "$here/kubernetes.yaml")
region() { sed -n "/#\[$1\$/,/#\]\$/p" <<<"$manifest"; }
words() {  # REGION: the words of its command, into the array "words"
    eval "words=($(region "$1" | awk '
        /(command|args): \[/ { on = 1; sub(/.*(command|args): \[/, "") }
        on { line = $0; if (line ~ /\]/) { sub(/\].*/, "", line); on = 0 } gsub(/, */, " ", line); print line }'))"
}
text() {  # REGION: the shell script in its args
    region "$1" | sed '1,/- |$/d; $d'
}
until_true() {  # COMMAND: waits for it, for at most a minute
    local i
    for ((i = 0; i < 600; ++i)); do if "$@"; then return; fi; sleep 0.1; done
    echo "in vain: $*"; return 1
}
ends() {  # PID STATUS
    local status=0
    wait "$1" || status=$?
    [ $status = "$2" ] || { echo "a container has ended with $status, not $2"; exit 1; }
}
lines() { [ "$(cat "$1" 2>/dev/null | wc -l)" = "$2" ]; }
free() { redlock status "$1" >/dev/null 2>&1 && return 1 || [ $? = 1 ]; }

# The programs: a report, and two services that note their start and their end.
printf '#!/bin/sh\necho done >>%s/reports\n' "$work" >bin/report
for service in importer legacy; do
    printf '#!/bin/sh\ntrap "echo end >>%s; exit 0" TERM\necho start >>%s\nwhile :; do sleep 0.1; done\n' \
        "$work/$service" "$work/$service" >bin/$service
done
chmod +x bin/*

# The servers, with the ConfigMap.
words server
REDLOCK_URLS=
for pod in 0 1 2; do
    "${words[@]/#\/data/$work/data$pod}" --port 0 --unixsocket "$work/data$pod/socket" >data$pod/log &
    REDLOCK_URLS+=unix://$work/data$pod/socket,
done
for pod in 0 1 2; do until_true test -S data$pod/socket; done
export REDLOCK_URLS=${REDLOCK_URLS%,} REDLOCK_PASSWORD_FILE=$work/secrets/password REDLOCK_NODE_TIMEOUT=1s REDLOCK_TTL=5s
unset REDLOCK_RESTART_GUARD  # strict, as everywhere

# Job: the new servers vote at once. It may run again.
words init
"${words[@]}"
"${words[@]}"
redlock doctor --skip same-host  # nothing else is wrong with servers that are started in this way

# CronJob: two pods of two clusters. One makes the report and keeps the lock, the other one ends with 0.
words cronjob
"${words[@]}" & one=$!
"${words[@]}" & two=$!
until_true lines reports 1
alone() { [ "$(jobs -pr | wc -l)" = 4 ]; }  # three servers and the pod with the lock
until_true alone
for pod in $one $two; do kill -0 $pod 2>/dev/null || ends $pod 0; done
"${words[@]}"
lines reports 1

# Deployment: the second pod waits, and starts when the first one has been told to end.
words active
"${words[@]}" & first=$!
until_true lines importer 1
"${words[@]}" & second=$!
kill -TERM $first
ends $first 0  # that of the importer
until_true lines importer 3
printf 'start\nend\nstart\n' | cmp - importer
kill -TERM $second
ends $second 0
until_true free importer

# Sidecar: the program starts when the sidecar has the lock, and ends when the sidecar dies or loses it.
words sidecar
sidecar=("${words[@]}" "$(text sidecar)")
words program
program=("${words[@]}" "$(text program)")
start_pod() {  # into "main" and "side", as kubelet starts both again
    "${program[@]}" & main=$!
    "${sidecar[@]}" & side=$!
}
start_pod
until_true lines legacy 1
kill -9 $side
ends $main 0
printf 'start\nend\n' | cmp - legacy

start_pod  # it waits: the lock of the dead sidecar ends with its ttl
until_true lines legacy 3
redlock break legacy --force --yes >/dev/null
ends $side 124
ends $main 0

start_pod
until_true lines legacy 5
kill -TERM $main  # the pod is stopped: first the program, then the sidecar
ends $main 0
kill -TERM $side
ends $side 0
until_true free legacy
