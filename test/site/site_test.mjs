// Tests the site of the documents in a browser, read from the file system.
//
//     node site_test.mjs <folder of the site> <questions.txt>
//
// CHROMIUM names the executable of the browser (default: /usr/bin/chromium). playwright-core is in NODE_PATH or in a
// folder node_modules. Each wait is for a condition, not for a time. The exit status is 0 if all checks pass.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(import.meta.url)("playwright-core");

const [site, questions] = process.argv.slice(2);
if (!site || !questions) {
    console.error("usage: node site_test.mjs <folder of the site> <questions.txt>");
    process.exit(1);
}

const TIMEOUT = 120_000;  // milliseconds
const FIRST = 5;  // so many pages of the results are read
const PHONE = { width: 360, height: 740 };

let failures = 0;
function check(holds, what) {
    if (holds) return;
    console.error(`FAIL  ${what}`);
    ++failures;
}

const address = (page) => pathToFileURL(join(site, page)).href;

// A page whose every request is looked at: only files of this machine may be loaded.
async function open(browser, options) {
    const page = await browser.newPage(options);
    page.setDefaultTimeout(TIMEOUT);
    await page.route("**", (route) => {
        const url = route.request().url();
        const local = /^(file|data|blob):/.test(url);
        check(local, `${page.url()} asks for ${url}`);
        return local ? route.continue() : route.abort();
    });
    page.on("pageerror", (error) => check(false, `an error on ${page.url()}: ${error.stack ?? error}`));
    page.on("console", (message) => check(message.type() !== "error", `${page.url()}: ${message.text()}`));
    return page;
}

