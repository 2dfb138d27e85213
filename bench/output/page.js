"use strict";

const run = JSON.parse(document.getElementById("run").textContent || '{"machine": {}, "results": []}');

// ---------------------------------------------------------------- words and figures; null: not measured, or not finite

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 }).format;
const threeDigits = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 }).format;
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format;

function figure(value) {
    if (value == null) return "–";
    const size = Math.abs(+value.toPrecision(3));  // 99.96 is shown as 100, not as 100.0
    if (size === 0) return "0";
    if (size >= 1e12 || size < 0.001) return value.toExponential(2);
    return size >= 100 ? whole(value) : threeDigits(value);
}
const figureOrWhole = (value) => (Number.isInteger(value) && Math.abs(value) < 1e12 ? whole(value) : figure(value));
const short = (value) => (Math.abs(value) < 1e15 ? compact(value) : value.toExponential(1));
const duration = (us) => {
    if (us == null) return "–";
    const near = Math.abs(+us.toPrecision(3));
    return near < 1e3 ? `${figure(us)} µs` : near < 1e6 ? `${figure(us / 1e3)} ms` : `${figure(us / 1e6)} s`;
};
const roundDuration = (us) => duration(us).replace(/\.(\d*?)0+ /, (_, digits) => `${digits && "."}${digits} `);  // without .00
const counted = (count, noun) => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
const list = (...parts) => parts.filter(Boolean).join(", ");
const spaced = (name) => name.replaceAll("_", " ");
const label = (r) => list(counted(r.nodes, "node"), counted(r.clients, "client"), r.variant);
const measured = (p) => p.max > 0 || p.p50 > 0;
const timesFloor = (r, which) => (r.floor_cycle_us?.[which] > 0 ? r.cycle_us[which] / r.floor_cycle_us[which] : null);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const violations = (count) => element("span", count > 0 ? { class: "alarm" } : {}, `${counted(count, "violation")} of mutual exclusion`);

/** An element with attributes and children; text is text. */
function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.filter((child) => child != null));
    return made;
}

// ---------------------------------------------------------------- tables

/** Groups are {over, columns: [[name, text of a result, class]]}; bodies are [name, results]. Scrolled where it is too wide. */
function table(name, groups, bodies) {
    const columns = groups.flatMap(({ over, columns }) =>
        columns.map(([name, text, kind], i) => ({ name, text, kind: `${kind ?? ""} ${over && i === 0 ? "first" : ""}`.trim() })));
    const head = element("thead", {});
    if (groups.some((group) => group.over))
        head.append(element("tr", {}, element("td", {}), ...groups.map(({ over, columns }, i) =>
            element("th", { class: i > 0 ? "over first" : "over", colspan: columns.length, scope: "colgroup" }, over))));
    head.append(element("tr", {}, element("td", {}), ...columns.map((c) => element("th", { class: c.kind, scope: "col" }, c.name))));
    const body = bodies.map(([title, results]) => element("tbody", {},
        title && element("tr", {}, element("th", { class: "group", colspan: columns.length + 1, scope: "rowgroup" }, title)),
        ...results.map((r) => element("tr", {}, element("th", { scope: "row" }, label(r)),
            ...columns.map((c) => element("td", { class: c.kind }, c.text(r)))))));
    return element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": name }, element("table", {}, head, ...body));
}

