// Tests the page of the shop (docs/examples/shop/page.html) in a browser, with the real service.
//
//     node page_test.mjs <base-url> <screenshot.png>
//
// CHROMIUM names the executable of the browser (default: /usr/bin/chromium). playwright-core is in NODE_PATH or in a
// folder node_modules. Each wait is for a condition, not for a time. The exit status is 0 if all checks pass.

import { createRequire } from "node:module";

const { chromium } = createRequire(import.meta.url)("playwright-core");

const [base, screenshot] = process.argv.slice(2);
if (!base || !screenshot) {
    console.error("usage: node page_test.mjs <base-url> <screenshot.png>");
    process.exit(1);
}

const TIMEOUT = 15_000;  // milliseconds
const RUSH = 120_000;  // 40 buyers may have to wait, and to try again
const NODES = 5;
const WINDOW = { width: 1200, height: 1160 };  // the picture ends below the curves
const id = (testid) => `[data-testid="${testid}"]`;

function check(holds, what) {
    if (!holds) throw new Error(what);
}

let step = "starting the browser";
async function doing(what, work) {
    step = what;
    const started = Date.now();
    const result = await work();
    console.log(`ok    ${what} (${Date.now() - started} ms)`);
    return result;
}

// Collects errors of the page. Two failures are expected: Chromium reports each refused order on the console, and an event
// stream ends when its page is closed.
const complaints = [];
function watch(page) {
    const refused = /^Failed to load resource: the server responded with a status of (409|410|503|504) /;
    page.on("console", (message) => {
        const order = new URL(message.location().url || base, base).pathname === "/orders";
        if (message.type() === "error" && !(order && refused.test(message.text())))
            complaints.push(`console: ${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => complaints.push(`error on the page: ${error.stack ?? error}`));
    page.on("requestfailed", (request) => {
        const why = request.failure()?.errorText;
        if (!(new URL(request.url()).pathname === "/events" && why === "net::ERR_ABORTED"))
            complaints.push(`${request.method()} ${request.url()} failed: ${why}`);
    });
}

const until = (page, condition, argument, timeout = TIMEOUT) => page.waitForFunction(condition, argument, { timeout });
const text = (page, testid) => page.locator(id(testid)).innerText();

function nodesUp(page, count) {
    return until(page, (count) => document.querySelectorAll('.node[data-state="up"]').length === count, count);
}

function nodeIs(page, node, state) {
    return until(page, (selector) => document.querySelector(selector), `${id(`node-${node}`)}[data-state="${state}"]`);
}

function says(page, testid, part, timeout) {
    return until(page, ([element, part]) => document.querySelector(element)?.textContent.includes(part), [id(testid), part], timeout);
}

// Orders one piece by `press`. Returns the answer of the page.
async function ask(page, item, press) {
    await press(page.locator(id(`item-${item}-buy`)));
    await until(page, (line) => document.querySelector(line).dataset.tone, id(`item-${item}-result`));  // no tone: no answer yet
    return text(page, `item-${item}-result`);
}

// Buys one piece, and checks the answer, the stock and the list of orders.
async function buy(page, item, press) {
    const left = Number(await text(page, `item-${item}-left`));
    const answer = await ask(page, item, press), order = /^Order (\d+) is yours/.exec(answer)?.[1];
    check(order, `an order of one ${item} was refused: ${answer}`);
    await says(page, `item-${item}-left`, String(left - 1));
    await page.waitForSelector(`${id("orders")} ${id(`order-${order}`)}`, { timeout: TIMEOUT });
}

async function restock(page) {
    await page.click(id("restock"));
    await until(page, () => [...document.querySelectorAll("#items > li")].every((card) => {
        const part = (name) => card.querySelector(`[data-part="${name}"]`).textContent;
        return part("of") === `of ${part("left")}`;
    }));
}

// Takes the picture while a lock is held, a buyer waits for it, and the curves have begun; false if it was too late.
async function picture(page) {
    const seen = () => {
        if (document.querySelector('[data-testid="rush-summary"]').textContent !== "") return "over";
        const waiting = document.querySelector('.lock[data-state="held"]:not([data-waiting="0"])');
        return waiting && parseInt(document.querySelector("#served").textContent) >= 24 ? "busy" : "";
    };
    for (let attempt = 0; attempt < 8; ++attempt) {
        if (await (await until(page, seen, null, RUSH)).jsonValue() === "over") break;
        await page.screenshot({ path: screenshot });
        if (await page.evaluate(seen) === "busy") return true;  // the state was right before and after the picture
    }
    return false;
}

async function rushEnds(page) {
    await says(page, "rush-summary", "buyers:", RUSH);
    const summary = await text(page, "rush-summary");
    const found = /^(\d+) buyers: (\d+) sold, (\d+) refused(?: \((.+)\))?$/.exec(summary);
    check(found, `the summary of the rush cannot be read: ${summary}`);
    const [buyers, sold, refused] = found.slice(1, 4).map(Number);
    const reasons = (found[4] ?? "").split(", ").filter(Boolean).map((reason) => Number(/\d+$/.exec(reason)[0]));
    check(buyers === 40 && sold + refused === buyers, `sold and refused are not 40: ${summary}`);
    check(reasons.reduce((sum, n) => sum + n, 0) === refused, `the reasons are not as many as were refused: ${summary}`);
    check(!summary.includes("failed"), `orders failed in the rush: ${summary}`);
    check(sold > 0, `nothing was sold in the rush: ${summary}`);
    return { sold, summary };
}

// The number of points of each curve, and whether the latest second has a point.
const CURVES = ["wait-p50", "wait-p99", "hold-p50", "hold-p99"];
const curves = (page) => page.evaluate((names) => Object.fromEntries(names.map((name) => {
    const path = document.querySelector(`#curves .${name.replace("-", ".")}`).getAttribute("d") ?? "";
    const points = [...path.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)h0/g)];
    const [, , seconds, decades] = document.querySelector("#curves").getAttribute("viewBox").split(" ").map(Number);
    const outside = points.some(([, x, y]) => x < 0 || x > seconds || y < 0 || y > decades);
    return [name, { points: points.length, now: Number(points.at(-1)?.[1]) === seconds, outside }];
})), CURVES);