const relative = (href) => href.replace(/\?h=[^#]*/, "").replace(address("").replace(/\/?$/, "/"), "");

// The addresses of the first results: for each page the ones that are shown, and with those behind "more on this page".
async function search(page, words) {
    await page.fill(".md-search__input", "");
    await page.waitForFunction(() => !document.querySelector(".md-search-result__item"));
    await page.fill(".md-search__input", words);
    await page.locator(".md-search__input").press("End");  // the search listens to keys
    await page.waitForFunction(() => document.querySelector(".md-search-result__item") ||
        /No matching/.test(document.querySelector(".md-search-result__meta").textContent));
    const found = await page.$$eval(".md-search-result__item", (items, count) => items.slice(0, count).flatMap(
        (item) => [...item.querySelectorAll(".md-search-result__link")].map(
            (link) => ({ href: link.href, shown: !link.closest("details") }))), FIRST);
    return { all: found.map((link) => relative(link.href)),
             shown: found.filter((link) => link.shown).map((link) => relative(link.href)) };
}

async function searches(browser) {
    const page = await open(browser, { viewport: { width: 1400, height: 900 } });
    await page.goto(address("index.html"));
    const found = (await search(page, "async_acquire")).all;
    const function_page = "reference/lock_manager.html#async_acquire";
    if (!found.includes(function_page)) throw new Error(`"async_acquire" finds ${found}`);
    const result = page.locator(".md-search-result__link").nth(found.indexOf(function_page));
    await page.$$eval(".md-search-result details", (more) => more.forEach((details) => details.open = true));
    await result.click();
    await page.waitForURL((url) => url.pathname.endsWith("/reference/lock_manager.html") && url.hash === "#async_acquire");
    check(await page.locator("#async_acquire").isVisible(), "the result of the search is not on its page");

    // Every question finds its answer. Of those behind a line "38 of 40:", so many do, and show it without a click.
    let asked = 0, needed = 0;
    const missed = [];
    for (const line of readFileSync(questions, "utf8").split("\n")) {
        if (!line || line.startsWith("#")) continue;
        const limit = /^(\d+) of (\d+):$/.exec(line);
        if (limit) {
            needed = Number(limit[1]);
            asked = Number(limit[2]);
            continue;
        }
        const [words, answer] = line.split("|").map((part) => part.trim());
        const wanted = answer.replace(/\.md(#|$)/, ".html$1");
        const { all, shown } = await search(page, words);
        const results = asked ? shown : all;
        const miss = `"${words}" does not find ${wanted}, but\n      ${results.join("\n      ")}`;
        if (!asked) check(results.includes(wanted), miss);
        else {
            --asked;
            results.includes(wanted) ? --needed : missed.push(miss);
            if (!asked) check(needed <= 0, `${needed} more must be found:\n${missed.join("\n")}`);
        }
    }
    check(asked === 0, `${asked} questions are missing`);
    if (missed.length) console.log(`not found:\n${missed.join("\n")}`);
    await page.close();
}

// The start page shows what it is about, and where to begin.
async function starts(browser) {
    const page = await open(browser, { viewport: PHONE });
    await page.goto(address("index.html"));
    const picture = await page.$eval("article img", (image) => image.complete && image.naturalWidth);
    check(picture > 0, "the start page has no picture");
    const button = page.locator("article .md-button--primary");
    check(await button.count() === 1 && await button.isVisible(), "the start page has no button");
    await button.click();
    await page.waitForURL((url) => url.pathname.endsWith("/tutorial.html"));
    await page.close();
    const wide = await open(browser, { viewport: { width: 1400, height: 900 } });
    await wide.goto(address("packages.html"));
    const tab = (await wide.locator(".md-tabs__link--active").textContent()).trim();
    check(tab === "Learn", `"Install" is under "${tab}"`);
    await wide.close();
}

async function looks(browser) {
    for (const [scheme, background] of [["light", "default"], ["dark", "slate"]]) {
        const page = await open(browser, { colorScheme: scheme });
        await page.goto(address("index.html"));
        const shown = () => page.locator("body").getAttribute("data-md-color-scheme");
        check(await shown() === background, `a reader who likes it ${scheme} sees ${await shown()}`);
        await page.click("form.md-header__option label:not([hidden])");
        check(await shown() !== background, "the colours do not change at a click");
        await page.close();
    }
}

// Wide tables and code scroll by themselves, and show it by a shadow; the page does not. The scripts of the theme have no part in that but for
// the bar, and would take most of the time. So they run on the first page only.
async function fits(browser) {
    const home = await open(browser, { viewport: PHONE });
    await home.goto(address("index.html"));
    const all = await home.evaluate(() => document.scrollingElement.scrollWidth);
    check(all <= PHONE.width, `the home page is ${all} pixels wide on a phone of ${PHONE.width}`);
    await home.close();

    const page = await open(browser, { viewport: PHONE, javaScriptEnabled: false });
    let marked = 0;
    const pages = readdirSync(site, { recursive: true }).filter((file) => file.endsWith(".html"));
    check(pages.length > 40, `the site has ${pages.length} pages`);
    for (const file of pages) {
        await page.goto(address(file));
        const width = await page.evaluate(() => document.querySelector(".md-main").scrollWidth);
        check(width <= PHONE.width, `${file} is ${width} pixels wide on a phone of ${PHONE.width}`);
        const [scrolling, plain] = await page.$$eval("article *", (all) => {
            const wide = all.filter((e) => e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX));
            return [wide.length, wide.filter((e) => !/local.*scroll/.test(getComputedStyle(e).backgroundAttachment))
                .map((e) => e.outerHTML.slice(0, 80))];
        });
        check(!plain.length, `${file}: nothing shows that this scrolls: ${plain[0]}`);
        marked += scrolling;
    }
    check(marked > 100, `only ${marked} blocks of code and tables scroll on a phone`);
    await page.close();
}

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox"] });
try {
    for (const part of [searches, starts, looks, fits]) {
        const begin = Date.now();
        await part(browser);
        console.log(`${part.name} (${Date.now() - begin} ms)`);
    }
} finally {
    await browser.close();
}
if (failures) {
    console.error(`${failures} checks have failed`);
    process.exitCode = 1;
} else
    console.log("all checks of the site passed");
