"""The loop of the workers in Python. bench/versus/peers.hpp describes the protocol.

A peer is a class with these functions. Those of `speed` are called by one thread for each client.

- `Peer(call)` connects. `call` has `urls`, `ttl` in seconds, and `clients`.
- `acquire(name, client)` waits for the lock, and returns an object with `release()` and, if the library can say whether
  it still has the lock, `held()`. `client` is a number from 0 on.
- `close()` closes the connections. Any thread may call it, also while others wait.
"""

import asyncio
import collections
import importlib
import json
import os
import queue
import sys
import threading
import time

Call = collections.namedtuple("Call", "urls ttl clients first_key hold")

USAGE = "usage: WORKER probe | count URLS TTL_MS | speed URLS TTL_MS CLIENTS one|each[:FIRST] HOLD_MS"


def say(line):
    try:
        os.write(1, (line + "\n").encode())  # one call, so that threads do not mix their lines
    except BrokenPipeError:
        os._exit(0)


def fail(message):
    if sys.argv[1:2] == ["probe"]:
        say(message)
    else:
        print(message, file=sys.stderr)
    sys.exit(1)


def in_one_line(error):
    return " ".join(str(error).split()) or type(error).__name__


class Input:
    """The lines of the standard input. `stopped` is true after `stop`, and at the end of the input."""

    def __init__(self, on_stop):
        self.stopped = self.ended = False
        self._lines = queue.Queue()
        self._on_stop = on_stop
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in sys.stdin:
            if line.strip() == "stop":
                self.stopped = True
                self._on_stop()
            else:
                self._lines.put(line.split())
        self.stopped = self.ended = True
        self._lines.put(None)
        self._on_stop()

    def next(self):
        """The words of the next line; None at the end."""
        return self._lines.get()


class Counter:
    """Mode `count`."""

    def __init__(self, peer):
        self.peer = peer
        self.acquired = False
        self.input = Input(self._stop)

    def run(self):
        while not self.input.stopped:
            self.acquired = False
            try:
                lock = self.peer.acquire("versus", 0)
                self.acquired = not self.input.stopped
                try:
                    if self.acquired:
                        self._increment(lock)
                finally:
                    lock.release()
                if self.acquired:
                    say("released")
            except Exception as error:
                if self.acquired or not self.input.stopped:
                    say(("failed " if self.acquired else "denied ") + in_one_line(error))
            if not self.input.stopped:
                time.sleep(0.05)
        self._leave()

    def _increment(self, lock):
        say("acquired")
        words = self.input.next()
        if words is None:
            return
        end = time.monotonic() + int(words[2]) / 1000
        complete = False
        while not complete:
            remaining = end - time.monotonic()
            complete = remaining <= 0
            if not complete:
                time.sleep(min(0.01, remaining))
            if not is_held(lock):
                return say("lost")
        say(f"write {int(words[1]) + 1}")
        self.input.next()

    # A client that waits for the lock may get it soon, and then gives it back. It may also wait for ever.
    def _stop(self):
        def leave():
            if not self.acquired:
                self._leave()

        timer = threading.Timer(2, leave)
        timer.daemon = True
        timer.start()

    def _leave(self):
        leave(self.peer, "" if self.input.ended else "bye")


def is_held(lock):
    try:
        return lock.held() if hasattr(lock, "held") else True
    except Exception:
        return False  # the library cannot say it, so the work must not go on


def leave(peer, last_word):
    closing = threading.Thread(target=peer.close, daemon=True)
    closing.start()
    closing.join(2)  # its servers may not answer
    if last_word:
        say(last_word)
    os._exit(0)


class Result:
    """What the clients have done since the latest `go`."""

    def __init__(self):
        self.us = []
        self.failures = collections.Counter()
        self.violations = 0
        self._inside = collections.Counter()

    # Each of these is one step of the interpreter, or is only called with the lock of that name.
    def enter(self, name):
        self._inside[name] += 1
        if self._inside[name] > 1:
            self.violations += 1

    def exit(self, name):
        self._inside[name] -= 1

    # A cycle that ends after the time is over does not count: its client only waited for others.
    def note(self, begin, end):
        now = time.monotonic()
        if now <= end:
            self.us.append(round((now - begin) * 1_000_000))

    def json(self, milliseconds):
        return json.dumps(
            {"seconds": milliseconds / 1000, "us": self.us, "failures": self.failures, "violations": self.violations}
        )


