# Locks over HTTP, with curl: docs/serve.md.
command -v curl >/dev/null || { echo "skipped: curl is not installed"; exit 77; }
unset REDLOCK_RESTART_GUARD  # strict, as everywhere
export REDLOCK_NODE_TIMEOUT=2s  # for a busy machine
cd "$(mktemp -d)"
#[init
redlock nodes init                        # once, on new servers: they vote at once
printf '%s jobs/ lock,read\n' "$(head -c 24 /dev/urandom | base64)" >tokens  # a bearer token, a prefix of names, rights
chmod 600 tokens
#]
redlock serve --listen 127.0.0.1:0 --token-file tokens --fencing 2>where &
service=$!
until grep -q 'http://.*[0-9]$' where; do kill -0 $service; sleep 0.1; done
url=$(sed 's/.*http/http/' where)

#[acquire
TOKEN=$(cut -d' ' -f1 tokens)
curl -sf -H "Authorization: Bearer $TOKEN" "$url/v1/locks" \
    -d '{"resources":["jobs/7"],"ttl_ms":30000,"wait_ms":5000,"note":"nightly report"}' >lock
#]
id=$(sed 's/.*"id":"\([^"]*\)".*/\1/' lock)
grep -q '"fencing_token":[1-9]' lock

#[inspect
curl -sf -H "Authorization: Bearer $TOKEN" "$url/v1/locks/jobs%2F7"
curl -sf -H "Authorization: Bearer $TOKEN" "$url/v1/locks?prefix=jobs/&limit=100"
#]

#[extend
curl -sf -H "Authorization: Bearer $TOKEN" -X PATCH "$url/v1/held/$id" -d '{"ttl_ms":30000}'
#]

#[release
curl -sf -H "Authorization: Bearer $TOKEN" -X DELETE "$url/v1/held/$id"
#]
curl -sf -H "Authorization: Bearer $TOKEN" "$url/v1/locks/jobs%2F7" | grep -q '"locked":false'

#[session
curl -sN -H "Authorization: Bearer $TOKEN" -X POST "$url/v1/sessions" >events &
#]
stream=$!
until grep -q '"session":' events; do kill -0 $stream; sleep 0.1; done
session=$(sed -n 's/.*"session":"\([^"]*\)".*/\1/p' events)

#[hold
curl -sf -H "Authorization: Bearer $TOKEN" "$url/v1/locks" \
    -d '{"resources":["jobs/8"],"ttl_ms":10000,"session":"'"$session"'"}'
#]
curl -sf -H "Authorization: Bearer $TOKEN" "$url/v1/sessions/$session" | grep -q '"resources":\["jobs/8"\]'
kill $stream
curl -sf -H "Authorization: Bearer $TOKEN" "$url/v1/locks" -d '{"resources":["jobs/8"],"wait_ms":30000}'
kill $service
wait $service