// Reads ten events as another page does, and compares them with the text below the curves. The page may receive an event
// a bit later or earlier, so only half of them must agree.
const timesAgree = (page) => page.evaluate((timeout) => new Promise((done, fail) => {
    const events = new EventSource("/events"), seen = [];
    const read = (id) => {
        const [, number, unit] = /^([\d.]+) (ms|s)$/.exec(document.getElementById(id).textContent) ?? [];
        return number * (unit === "s" ? 1000 : 1);
    };
    const end = () => {
        events.close();
        if (seen.filter(({ agree }) => agree).length >= 5) done(seen[0]);
        else fail(new Error(`the times on the page are not those of the events: ${JSON.stringify(seen)}`));
    };
    setTimeout(end, timeout);
    events.addEventListener("state", ({ data }) => {
        const { wait, hold } = JSON.parse(data).times, latest = { wait: wait.at(-1), hold: hold.at(-1) };
        const agree = Object.entries(latest).every(([name, point]) => point && ["p50", "p99"].every((percentile, at) =>
            Math.abs(read(`${name}-${percentile}`) - point[at]) <= 0.051 * point[at]));  // the text has two digits
        seen.push({ ...latest, agree, page: document.querySelector(".times").textContent.replace(/\s+/g, " ") });
        if (seen.length === 10) end();
    });
}), TIMEOUT);

const panelHeight = (page) => page.locator(".panel:has(#times)").evaluate((panel) => panel.getBoundingClientRect().height);

const totals = (page, part) => page.locator(`#items [data-part="${part}"]`).allInnerTexts()
    .then((all) => all.reduce((sum, one) => sum + parseInt(one, 10), 0));

async function focused(page) {
    return page.evaluate(() => document.activeElement?.dataset.testid ?? "nothing");
}

const narrow = (page) => page.evaluate(() => {
    const right = (element) => element.getBoundingClientRect().right;
    const wide = [...document.querySelectorAll("body *")].filter((element) => right(element) > innerWidth + 0.5);
    const table = document.querySelector("table");
    if (right(table) > right(table.parentElement)) wide.push(table);
    const names = wide.map(({ tagName, className, dataset }) => dataset.testid ?? `${tagName} ${className}`);
    return { scroll: document.documentElement.scrollWidth, width: innerWidth, wide: names.slice(0, 5) };
});

// The brightness of a computed color, from 0 (black) to 1 (white).
const brightness = (page, property) => page.evaluate((property) => {
    const [r, g, b] = getComputedStyle(document.body)[property].match(/[\d.]+/g).map(Number);
    return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}, property);