const of = (field) => (r) => figure(r[field]);
const costs = [
    { over: "Cycles per second", columns: [["redlock", of("cycles_per_second")], ["floor", of("floor_cycles_per_second"), "thin"],
        ["ratio", of("ratio_to_floor")], ["±", (r) => `±${((r.spread ?? 0) * 50).toFixed(1)} %`, "thin"]] },
    { over: "CPU per cycle, µs", columns: [["client", of("client_cpu_us_per_cycle")], ["floor", of("floor_cpu_us_per_cycle"), "thin"],
        ["servers", of("server_cpu_us_per_cycle")]] },
    { over: "Per cycle", columns: [["allocations", of("allocations_per_cycle")], ["bytes", of("bytes_per_cycle")],
        ["commands", of("commands_per_cycle")], ["writes", of("writes_per_cycle")]] },
    { over: "Heap, KiB", columns: [["peak", (r) => figure(r.peak_heap_bytes / 1024)]] },
];
const percentiles = (over, field) => ({ over, columns: [["p50", "p50"], ["p90", "p90"], ["p99", "p99"], ["p99.9", "p999"], ["max", "max"]]
    .map(([name, which]) => [name, (r) => (measured(r[field]) ? duration(r[field][which]) : "–")]) });
const latencies = [
    percentiles("Acquire", "acquire_us"), percentiles("Cycle", "cycle_us"),
    { over: "Cycle, × floor", columns: ["p50", "p99"].map((which) => [which, (r) => figure(timesFloor(r, which))]) },
];

function furtherFigures(name, results) {
    const names = [...new Set(results.flatMap((r) => Object.keys(r.more)))].sort();
    if (names.length > 0)
        return table(`Further figures: ${name}`, [{ columns: names.map((n) => [spaced(n), (r) => figureOrWhole(r.more[n])]) }], [["", results]]);
}

function remarks(results) {
    const items = results.flatMap((r) => {
        const failures = Object.entries(r.failures).map(([what, count]) => `${whole(count)} ${what}`).join(", ");
        return [r.violations > 0 && violations(r.violations), failures && `failures: ${failures}`,
            r.disturbed > 0 && `${r.disturbed} of ${counted(r.rounds, "round")} disturbed by other processes`]
            .filter(Boolean).map((remark) => element("li", {}, `${label(r)}: `, remark));
    });
    if (items.length > 0) return element("ul", {}, ...items);
}

// ---------------------------------------------------------------- which charts the results make

const NINES = [0.5, 0.9, 0.99, 0.999, 0.9999];
const nines = (share) => -Math.log10(1 - share);  // each nine as far as the one before

/** Of the time of a cycle, a few results to a chart, all with the same axes. */
function percentileCharts(name, results) {
    const points = (curve, p) => {
        const shown = (curve ?? []).filter(([share]) => share >= NINES[0] && share <= NINES.at(-1));
        const few = p && measured(p) ? [[0.5, p.p50], [0.9, p.p90], [0.99, p.p99], [0.999, p.p999]] : [];
        return (shown.length > 0 ? shown : few).map(([share, us]) => [nines(share), us]).filter(([, us]) => us > 0);
    };
    const lines = results.map((r) => ({ name: label(r), library: points(r.curve, r.cycle_us), floor: points(r.floor_curve, r.floor_cycle_us) }))
        .filter((line) => line.library.length > 0);
    if (lines.length === 0) return [];
    const times = lines.flatMap((line) => [...line.library, ...line.floor].map(([, us]) => us));
    const x = { label: "share of cycles that took at most this long", ticks: NINES.map(nines), range: [nines(NINES[0]), nines(NINES.at(-1))],
        text: (at) => `${+((1 - 10 ** -at) * 100).toPrecision(5)} %` };
    const y = { label: "time of a cycle (logarithmic)", log: true, text: roundDuration, ticks: oneTwoFive(times),
        range: [oneTwoFive(times)[0], oneTwoFive(times).at(-1)] };
    const count = Math.ceil(lines.length / 4);
    return Array.from({ length: count }, (_, i) => ({ x, y,
        title: `Percentiles of a cycle: ${name}${count > 1 ? `, ${i + 1} of ${count}` : ""}`,
        lines: lines.slice(Math.ceil(i * lines.length / count), Math.ceil((i + 1) * lines.length / count)) }));
}
/** …, 0.5, 1, 2, 5, 10, …: from the greatest that is below all values to the least that is above all of them. */
function oneTwoFive(values) {
    const low = Math.min(...values) * (1 + 1e-9), high = Math.max(low * 1.01, ...values) * (1 - 1e-9), all = [];  // two at least
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high) + 1; ++decade)
        all.push(...[1, 2, 5].map((digit) => digit * 10 ** decade));
    return all.filter((v, i) => (all[i + 1] ?? Infinity) > low && (all[i - 1] ?? 0) < high);
}

