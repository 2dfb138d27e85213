#pragma once

namespace redlock::bench {

/// Of the page. Text in images is larger on narrow screens, where the images themselves are smaller.
inline constexpr char const* html_style = R"(
:root {
  color-scheme: light dark;
  --paper: #fdfdfc; --panel: #fff; --ink: #1c2024; --soft: #5b636c; --rule: #e3e5e8; --alarm: #b3261e;
  --c0: #1f5fa8; --c1: #b8540b; --c2: #0b7a63; --c3: #8b3f94; --c4: #9a7200; --c5: #4b5563;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --panel: #1a1e22; --ink: #e4e7ea; --soft: #9aa4ae; --rule: #2d343b; --alarm: #ff8a80;
    --c0: #6cb0f5; --c1: #f2a15c; --c2: #4fc9ae; --c3: #d394dc; --c4: #dcb94a; --c5: #aab4bf;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 3rem 1.5rem 5rem; max-width: 71rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
h1 { margin: 0 0 .4rem; font-size: 1.9rem; line-height: 1.2; letter-spacing: -.015em; font-weight: 650; }
h2 {
  margin: 3.5rem 0 .8rem; padding-top: .9rem; border-top: 1px solid var(--rule); font-size: 1.3rem;
  font-weight: 620;
}
h3 { margin: 1.8rem 0 .5rem; font-size: 1rem; font-weight: 620; }
p { margin: .5rem 0; max-width: 44rem; }
.lead { font-size: 1.1rem; }
.soft { color: var(--soft); font-size: .92rem; }
.alarm { color: var(--alarm); font-weight: 650; }
nav { margin: 1.2rem 0 0; font-size: .92rem; }
nav a { display: inline-block; margin: 0 1.1rem .2rem 0; color: var(--c0); text-decoration: none; }
nav a:hover, nav a:focus { text-decoration: underline; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.5rem; margin: .5rem 0; font-size: .92rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums lining-nums; }
th, td { padding: .34rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; text-align: left; }
thead th { color: var(--soft); font-weight: 500; font-size: .8rem; line-height: 1.3; vertical-align: bottom; }
thead tr:last-child > * { border-bottom: 1px solid var(--soft); }
thead th.over { text-align: left; border-bottom: 1px solid var(--rule); color: var(--ink); }
tbody th {
  position: sticky; left: 0; min-width: 9rem; max-width: 18rem; background: var(--paper); font-weight: 400;
  white-space: normal;
}
tbody th.group { padding-top: .95rem; font-weight: 620; }
tbody td, tbody th[scope=row] { border-bottom: 1px solid var(--rule); }
th.first, td.first { padding-left: 1.5rem; }
.thin { color: var(--soft); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 28rem), 1fr)); gap: 1.6rem 2.4rem; }
figure { margin: .6rem 0 0; }
figcaption { margin-bottom: .5rem; font-size: .92rem; font-weight: 600; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--ink); font-variant-numeric: tabular-nums; }
svg .tick, svg .label { fill: var(--soft); }
svg path { fill: none; stroke-width: 1; }
svg .grid { stroke: var(--rule); }
svg .base { stroke: var(--soft); }
svg .mark { stroke: var(--ink); stroke-dasharray: 2 3; }
svg .reference { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 6 4; }
svg .line { stroke-width: 2.2; stroke-linejoin: round; }
svg .floor { stroke-width: 1.6; stroke-dasharray: 5 4; stroke-linejoin: round; }
svg .hollow { fill: var(--paper); stroke-width: 1.6; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); }
.c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); }
.point.c0 { fill: var(--c0); } .point.c1 { fill: var(--c1); } .point.c2 { fill: var(--c2); }
.point.c3 { fill: var(--c3); } .point.c4 { fill: var(--c4); } .point.c5 { fill: var(--c5); }
ul { margin: .5rem 0; padding-left: 1.2rem; font-size: .92rem; }
@media (max-width: 640px) {
  body { padding: 1.6rem 1rem 3rem; }
  h1 { font-size: 1.55rem; }
  h2 { margin-top: 2.6rem; }
  dl { column-gap: .9rem; }
  tbody th { max-width: 9rem; min-width: 7.5rem; padding-right: .4rem; }
  svg text { font-size: 16px; }
}
@media print { body { max-width: none; padding: 0; } figure, table { break-inside: avoid; } }
)";

}  // namespace redlock::bench
