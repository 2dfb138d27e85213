"""etcd's own lock service, by its JSON gateway: https://etcd.io/docs/v3.4/dev-guide/api_concurrency_reference_v3/

- Each client has a lease of the TTL, as a session of etcd's Go library has, and keeps it for all its locks.
- A thread renews the leases after a third of the TTL. A lock is lost when its lease is gone, or was not renewed for a
  TTL. The server may choose a longer TTL than asked for, and at least a second: the lease says which.
- `lock/lock` waits in a queue of the server. If the lease ends meanwhile, the connection is closed, and the wait fails.
- The documents of etcd name the revision of the key as a number that could fence a resource. The reply of the lock
  service does not have it, so there are no fencing tokens.
"""

import base64
import http.client
import json
import math
import socket
import threading
import time
import urllib.parse

from worker import work


class Connection:
    """Sends a request at a time. It connects again after an error."""

    def __init__(self, url, timeout):
        address = urllib.parse.urlsplit(url)
        self.http = http.client.HTTPConnection(address.hostname, address.port, timeout=timeout)

    def post(self, path, body, timeout=None):
        try:
            if self.http.sock is None:
                self.http.connect()
                self.http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.http.sock.settimeout(timeout or self.http.timeout)
            self.http.request("POST", "/v3/" + path, json.dumps(body))
            reply = json.loads(self.http.getresponse().read())
        except BaseException:
            self.http.close()
            raise
        if "error" in reply:
            raise RuntimeError(reply.get("message") or str(reply["error"]))
        return reply.get("result", reply)

    def abort(self):
        """Ends the request of another thread."""
        if (used := self.http.sock) is not None:
            try:
                used.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Session:
    """A client with its lease."""

    def __init__(self, url, ttl):
        self.connection = Connection(url, ttl)
        begin = time.monotonic()
        lease = self.connection.post("lease/grant", {"TTL": math.ceil(ttl)})
        self.id, self.ttl = lease["ID"], int(lease["TTL"])
        self.end = begin + self.ttl

    def alive(self):
        return time.monotonic() < self.end

    def renew(self, connection):
        begin = time.monotonic()
        left = int(connection.post("lease/keepalive", {"ID": self.id}).get("TTL", 0))
        self.end = begin + left


class Peer:
    def __init__(self, call):
        self.url, self.ttl = call.urls[0], call.ttl
        self.sessions = [None] * call.clients
        threading.Thread(target=self.renew, daemon=True).start()

    def renew(self):
        connection = Connection(self.url, self.ttl / 3)
        while True:
            time.sleep(self.ttl / 3)
            for session in filter(None, list(self.sessions)):
                try:
                    if session.alive():
                        session.renew(connection)
                except Exception:
                    pass  # the next one may succeed in time
                if not session.alive():
                    session.connection.abort()

    def acquire(self, name, client):
        session = self.sessions[client]
        try:
            if session is None or not session.alive():
                session = self.sessions[client] = Session(self.url, self.ttl)
            wanted = {"name": base64.b64encode(name.encode()).decode(), "lease": session.id}
            return Lock(session, session.connection.post("lock/lock", wanted, timeout=86_400)["key"])
        except Exception:
            self.sessions[client] = None
            if session is not None:
                self.revoke(session)  # the request may still become a holder
            raise

    def revoke(self, session):
        try:
            Connection(self.url, self.ttl).post("lease/revoke", {"ID": session.id})
        except Exception:
            pass  # it ends by itself

    def close(self):
        for session in filter(None, self.sessions):
            self.revoke(session)


class Lock:
    def __init__(self, session, key):
        self.session, self.key = session, key
        self.held = session.alive

    def release(self):
        self.session.connection.post("lock/unlock", {"key": self.key})


work({}, Peer)