function throughputCharts(name, results) {
    return results.filter((r) => r.time?.cycles_per_second.length > 0).map(({ time, ...r }) => ({
        title: `Throughput over time: ${name}`,
        x: { label: "seconds", text: short, range: [0, time.cycles_per_second.length * time.slice_seconds] },
        y: { label: "cycles per second", text: short },
        lines: [{ name: label(r), library: time.cycles_per_second.map((rate, i) => [(i + 0.5) * time.slice_seconds, rate]), floor: [] }],
        marks: time.marks,
    }));
}

/** Of scenario "scale": results that differ in one number only make a line. */
function costCharts(name, results) {
    if (name !== "scale") return [];
    return [["nodes", "clients"], ["clients", "nodes"]].flatMap(([varied, fixed]) => {
        const families = new Map();  // by what they have in common; of two that are alike the later one counts
        for (const r of results) {
            const common = JSON.stringify([r.variant, r[fixed]]);
            families.set(common, families.get(common) ?? new Map()).get(common).set(r[varied], r);
        }
        const kin = [...families.values()].filter((f) => f.size > 1).map((f) => [...f.values()].sort((a, b) => a[varied] - b[varied]));
        const ticks = [...new Set(kin.flat().map((r) => r[varied]))].sort((a, b) => a - b);
        const x = { label: varied === "clients" ? "clients (logarithmic)" : "nodes", log: varied === "clients", ticks, text: short,
            range: [ticks[0], ticks.at(-1)] };
        const points = (f, field) => f.filter((r) => r[field] != null).map((r) => [r[varied], r[field]]);
        const lines = (own, floor) => kin.map((f) => ({ name: list(counted(f[0][fixed], fixed.slice(0, -1)), f[0].variant),
            library: points(f, own), floor: points(f, floor) }));
        return [
            { title: `Client CPU per cycle against ${varied}`, x, y: { label: "CPU time per cycle", text: roundDuration },
                lines: lines("client_cpu_us_per_cycle", "floor_cpu_us_per_cycle") },
            { title: `Throughput against ${varied}, as a share of the floor’s`, x, y: { label: "ratio to the floor", text: short, reference: 1 },
                lines: lines("ratio_to_floor", "none"), reference: "the floor" },
        ].filter((chart) => chart.lines.some((line) => line.library.length > 0));
    });
}

// ---------------------------------------------------------------- drawing

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const SHAPES = [  // one for each colour, so that nobody has to tell colours apart
    "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1 -4 0Z", "M-3.6 -3.6H3.6V3.6H-3.6Z", "M0 -4.6L4.4 3.4H-4.4Z", "M0 -5L5 0L0 5L-5 0Z",
    "M0 4.6L4.4 -3.4H-4.4Z", "M-5 -1.5H-1.5V-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5Z"];

