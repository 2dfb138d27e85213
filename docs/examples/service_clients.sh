# Locks over HTTP for Python, Node.js and Go: docs/how-to/service-clients.md. What is not installed is left out.
unset REDLOCK_RESTART_GUARD  # strict, as everywhere
export REDLOCK_NODE_TIMEOUT=2s  # for a busy machine
export REDLOCK_LISTEN=127.0.0.1:0  # a free port; without this line, the service listens on 127.0.0.1:8642
clients=$(cd "$(dirname "$0")" && pwd)/service_clients
cd "$(mktemp -d)"

#[service
printf '%s jobs/ lock,read\n' "$(head -c 24 /dev/urandom | base64)" >tokens  # a bearer token, a prefix of names, rights
chmod 600 tokens
redlock nodes init                        # once, on new servers: they vote at once
redlock serve --token-file tokens 2>where &
#]
service=$!
until grep -q 'http://.*[0-9]$' where; do kill -0 $service; sleep 0.1; done
LOCKS=$(sed 's/.*http/http/' where)
TOKEN=$(cut -d' ' -f1 tokens)
export LOCKS TOKEN

has() {  # COMMAND…: whether it works here
    "$@" >/dev/null 2>&1
}
tried=0
try() {  # COMMAND…: it must do three steps, and leave the lock free
    "$@" | tee out
    [ "$(grep -c '^step' out)" = 3 ]
    curl -sf -H "Authorization: Bearer $TOKEN" "$LOCKS/v1/locks/jobs%2F7" | grep -q '"locked":false'
    curl -sf -H "Authorization: Bearer $TOKEN" "$LOCKS/v1/locks" -d '{"resources":["jobs/7"],"ttl_ms":20000}' >lock
    "$@" | tee out  # now another client has the lock
    grep -q '^busy' out
    curl -sf -H "Authorization: Bearer $TOKEN" -X DELETE "$LOCKS/v1/held/$(sed 's/.*"id":"\([^"]*\)".*/\1/' lock)"
    tried=$((tried + 1))
}
if has curl --version; then
    ! has python3 -c 'import time; time.CLOCK_BOOTTIME' || try python3 "$clients/locked.py"
    ! has node -e 'process.exit(typeof fetch == "function" ? 0 : 1)' || try node "$clients/locked.mjs"
    ! has go version || try go run "$clients/locked.go"
fi
kill $service
wait $service
[ $tried != 0 ] || { echo "skipped: curl is not installed, or none of the languages"; exit 77; }
