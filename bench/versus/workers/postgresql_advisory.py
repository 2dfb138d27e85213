"""PostgreSQL's advisory locks, by psycopg2.
https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS

- `pg_advisory_lock` waits in a queue of the server. The lock belongs to the session: it ends with the connection.
- Each client has a connection, but at most 64: PostgreSQL's default is at most 100.
- A lock is lost when its connection breaks. `SELECT 1` shows that.
- Client and server give up a connection that does not answer for about a TTL. Otherwise the lock of a client that has
  lost its network would stay for hours: https://www.postgresql.org/docs/current/runtime-config-connection.html
- There are no fencing tokens.
"""

import math
import queue

from worker import work


class Peer:
    def __init__(self, call):
        seconds = max(1, math.ceil(call.ttl / 2))
        keepalives = {"keepalives_idle": seconds, "keepalives_interval": seconds, "keepalives_count": 1}
        server = {f"tcp_{name}": value for name, value in keepalives.items()}
        milliseconds = int(call.ttl * 1000)
        self.url = call.urls[0]
        self.settings = {
            "connect_timeout": max(2, math.ceil(call.ttl)),
            "tcp_user_timeout": milliseconds,
            "options": " ".join(f"-c {k}={v}" for k, v in {**server, "tcp_user_timeout": milliseconds}.items()),
            **keepalives,
        }
        self.idle = queue.LifoQueue()  # connections; None: one that must be opened
        for _ in range(min(call.clients, 64)):
            self.idle.put(None)
        self.opened = []

    def acquire(self, name, client):
        session = self.idle.get()
        try:
            if session is None or session.closed:
                session = self.connect()
            ask(session, "SELECT pg_advisory_lock(hashtextextended(%s, 0))", name)
            return Lock(self, session, name)
        except Exception:
            self.give_back(session)
            raise

    def connect(self):
        import psycopg2

        session = psycopg2.connect(self.url, **self.settings)
        session.autocommit = True
        self.opened.append(session)
        return session

    # A session that has failed may still hold a lock, so it is closed.
    def give_back(self, session, failed=True):
        if session and failed:
            session.close()
        self.idle.put(None if failed else session)

    def close(self):
        for session in self.opened:
            session.close()


class Lock:
    def __init__(self, peer, session, name):
        self.peer, self.session, self.name = peer, session, name

    def held(self):
        return ask(self.session, "SELECT 1") == 1

    def release(self):
        released = False
        try:
            released = ask(self.session, "SELECT pg_advisory_unlock(hashtextextended(%s, 0))", self.name)
        finally:
            self.peer.give_back(self.session, failed=not released)
        if not released:
            raise RuntimeError("the session did not have the lock any more")


def ask(session, sql, *values):
    with session.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0]


work({"python3-psycopg2": "psycopg2"}, Peer)