/** The library's line, solid, or its floor's, dashed: in the same colour, with the same shape of points. */
function series(name, index, dashed, text, withPoints) {
    const stroke = colour(`--c${index % SHAPES.length}`), fill = dashed ? colour("--paper") : stroke;
    const shape = SHAPES[index % SHAPES.length], width = dashed ? 1.6 : 2.2, dash = dashed ? [5, 4] : [];
    const sample = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 44 14"><g stroke="${stroke}" transform="translate(22 7)">`
        + `<path d="M-22 0H22" stroke-width="${width}" stroke-dasharray="${dash}"/>`
        + `${withPoints ? `<path d="${shape}" fill="${fill}" stroke-width="1.6"/>` : ""}</g></svg>`;
    const points = {
        show: withPoints, stroke, fill, width: 1.6,
        filter(u, i, show) {  // every one of a few, some of many, and of each line others, so that they do not hide each other
            const all = [...u.data[i].keys()].filter((k) => u.data[i][k] != null);
            const step = all.length <= 8 ? 1 : Math.floor(all.length / 6);
            return show ? all.filter((_, k) => k % step === Math.floor((i - 1) * step / (u.series.length - 1))) : [];
        },
        paths(u, i, from, to, indices) {
            const path = new Path2D();
            for (const k of indices) {
                const at = new DOMMatrix().translate(u.valToPos(u.data[0][k], "x", true), u.valToPos(u.data[i][k], "y", true));
                path.addPath(new Path2D(shape), at.scale(devicePixelRatio));
            }
            return { stroke: path, fill: path, flags: 0 };
        },
    };
    return { label: name, stroke, width, dash, points, spanGaps: true, value: (u, v) => (v == null ? "" : text(v)),
        sample: `url("data:image/svg+xml,${encodeURIComponent(sample)}")` };
}

/** Vertical lines with a text above the plot, each in a row of its own, and the horizontal line of a reference. */
function annotate(u, { marks = [], reference, y }) {
    const { ctx, bbox: { left, top, width, height } } = u, px = devicePixelRatio;
    const line = (x1, y1, x2, y2, stroke, dash) => {
        ctx.strokeStyle = stroke;
        ctx.setLineDash(dash.map((d) => d * px));
        ctx.stroke(new Path2D(`M${x1} ${y1}L${x2} ${y2}`));
    };
    ctx.save();
    ctx.font = `${12 * px}px system-ui, sans-serif`;
    ctx.lineWidth = px;
    ctx.textAlign = "left";
    marks.forEach(({ at_seconds, what }, i) => {
        const x = u.valToPos(at_seconds, "x", true), row = top - (ROW * (Math.min(marks.length, ROWS) - 1 - i % ROWS) + 6) * px;
        if (!(x >= left && x <= left + width)) return;
        const text = what.length > 40 ? `${what.slice(0, 39)}…` : what;
        line(x, row - 9 * px, x, top + height, colour("--ink"), [2, 3]);
        ctx.fillStyle = colour("--ink");
        ctx.fillText(text, Math.max(0, Math.min(x + 4 * px, u.ctx.canvas.width - ctx.measureText(text).width)), row);
    });
    if (reference) {
        const at = u.valToPos(y.reference, "y", true);
        line(left, at, left + width, at, colour("--soft"), [6, 4]);
        ctx.fillStyle = colour("--soft");
        ctx.textAlign = "right";
        ctx.fillText(reference, left + width, at - 5 * px);
    }
    ctx.restore();
}
const ROW = 20, ROWS = 4;

