// node-redlock 4: https://github.com/mike-marcacci/node-redlock/tree/v4.2.0#usage-promise-style
//
// - The library does not extend a lock automatically, so the work must end before `lock.expiration`.
// - retryCount -1 waits for the lock without end. retryDelay and retryJitter keep their defaults: 200 ms, and 100 ms
//   more or less.
// - The library has no fencing tokens.

import { connect } from "./redis_clients.mjs";
import { work } from "./worker.mjs";

await work(["redlock-4", "ioredis"], async ([{ default: Redlock }, { default: Redis }], { urls, ttl, clients }) => {
    const redlock = new Redlock(await connect(Redis, urls, clients), { retryCount: -1 });
    redlock.on("clientError", () => {}); // a minority of the servers may fail
    return {
        withLock: async (name, body) => {
            const lock = await redlock.acquire(name, ttl);
            const expiration = lock.expiration; // the release sets it to 0
            try {
                await body({ held: () => Date.now() < expiration });
            } finally {
                await lock.unlock();
            }
        },
    };
});
