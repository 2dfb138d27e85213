// redis-semaphore: https://github.com/swarthy/redis-semaphore#mutex
//
// - `Mutex` on one server, `RedlockMutex` on several.
// - The library refreshes the lock after 0.8 of its TTL, and tries to acquire it every 10 ms. Both are its defaults.
// - acquireTimeout is a day, so that a client waits for the lock as those of the other libraries do.
// - `isAcquired` is false after a refresh has found the lock lost. Then the library also calls onLockLost, which would
//   throw otherwise.
// - The library has no fencing tokens.

import { connect } from "./redis_clients.mjs";
import { work } from "./worker.mjs";

await work(["redis-semaphore", "ioredis"], async ([library, { default: Redis }], { urls, ttl, clients }) => {
    const { Mutex, RedlockMutex } = library;
    const servers = await connect(Redis, urls, clients);
    const options = { lockTimeout: ttl, acquireTimeout: 86_400_000, onLockLost: () => {} };
    return {
        withLock: async (name, body) => {
            const mutex =
                servers.length > 1 ? new RedlockMutex(servers, name, options) : new Mutex(servers[0], name, options);
            await mutex.acquire();
            try {
                await body({ held: () => mutex.isAcquired });
            } finally {
                await mutex.release();
            }
        },
    };
});
