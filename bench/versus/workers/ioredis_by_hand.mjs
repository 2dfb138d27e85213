// A lock by hand, as most articles show it: SET NX PX, and a script that compares the value before it deletes the key.
// https://redis.io/docs/latest/commands/set/#patterns
//
// - It tries to acquire the lock every 50 ms.
// - It neither renews the lock nor checks it, and has no fencing tokens.
// - ioredis defines the script as a command, which sends the hash of the script.
//   https://github.com/redis/ioredis#lua-scripting

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "./redis_clients.mjs";
import { work } from "./worker.mjs";

await work(["ioredis"], async ([{ default: Redis }], { urls, ttl, clients }) => {
    const [redis] = await connect(Redis, urls, clients);
    redis.defineCommand("unlock", {
        numberOfKeys: 1,
        lua: 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end',
    });
    return {
        withLock: async (name, body) => {
            const value = randomUUID();
            while ((await redis.set(name, value, "PX", ttl, "NX")) === null) await sleep(50);
            try {
                await body({});
            } finally {
                if ((await redis.unlock(name, value)) === 0) throw new Error("the lock was not there any more");
            }
        },
    };
});
