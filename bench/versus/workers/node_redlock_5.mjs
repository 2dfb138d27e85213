// node-redlock 5: https://github.com/mike-marcacci/node-redlock/tree/v5.0.0-beta.2#usage
//
// - `using` extends the lock automatically, and aborts its signal if that fails.
// - automaticExtensionThreshold keeps its default of 500 ms. With a TTL below 1 s it is half of the TTL,
//   because it must be shorter.
// - retryCount -1 waits for the lock without end. It is set for the acquisition alone: with it, the release of a lost
//   lock would never end. retryDelay and retryJitter keep their defaults: 200 ms, and 100 ms more or less.
// - The validity counts from the beginning of the wait. If a client waits for longer than the TTL, the first extension
//   fails, and `using` aborts at once. An own loop around short waits would hide that, but the documentation has none.
// - The library has no fencing tokens.

import { connect } from "./redis_clients.mjs";
import { work } from "./worker.mjs";

await work(["redlock", "ioredis"], async ([{ default: Redlock }, { default: Redis }], { urls, ttl, clients }) => {
    const redlock = new Redlock(await connect(Redis, urls, clients), {
        automaticExtensionThreshold: Math.min(500, Math.floor(ttl / 2)),
    });
    return {
        withLock: (name, body) =>
            redlock.using([name], ttl, { retryCount: -1 }, (signal) => body({ held: () => !signal.aborted })),
    };
});
