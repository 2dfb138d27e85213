"""redis-py: https://redis.readthedocs.io/en/stable/lock.html

- `redis.lock.Lock` in threads, which is faster for up to about 64 clients, and `redis.asyncio.lock.Lock` for more.
- It waits as its default says: it asks for the lock every 100 ms.
- The library does not renew a lock by itself. `owned()` asks the server whether the lock is still there.
- A client waits half a second for a reply: https://redis.io/docs/latest/develop/clients/redis-py/produsage/
- The library has no fencing tokens.
"""

from worker import work

TIMEOUTS = {"socket_timeout": 0.5, "socket_connect_timeout": 0.5}


class Lock:
    def __init__(self, lock):
        self.held, self.release = lock.owned, lock.release


class Peer:
    def __init__(self, call):
        import redis

        self.ttl = call.ttl
        self.redis = redis.Redis.from_url(call.urls[0], **TIMEOUTS)

    def acquire(self, name, client):
        lock = self.redis.lock(name, timeout=self.ttl)
        lock.acquire()
        return Lock(lock)

    def close(self):
        self.redis.close()


class AsyncPeer:
    def __init__(self, call):
        import redis.asyncio

        self.ttl = call.ttl
        self.redis = redis.asyncio.Redis.from_url(call.urls[0], **TIMEOUTS)

    async def acquire(self, name, client):
        lock = self.redis.lock(name, timeout=self.ttl)
        await lock.acquire()
        return lock


work({"python3-redis": "redis", "python3-hiredis": "hiredis"}, Peer, AsyncPeer)
