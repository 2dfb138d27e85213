"""ZooKeeper's recipe for locks, of kazoo: https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html

- The timeout of the session is the TTL. All clients of a process share the session, and have a lock object each.
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
        self.zookeeper = KazooClient(hosts=",".join(call.urls), timeout=call.ttl)

        def listen(state):
            if state != KazooState.CONNECTED:
                self.losses += 1

        self.zookeeper.add_listener(listen)
        self.zookeeper.start(timeout=60)

    def acquire(self, name, client):
        losses = self.losses
        lock = self.zookeeper.Lock("/versus/" + name)
        lock.acquire()
        return Lock(self, lock, losses)

    def close(self):
        self.zookeeper.stop()


class Lock:
    def __init__(self, peer, lock, losses):
        self.peer, self.lock, self.losses = peer, lock, losses

    def held(self):
        return self.lock.is_acquired and self.peer.losses == self.losses

    def release(self):
        self.lock.release()


work({"python3-kazoo": "kazoo"}, Peer)
