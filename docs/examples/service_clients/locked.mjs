// Works under a lock of `redlock serve`, with Node.js 18 or newer alone: docs/how-to/service-clients.md.
//[call
const call = async (method, path, body) => {
    const answer = await fetch(process.env.LOCKS + path, {
        method, body: body && JSON.stringify(body), signal: AbortSignal.timeout(30_000),
        headers: { Authorization: `Bearer ${process.env.TOKEN}` } });
    if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
    return answer.status === 204 ? null : answer.json();
};
//]
const ttl_ms = 10_000;
let sent = performance.now();  // the validity counts from here, and from the end of the wait
try {
    //[acquire
    let lock = await call("POST", "/v1/locks", { resources: ["jobs/7"], ttl_ms, wait_ms: 1_000 });
    let end = sent + lock.waited_ms + lock.valid_for_ms;
    //]
    try {
        for (let step = 1; step <= 3; ++step) {  // each step is shorter than half of the ttl
            if (end - performance.now() < ttl_ms / 2) {
                sent = performance.now();
                lock = await call("PATCH", `/v1/held/${lock.id}`, { ttl_ms });
                end = sent + lock.valid_for_ms;
            }
            console.log("step");
        }
    } finally {
        await call("DELETE", `/v1/held/${lock.id}`);
    }
} catch (error) {
    if (error.status !== 409) throw error;
    console.log("busy: another client holds the lock");
}
