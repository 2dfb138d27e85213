# Works under a lock of `redlock serve`, with the standard library of Python alone: docs/how-to/service-clients.md.
#[python
import json, os, time, urllib.error, urllib.request

def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["LOCKS"] + path, method=method, data=json.dumps(body).encode() if body else None,
        headers={"Authorization": "Bearer " + os.environ["TOKEN"]})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or "null")

def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps

def locked(name, steps, ttl_ms=10_000, wait_ms=1_000):
    sent = now()  # the validity counts from here, and from the end of the wait
    lock = call("POST", "/v1/locks", {"resources": [name], "ttl_ms": ttl_ms, "wait_ms": wait_ms})
    end = sent + (lock["waited_ms"] + lock["valid_for_ms"]) / 1000
    try:
        for step in steps:  # each step is shorter than half of the ttl
            if end - now() < ttl_ms / 2000:
                sent = now()
                lock = call("PATCH", "/v1/held/" + lock["id"], {"ttl_ms": ttl_ms})
                end = sent + lock["valid_for_ms"] / 1000
            step()
    finally:
        call("DELETE", "/v1/held/" + lock["id"])
#]

try:
    locked("jobs/7", [lambda: print("step")] * 3)
except urllib.error.HTTPError as error:
    if error.code != 409:  # 404: the lock was lost. 503: too few lock servers answer
        raise
    print("busy: another client holds the lock")