function axis(of, scale, size) {
    return { scale, label: of.label, labelSize: 22, size, stroke: colour("--soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
        grid: { show: scale === "y", stroke: colour("--rule"), width: 1 }, ticks: { show: scale === "x", stroke: colour("--soft"), width: 1, size: 4 },
        ...(of.ticks && { splits: () => of.ticks, }),
        filter: (u, splits) => splits,
        values: (u, splits) => splits.map((v) => (v == null ? "" : of.text(v))) };
}

function draw(chart, into) {
    const floors = chart.lines.some(({ floor }) => floor.length > 0);
    const drawn = chart.lines.flatMap(({ name, library, floor }, i) =>
        [{ i, name, points: library }, ...(floors ? [{ i, name: "floor", points: floor, dashed: true }] : [])]);
    const withPoints = drawn.length > 1 || drawn[0].points.length <= 8;  // on a single long line they would be taken for events
    const { x, y, marks = [] } = chart;
    const size = () => ({ width: into.clientWidth, height: 290 + ROW * Math.min(marks.length, ROWS) });
    const options = {
        ...size(), padding: [8 + ROW * Math.min(marks.length, ROWS), 24, 0, 0],
        scales: { x: { time: false, distr: x.log ? 3 : 1, range: () => x.range },
            y: { distr: y.log ? 3 : 1, range: (u, low, high) => y.range ?? uPlot.rangeNum(0, Math.max(high, y.reference ?? 0) || 1, 0.1, true) } },
        axes: [axis(x, "x", 34), axis(y, "y", 62)],
        series: [{ label: x.label, value: (u, v) => (v == null ? "" : x.text(v)) },
            ...drawn.map((d) => series(d.name, d.i, d.dashed, y.text, withPoints))],
        legend: { markers: { width: 0, fill: (u, i) => u.series[i].sample } },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, dataIdx: (u, i, hovered) => {
            const has = [...u.data[i].keys()].filter((k) => u.data[i][k] != null);
            return has.reduce((best, k) => (Math.abs(k - hovered) < Math.abs(best - hovered) ? k : best), has[0] ?? hovered);
        } },
        hooks: { draw: [(u) => annotate(u, chart)] },
    };
    const data = uPlot.join(drawn.map(({ points }) => [points.map((p) => p[0]), points.map((p) => p[1])]));
    into.className = floors ? "pairs" : "";  // in the legend
    const u = new uPlot(options, data, into);
    u.ctx.canvas.setAttribute("role", "img");
    u.ctx.canvas.setAttribute("aria-label", chart.title);
    return { u, resize: () => u.setSize(size()) };
}

// ---------------------------------------------------------------- the page

const scenarios = new Map();
for (const r of run.results) scenarios.set(r.scenario, [...(scenarios.get(r.scenario) ?? []), r]);
const names = [...scenarios.keys()];

const main = document.querySelector("main");
main.append(element("p", { class: "lead" }, `${counted(run.results.length, "result")} in ${counted(names.length, "scenario")}, `,
    violations(sum(run.results.map((r) => r.violations))),
    `; ${sum(run.results.map((r) => r.disturbed))} of ${counted(sum(run.results.map((r) => r.rounds)), "round")} disturbed.`));
if (names.length > 0)
    main.append(element("nav", { "aria-label": "Scenarios" }, ...names.flatMap((name, i) => [element("a", { href: `#s${i}` }, name), " "])));
if (Object.keys(run.machine).length > 0)
    main.append(element("section", {}, element("h2", { id: "machine" }, "Machine and command"),
        element("dl", {}, ...Object.entries(run.machine).flatMap(([name, what]) => [element("dt", {}, spaced(name)), element("dd", {}, what)]))));
if (names.length > 0)
    main.append(element("section", {}, element("h2", {}, "Summary"), element("p", { class: "soft" },
        "A cycle is a lock that was acquired and released; in scenario “renew”, a renewal. The floor is a bare client that sends the same "
        + "commands and does nothing else, measured in the same rounds: a ratio of 1 would mean that the library costs nothing. "
        + "± is half the range of the rounds."), table("Summary", costs, [...scenarios])));

const charts = [];
names.forEach((name, i) => {
    const results = scenarios.get(name);
    const figures = [throughputCharts, costCharts, percentileCharts].flatMap((kind) => kind(name, results)).map((chart) => {
        const place = element("div", {});
        charts.push({ chart, place });
        return element("figure", {}, element("figcaption", {}, chart.title), place);
    });
    main.append(element("section", {}, element("h2", { id: `s${i}` }, name), table(`Latency: ${name}`, latencies, [["", results]]),
        furtherFigures(name, results) ?? "", remarks(results) ?? "", figures.length > 0 ? element("div", { class: "charts" }, ...figures) : ""));
});

function drawAll() {  // again when the colours change
    for (const c of charts) {
        c.drawn?.u.destroy();
        c.drawn = draw(c.chart, c.place);
    }
}
drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("resize", () => charts.forEach((c) => c.drawn.resize()));
