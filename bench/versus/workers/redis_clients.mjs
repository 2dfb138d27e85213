// The connections of the workers that use ioredis, which node-redlock and redis-semaphore recommend.
// https://github.com/redis/ioredis
//
// - enableAutoPipelining sends the commands of one pass of the event loop together. Its documentation promises up to
//   50 % more throughput. It delays the command of a single client, which gets none.
// - commandTimeout: without it, a client waits for ever for a server that is stopped. The Redlock page asks for a
//   timeout that is small compared to the TTL. 50 ms is also redlock's. The commands of many clients wait for each
//   other, so each client adds 2 ms. https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
// - enableOfflineQueue: a quorum does not wait for a server that is gone. A client of a single server does.

export function connect(Redis, urls, clients) {
    const several = urls.length > 1;
    return Promise.all(
        urls.map((url) => {
            const redis = new Redis(url, {
                enableAutoPipelining: clients > 1,
                commandTimeout: (several ? 50 : 500) + 2 * clients,
                enableOfflineQueue: !several,
            });
            redis.on("error", () => {}); // it connects again by itself
            return new Promise((resolve) => {
                redis.once("ready", () => resolve(redis));
                setTimeout(resolve, 1000, redis); // a quorum starts without one of its servers
            });
        }),
    );
}
