// Opens the pages that test_bench has left in a folder (output_test.cpp), in the browser that CHROMIUM names.
//
//     node page_test.mjs <folder>
//
// playwright-core is found by NODE_PATH. The exit status is 0 if everything was as it should be.

import { createRequire } from "node:module";

const { chromium } = createRequire(import.meta.url)("playwright-core");

const folder = process.argv[2];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const page = await browser.newPage({ colorScheme: "light", viewport: { width: 1200, height: 900 } });
const complaints = [];
page.on("console", (message) => { if (message.type() === "error") complaints.push(`console: ${message.text()}`); });
page.on("pageerror", (error) => complaints.push(`error on the page: ${error.stack ?? error}`));
page.on("request", (request) => {
    if (!/^data:/.test(request.url()) && request.url() !== page.opening) complaints.push(`it asks for ${request.url()}`);
});

function check(holds, what) {
    if (!holds) complaints.push(what);
}

async function open(name) {
    page.opening = `file://${folder}/${name}.html`;
    await page.goto(page.opening);
    await drawn();
}
const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const titles = () => page.locator("figure canvas").evaluateAll((all) => all.map((c) => c.getAttribute("aria-label")));
const row = (region) => page.locator(`[aria-label="${region}"] tbody tr:has(td)`).first().locator("td").allInnerTexts();
const same = (is, expected, what) => check(JSON.stringify(is) === JSON.stringify(expected), `${what}: ${JSON.stringify(is)}`);

/** How many pixels of each chart have the colour of the first line. */
const pixels = () => page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.documentElement).getPropertyValue("--c0").match(/[0-9a-f]{2}/gi).map((x) => parseInt(x, 16));
    return [...document.querySelectorAll("figure canvas")].map((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) count += data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255;
        return count;
    });
});
const checkDrawn = async (what) => check((await pixels()).every((count) => count > 100), `${what}: a chart is empty: ${await pixels()}`);

try {
    await open("full");
    const text = await page.locator("main").innerText();
    for (const part of ["1 result in 1 scenario, 2 violations of mutual exclusion; 1 of 7 rounds disturbed.", "redlock_bench <all>", "A & B",
        "failures: 12 contended, 3 no quorum <5>", "1 of 7 rounds disturbed by other processes"])
        check(text.includes(part), `it does not say "${part}"`);
    check(await page.locator("li .alarm").innerText() === "2 violations of mutual exclusion", "violations do not stand out");
    same(await row("Summary"), ["12,345", "15,000", "0.823", "±2.0 %", "21.5", "12.3", "30.5", "13.0", "1,060", "10.5", "2.50", "1.80e+16"], "summary");
    same(await row("Latency: scale"), ["100 µs", "200 µs", "300 µs", "400 µs", "500 µs", "150 µs", "250 µs", "1.24 ms", "4.50 ms", "2.10 s",
        "2.00", "4.00"], "latency");
    same(await row("Further figures: scale"), ["412", "12.5"], "further figures");
    same(await titles(), ["Throughput over time: scale", "Percentiles of a cycle: scale"], "charts");
    same(await page.locator("figure").last().locator(".u-label").allTextContents(),
        ["share of cycles that took at most this long", '5 nodes, 16 clients, rtt 1 ms, "far"', "floor"], "legend");
    await checkDrawn("light");
    await page.locator("figure .u-over").last().hover({ position: { x: 5, y: 50 } });
    same(await page.locator("figure").last().locator(".u-value").allInnerTexts(), ["50 %", "150 µs", "75 µs"], "values below the pointer");

    await open("nodes");
    same((await titles()).slice(-3), ["Client CPU per cycle against nodes", "Throughput against nodes, as a share of the floor’s",
        "Percentiles of a cycle: scale"], "charts against nodes");
    check(!(await titles()).some((title) => title.includes("against clients")), "there are charts against clients");
    await checkDrawn("against nodes");
    await page.screenshot({ path: `${folder}/page.png`, fullPage: true });
    await page.emulateMedia({ colorScheme: "dark" });
    await drawn();
    await checkDrawn("dark");
    await page.setViewportSize({ width: 360, height: 800 });
    await drawn();
    await checkDrawn("narrow");
    check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a narrow page has to be scrolled sideways");

    await open("hostile");
    check(await page.locator("main i").count() === 0, "text has become an element");
    check((await page.locator("main").innerText()).includes(`</script><i>'"&`), "text is missing");
    await open("odd");
    check((await titles()).length > 0, "a run of extremes has no charts");
    await open("empty");
    check((await page.locator("main").innerText()).includes("0 results in 0 scenarios"), "an empty run does not say so");
} finally {
    await browser.close();
}
for (const complaint of complaints) console.log(complaint);
process.exit(complaints.length > 0 ? 1 : 0);
