// The loop of the workers in JavaScript. bench/versus/peers.hpp describes the protocol.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const say = (line) => process.stdout.write(line + "\n");
const inOneLine = (error) => String(error?.message ?? error).replace(/\s+/g, " ");

function fail(message) {
    if (process.argv[2] === "probe") say(message);
    else console.error(message);
    process.exit(1);
}

// The libraries may lie beside this file only, so they are loaded by name when the worker runs.
async function load(libraries) {
    const modules = [];
    for (const name of libraries) {
        try {
            modules.push(await import(name));
        } catch (error) {
            if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
            fail(`npm's ${name} is not installed; ./dev versus installs it into build/versus`);
        }
    }
    return modules;
}

function version(name) {
    const folders = createRequire(import.meta.url).resolve.paths(name);
    for (const folder of folders) {
        try {
            const about = JSON.parse(readFileSync(`${folder}/${name}/package.json`, "utf8"));
            return `${about.name} ${about.version.replace(/^v/, "")}`;
        } catch {
            continue;
        }
    }
    return name;
}

/// The lines of the standard input. `stopped` is true after `stop`, and at the end of the input.
class Input {
    stopped = false;
    ended = false;
    #lines = [];
    #waiting = () => {};

    /// @param onStop  called after `stop`, and at the end of the input
    constructor(onStop) {
        this.onStop = onStop;
        const reader = createInterface({ input: process.stdin });
        const end = () => {
            this.stopped = true;
            this.#waiting();
            this.onStop();
        };
        reader.on("line", (line) => {
            if (line === "stop") return end();
            this.#lines.push(line);
            this.#waiting();
        });
        reader.on("close", () => {
            this.ended = true;
            end();
        });
    }

    /// The words of the next line; null at the end.
    async next() {
        while (this.#lines.length === 0 && !this.ended) await new Promise((resolve) => (this.#waiting = resolve));
        return this.#lines.shift()?.split(" ") ?? null;
    }
}

// Repeats lock and unlock. A cycle that ends after the time is over does not count: its client only waited for others.
async function speed(peer, input, clients, keys, hold) {
    const first = Number(keys.split(":")[1] ?? 0);
    const names = Array.from({ length: clients }, (_, i) => (keys === "one" ? "versus" : `versus:${first + i}`));
    const inside = new Map();
    let result;

    async function cycle(name) {
        await peer.withLock(name, async () => {
            const count = (inside.get(name) ?? 0) + 1;
            if (count > 1) ++result.violations;
            inside.set(name, count);
            if (hold > 0) await sleep(hold);
            inside.set(name, inside.get(name) - 1);
        });
    }

    async function repeat(name, end) {
        for (let begin = performance.now(); begin < end; begin = performance.now()) {
            try {
                await cycle(name);
                const now = performance.now();
                if (now <= end) result.us.push(Math.round((now - begin) * 1000));
            } catch (error) {
                const message = inOneLine(error);
                result.failures[message] = (result.failures[message] ?? 0) + 1;
                await sleep(1); // a library that fails at once must not keep the event loop busy
            }
        }
    }

    result = { violations: 0 };
    await Promise.all((keys === "one" ? names.slice(0, 1) : names).map(cycle));
    say("ready");
    for (let words; (words = await input.next()) !== null; ) {
        const milliseconds = Number(words[1]);
        result = { seconds: milliseconds / 1000, us: [], failures: {}, violations: 0 };
        const end = performance.now() + milliseconds;
        await Promise.all(names.map((name) => repeat(name, end)));
        say(JSON.stringify(result));
    }
}

// One cycle of the counter, while the lock is held.
async function increment(input, { held = () => true }) {
    say("acquired");
    const words = await input.next();
    if (words === null) return;
    const [, value, milliseconds] = words.map(Number);
    for (const end = performance.now() + milliseconds; ; ) {
        const remaining = end - performance.now();
        if (remaining > 0) await sleep(Math.min(10, remaining));
        if (!(await held())) return say("lost");
        if (remaining <= 0) break;
    }
    say(`write ${value + 1}`);
    await input.next();
}

async function count(peer, input, leave) {
    let acquired = false;
    // A client that waits for the lock may get it soon, and then gives it back. It may also wait for ever.
    input.onStop = () => setTimeout(() => acquired || leave(), 2000);
    while (!input.stopped) {
        acquired = false;
        try {
            await peer.withLock("versus", async (lock) => {
                if (input.stopped) return;
                acquired = true;
                await increment(input, lock);
            });
            if (acquired) say("released");
        } catch (error) {
            say(`${acquired ? "failed" : "denied"} ${inOneLine(error)}`);
        }
        if (!input.stopped) await sleep(50);
    }
}

/**
 * Runs a worker. `open(modules, {urls, ttl, clients})` connects, and returns an object with one function:
 * `withLock(name, body)` acquires the lock, calls `body({held})`, and releases the lock. `held` returns whether the
 * library still has the lock. It is left out if the library cannot say it.
 */
export function work(libraries, open) {
    return run(libraries, open).catch((error) => fail(inOneLine(error)));
}

async function run(libraries, open) {
    const [mode, urls, ttl, clients, keys, hold] = process.argv.slice(2);
    const modules = await load(libraries);
    if (mode === "probe") return say([...libraries.map(version), `node ${process.versions.node}`].join(", "));
    if (!(mode === "count" && ttl) && !(mode === "speed" && hold))
        fail("usage: WORKER probe | count URLS TTL_MS | speed URLS TTL_MS CLIENTS one|each[:FIRST] HOLD_MS");

    process.stdout.on("error", () => process.exit(0)); // nobody reads it any more
    const leave = () => {
        if (!input.ended && mode === "count") say("bye");
        process.exit(0);
    };
    const input = new Input(leave);
    // The libraries renew locks in the background. A promise that nobody waits for must not end the process.
    process.on("unhandledRejection", (error) => console.error(inOneLine(error)));
    const peer = await open(modules, { urls: urls.split(","), ttl: Number(ttl), clients: Number(clients ?? 1) });
    if (mode === "speed") await speed(peer, input, Number(clients), keys, Number(hold));
    else await count(peer, input, leave);
    leave();
}