async function test(browser) {
    const page = await browser.newPage({ viewport: WINDOW, colorScheme: "light" });
    watch(page);

    await doing("the page loads and is live", async () => {
        const response = await page.goto(base, { timeout: TIMEOUT });
        check(response.ok(), `the page is answered with ${response.status()}`);
        await says(page, "connection", "Live");
    });
    await doing("five nodes are up, and vote", async () => {
        await nodesUp(page, NODES);
        await says(page, "majority", "5 of 5 nodes vote; 3 are needed.");
    });
    await doing("without locks there are no wait and hold times, and no zeros", async () => {
        for (const [name, { points }] of Object.entries(await curves(page))) {
            check(points === 0, `the curve ${name} has ${points} points`);
            check(await text(page, name) === "none", `${name} is ${await text(page, name)}`);
        }
        await says(page, "times", "No locks in this time.");
    });
    const emptyHeight = await panelHeight(page);
    await doing("restocking fills the shelves", () => restock(page));

    const item = await page.locator("#items > li").first().getAttribute("data-key");
    const click = (button) => button.click();
    await doing(`one ${item} is bought by a click`, () => buy(page, item, click));

    await doing("one piece is bought by the keyboard", async () => {
        await page.focus("summary");
        await page.keyboard.press("Tab");
        check(await focused(page) === `item-${item}-buy`, `Tab leads to ${await focused(page)}, not to the first Buy button`);
        const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
        check(outline !== "none", "the focus cannot be seen");
        await buy(page, item, () => page.keyboard.press("Enter"));
        check(await focused(page) === `item-${item}-buy`, `after the order the focus is on ${await focused(page)}`);
    });

    await doing("a rush of 40 ends, and the stock agrees with its summary", async () => {
        const before = await totals(page, "left");
        await page.click(id("rush"));
        await page.waitForSelector(id("rush-progress"), { timeout: TIMEOUT });
        const seen = await picture(page);
        const { sold, summary } = await rushEnds(page);
        console.log(`      ${summary}`);
        if (!seen) {
            console.log("      no page with a holder and a waiter was seen: the picture shows the end of the rush");
            await page.screenshot({ path: screenshot });
        }
        await until(page, (left) => [...document.querySelectorAll('#items [data-part="left"]')]
            .reduce((sum, one) => sum + Number(one.textContent), 0) === left, before - sold);
    });
    await doing("the curves show the wait and hold times of the rush, as the events have them", async () => {
        await buy(page, item, click);  // so that the last 5 seconds have a lock, on slow machines, too
        const { hold } = await timesAgree(page);
        check(hold[0] > 500, `an order takes 700 ms, and the locks were held for ${hold[0]} ms`);
        for (const [name, { points, now, outside }] of Object.entries(await curves(page))) {
            check(points >= 5 && now, `the curve ${name} has ${points} points${now ? "" : ", none of now"}`);
            check(!outside, `the curve ${name} leaves its panel`);
        }
        const picture = page.getByRole("img", { name: "Curves of p50 and p99" });
        check(await picture.count() === 1, "the curves have no accessible name");
        check(await panelHeight(page) === emptyHeight, `the panel has grown from ${emptyHeight} to ${await panelHeight(page)}`);
    });
    await doing("another page has the same curves when it is opened", async () => {
        const before = (await curves(page))["hold-p50"].points;
        const other = await browser.newPage({ colorScheme: "dark" });
        watch(other);
        await other.goto(base, { timeout: TIMEOUT });
        await says(other, "connection", "Live");
        const points = (await curves(other))["hold-p50"].points;
        check(points > before / 2, `one page has a curve of ${before} points, the other one of ${points}`);
        await other.close();
    });
    await doing("restocking fills the shelves again", () => restock(page));

    await doing("node 2 is stopped by the keyboard, and is away", async () => {
        await page.focus(id("node-2-stop"));
        await page.keyboard.press("Enter");
        await nodeIs(page, 2, "away");
        await page.waitForSelector(id("node-2-resume"), { timeout: TIMEOUT });
        check(await focused(page) === "node-2-resume", `the focus has moved to ${await focused(page)}`);
        await says(page, "majority", "4 of 5 nodes vote");
        await says(page, "log", "Node 2 does not answer.");
    });
    await doing("the shop sells without node 2", () => buy(page, item, click));
    await doing("node 4 is killed, and is away", async () => {
        await page.click(id("node-4-kill"));
        await nodeIs(page, 4, "away");
        await page.waitForSelector(id("node-4-start"), { timeout: TIMEOUT });
        await says(page, "majority", "3 of 5 nodes vote; 3 are needed.");
    });
    await doing("the shop sells with three nodes of five", () => buy(page, item, click));
    await doing("with two nodes of five nothing is sold", async () => {
        await page.click(id("node-5-stop"));
        await nodeIs(page, 5, "away");
        await says(page, "majority", "2 of 5 nodes vote; 3 are needed. Until then nothing is sold.");
        await says(page, "log", "There is no majority");
        const answer = await ask(page, item, click);
        check(!answer.startsWith("Order "), `without a majority the page says: ${answer}`);
    });
    await doing("while there are no locks the curves have a gap", async () => {
        await says(page, "wait-p99", "none");
        await says(page, "hold-p50", "none");
        for (const [name, { points, now }] of Object.entries(await curves(page)))
            check(points > 0 && !now, `the curve ${name} has ${points} points, and ${now ? "one" : "none"} of now`);
    });
    await doing("all nodes are started again, and vote", async () => {
        await page.click(id("node-5-resume"));
        await page.click(id("node-2-resume"));
        await page.click(id("node-4-start"));
        await nodesUp(page, NODES);
        await says(page, "majority", "5 of 5 nodes vote");
        await page.waitForSelector(`${id("node-2-stop")}:visible`, { timeout: TIMEOUT });
        await page.waitForSelector(`${id("node-4-kill")}:visible`, { timeout: TIMEOUT });
    });

    await doing("a phone of 360 pixels needs no horizontal scrolling", async () => {
        await page.setViewportSize({ width: 360, height: 740 });
        const { scroll, width, wide } = await narrow(page);
        check(width === 360 && scroll <= 360 && wide.length === 0, `the page is ${scroll} wide. Too wide: ${wide.join(", ")}`);
        await page.setViewportSize(WINDOW);
    });
    await doing("the page follows the light and the dark colour scheme", async () => {
        const light = [await brightness(page, "backgroundColor"), await brightness(page, "color")];
        check(light[0] > 0.8 && light[1] < 0.3, `light: background ${light[0]}, text ${light[1]}`);
        await page.emulateMedia({ colorScheme: "dark" });
        const dark = [await brightness(page, "backgroundColor"), await brightness(page, "color")];
        check(dark[0] < 0.2 && dark[1] > 0.7, `dark: background ${dark[0]}, text ${dark[1]}`);
        await page.emulateMedia({ colorScheme: "light" });
    });
    await doing("the page works with reduced motion", async () => {
        await page.emulateMedia({ reducedMotion: "reduce" });
        await buy(page, item, click);
        await page.emulateMedia({ reducedMotion: "no-preference" });
    });
    await doing("nothing is oversold", async () => {
        const oversold = await text(page, "oversold");
        check(oversold === "Oversold: 0", oversold);
    });
    await doing("a reload keeps orders and curves, and closes the events without an error", async () => {
        const before = (await curves(page))["wait-p99"].points;
        const first = await page.locator(`${id("orders")} tr`).first().getAttribute("data-testid");
        await page.reload({ timeout: TIMEOUT });
        await page.waitForSelector(id(first), { timeout: TIMEOUT });
        const { points, outside } = (await curves(page))["wait-p99"];
        check(!outside, "the curve leaves its panel");
        check(points > before / 2, `the curve had ${before} points, and has ${points} after the reload`);
    });

    // This page is not watched, because its failures are intended.
    await doing("the page shows a lost connection, and that it is live again", async () => {
        const other = await browser.newPage();
        await other.route("**/events", (route) => route.abort());
        await other.goto(base, { timeout: TIMEOUT });
        await says(other, "connection", "Connection lost, reconnecting");
        await other.unroute("**/events");
        await says(other, "connection", "Live");
        await other.close();
    });

    step = "looking for errors of the page";
    await page.close();
    check(complaints.length === 0, "the page causes errors");
}

let browser = null;
try {
    browser = await chromium.launch({
        executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox"] });
    await test(browser);
    console.log("all checks of the page passed");
} catch (error) {
    console.error(`FAIL  ${step}: ${error.message}`);
    if (complaints.length > 0) console.error(`The browser complains:\n${complaints.join("\n")}`);
    process.exitCode = 1;
    // After a failure, the nodes that the test has stopped are started again.
    for (const [node, verb] of [[2, "resume"], [4, "start"], [5, "resume"]])
        await fetch(new URL(`/demo/nodes/${node}/${verb}`, base), { method: "POST" }).catch(() => {});
} finally {
    await browser?.close();
}
