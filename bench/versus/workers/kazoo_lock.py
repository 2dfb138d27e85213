"""ZooKeeper's recipe for locks, of kazoo: https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html

- The timeout of the session is the TTL. All clients of a process share the session. Each client has a lock
  object, and uses it again.
- Kazoo's documentation asks for a listener: a lock is no longer sure when the session is suspended or lost.
- The documents of ZooKeeper name `zxid` as a number that could fence a resource. The recipe does not hand it out, so
  there are no fencing tokens.
"""

import logging

from worker import work


class Peer:
    def __init__(self, call):
        from kazoo.client import KazooClient, KazooState

        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
        self.losses = 0
        self.locks = {}  # by name and client; one that has failed is not used again
        self.zookeeper = KazooClient(hosts=",".join(call.urls), timeout=call.ttl)

        def listen(state):
            if state != KazooState.CONNECTED:
                self.losses += 1

        self.zookeeper.add_listener(listen)
        self.zookeeper.start(timeout=60)

    def acquire(self, name, client):
        losses = self.losses
        if (lock := self.locks.pop((name, client), None)) is None:
            lock = self.zookeeper.Lock("/versus/" + name)
        lock.acquire()
        return Lock(self, lock, losses, (name, client))

    def close(self):
        self.zookeeper.stop()


class Lock:
    def __init__(self, peer, lock, losses, key):
        self.peer, self.lock, self.losses, self.key = peer, lock, losses, key

    def held(self):
        return self.lock.is_acquired and self.peer.losses == self.losses

    def release(self):
        self.lock.release()
        self.peer.locks[self.key] = self.lock


work({"python3-kazoo": "kazoo"}, Peer)