def name_of(call, client):
    return "versus" if call.first_key is None else f"versus:{call.first_key + client}"


def speed(peer, call):
    """Mode `speed`, with a thread for each client."""
    lines = Input(lambda: leave(peer, ""))

    def cycle(client, result):
        name = name_of(call, client)
        lock = peer.acquire(name, client)
        result.enter(name)
        if call.hold > 0:
            time.sleep(call.hold)
        result.exit(name)
        lock.release()

    def repeat(client, result, barrier, duration):
        barrier.wait()
        begin = time.monotonic()
        end = begin + duration
        while begin < end:
            try:
                cycle(client, result)
                result.note(begin, end)
            except Exception as error:
                result.failures[in_one_line(error)] += 1
                time.sleep(0.001)  # if it fails at once, others go on
            begin = time.monotonic()

    for client in range(1 if call.first_key is None else call.clients):
        cycle(client, Result())
    say("ready")
    while words := lines.next():
        milliseconds = int(words[1])
        result, barrier = Result(), threading.Barrier(call.clients)
        clients = [
            threading.Thread(target=repeat, args=(i, result, barrier, milliseconds / 1000), daemon=True)
            for i in range(call.clients)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        say(result.json(milliseconds))


async def speed_async(peer, call):
    """Mode `speed`, with a task for each client. `acquire` and `release` of this peer are coroutines."""
    lines = Input(lambda: os._exit(0))

    async def cycle(client, result):
        name = name_of(call, client)
        lock = await peer.acquire(name, client)
        result.enter(name)
        if call.hold > 0:
            await asyncio.sleep(call.hold)
        result.exit(name)
        await lock.release()

    async def repeat(client, result, end):
        while (begin := time.monotonic()) < end:
            try:
                await cycle(client, result)
                result.note(begin, end)
            except Exception as error:
                result.failures[in_one_line(error)] += 1
                await asyncio.sleep(0.001)  # if it fails at once, others go on

    await asyncio.gather(*(cycle(i, Result()) for i in range(1 if call.first_key is None else call.clients)))
    say("ready")
    while words := await asyncio.to_thread(lines.next):
        milliseconds = int(words[1])
        result, end = Result(), time.monotonic() + milliseconds / 1000
        await asyncio.gather(*(repeat(i, result, end) for i in range(call.clients)))
        say(result.json(milliseconds))


def read_call(words):
    try:
        mode, urls, ttl, *more = words
        clients, keys, hold = more if mode == "speed" else ("1", "one", "0")
        first_key = None if keys == "one" else int((keys + ":0").split(":")[1])
        if mode not in ("count", "speed") or keys.split(":")[0] not in ("one", "each"):
            raise ValueError()
        return mode, Call(urls.split(","), int(ttl) / 1000, int(clients), first_key, int(hold) / 1000)
    except ValueError:
        fail(USAGE)


def work(packages, make_peer, make_async_peer=None):
    """Runs a worker. `packages` maps the names of Debian's packages to those of their modules.

    `make_async_peer` is for mode `speed` with so many clients that threads are slower than tasks.
    """
    versions = [f"Python {sys.version.split()[0]}"]
    for package, module in packages.items():
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            fail(f"{package} is not installed; apt-get install {package}")
        versions.insert(-1, f"{module} {getattr(loaded, '__version__', '')}".strip())
    if sys.argv[1:] == ["probe"]:
        return say(", ".join(versions))
    mode, call = read_call(sys.argv[1:])
    try:
        if mode == "count":
            Counter(make_peer(call)).run()
        elif make_async_peer and call.clients > 64:
            asyncio.run(speed_async(make_async_peer(call), call))
        else:
            speed(make_peer(call), call)
    except Exception as error:
        fail(in_one_line(error))
