"use strict";
// Data is inserted as text (textContent, createTextNode), never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const { measures, attributes, baseline, rankings } = data;
const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
const systems = data.systems.map((name) => cut(name, 80));
const ids = data.queries.ids, texts = data.queries.texts, codes = data.queries.codes;
const haystack = ids.map((id, q) => (id + " " + (texts?.[q] ?? "")).toLowerCase());
const PAGE = 100, ALPHA = 0.05, LONGEST_ID = 200;
const NONE = "(none)";

const state = {
  measure: 0,
  system: baseline === 0 ? 1 : 0,
  slice: attributes.map(() => "*"),
  search: "",
  withRankings: false,
  order: "difference",
  descending: false,
  limit: PAGE,
  open: new Set(),
};

// --- small helpers ---------------------------------------------------------------------------

const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Row header: a long id is shortened, with the full id as tooltip. */
function namedRow(id, text) {
  return element("th", { scope: "row", title: id.length > LONGEST_ID ? id : null }, cut(id, LONGEST_ID), text ? element("span", { class: "text" }, text) : null);
}

const spoken = (text) => element("span", { class: "spoken" }, text);
const known = (number) => number !== null && number !== undefined;

function shown(number, signed = false) {
  if (!known(number)) return "–";
  const digits = Math.abs(number) >= 100 ? 1 : 3;
  const text = Math.abs(number).toFixed(digits);
  const zero = Number(text) === 0;
  return (number < 0 && !zero ? "−" : signed && !zero ? "+" : "") + text;
}

const shownInterval = (low, high, signed) => (known(low) ? `[${shown(low, signed)}, ${shown(high, signed)}]` : "");
const shownP = (p) => (!known(p) ? "" : p < 0.001 ? p.toExponential(0).replace("-", "−") : p.toFixed(3));
const counted = (number, word, plural = word + "s") =>
  `${number.toLocaleString("en")} ${number === 1 ? word : plural}`;

const measure = () => measures[state.measure];
const value = (q, s) => data.values[measure().name][s][q];
const label = (text) => (text === null ? NONE : cut(text, 80));
const sliceOf = (chosen) => data.slices[chosen.join(",")];
/** "gain" if the system is better, "loss" if it is worse. */
const side = (number) => (!number ? "even" : number > 0 === measure().higher ? "gain" : "loss");

function difference(q) {
  const a = value(q, baseline), b = value(q, state.system);
  return known(a) && known(b) ? b - a : null;
}

function named(row) {
  const [mean, low, high, gap, gapLow, gapHigh, p, wins, ties, losses] = row;
  return { mean, low, high, gap, gapLow, gapHigh, p, wins, ties, losses };
}

function extent(numbers) {
  const real = numbers.filter(known);
  const low = Math.min(...real), high = Math.max(...real);
  return low < high ? [low, high] : [low - 0.5, high + 0.5];
}

function scale([from, to], [start, end]) {
  return (x) => start + ((x - from) / (to - from)) * (end - start);
}

function ticks([low, high], about = 5) {
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.8);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found.map((x) => Number(x.toPrecision(10)));
}

// --- controls --------------------------------------------------------------------------------

function makeControls() {
  byId("measure").append(...measures.map((m, i) => element("option", { value: i }, m.name)));
  const others = systems.map((name, s) => [name, s]).filter(([, s]) => s !== baseline);
  byId("system").append(...others.map(([name, s]) => element("option", { value: s }, name)));
  byId("system").value = state.system;
  attributes.forEach((attribute, place) => {
    const options = attribute.values.map((text, code) => element("option", { value: code }, label(text)));
    const select = element("select", { "data-attribute": place }, element("option", { value: "*" }, "any"), ...options);
    select.addEventListener("change", () => {
      state.slice[place] = select.value;
      state.limit = PAGE;
      draw();
    });
    byId("slices").append(element("label", {}, `${attribute.name} `, select));
  });
  byId("measure").addEventListener("change", (event) => { state.measure = Number(event.target.value); draw(); });
  byId("system").addEventListener("change", (event) => choose(Number(event.target.value)));
  byId("search").addEventListener("input", (event) => {
    state.search = event.target.value.trim().toLowerCase();
    state.limit = PAGE;
    drawQueries();
  });
  byId("shown-only").addEventListener("change", (event) => {
    state.withRankings = event.target.checked;
    state.limit = PAGE;
    drawQueries();
  });
  byId("more").addEventListener("click", () => { state.limit += PAGE; drawQueries(); });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
}

function choose(system) {
  state.system = system;
  byId("system").value = system;
  draw();
}

// --- systems ---------------------------------------------------------------------------------

function drawBoard() {
  const slice = sliceOf(state.slice), rows = slice?.rows[measure().name].map(named) ?? [];
  byId("board-size").textContent = counted(slice?.n ?? 0, "query", "queries");
  const sign = measure().higher ? -1 : 1;
  const order = rows.map((_, s) => s).sort((a, b) => sign * ((rows[a].mean ?? 0) - (rows[b].mean ?? 0)) || a - b);
  const best = rows.length ? rows[order[0]].mean : null;
  const range = rows.length ? extent(rows.flatMap((row) => [row.low, row.high, row.mean])) : [0, 1];
  const others = measures.filter((m) => m !== measure());
  const head = element("thead", {}, element("tr", {},
    element("th", { scope: "col" }, "System"),
    element("th", { scope: "col", class: "number" }, measure().name),
    element("th", { scope: "col" }, "95 % interval"),
    element("th", { scope: "col", class: "number" }, "Difference"),
    element("th", { scope: "col" }, "95 % interval"),
    element("th", { scope: "col", class: "number" }, "p"),
    element("th", { scope: "col" }, "Wins, ties, losses"),
    ...others.map((m) => element("th", { scope: "col", class: "number" }, m.name))));
  const body = element("tbody", {}, ...order.map((s) => boardRow(s, rows[s], rows[s].mean === best, range, slice, others)));
  byId("board").replaceChildren(element("caption", { class: "spoken" }, "Systems, best first"), head, body);
}

function boardRow(s, row, best, range, slice, others) {
  const isBaseline = s === baseline;
  const name = isBaseline
    ? element("span", {}, systems[s], " ", element("span", { class: "tag" }, "baseline"))
    : element("button", { type: "button", class: "pick", "aria-pressed": s === state.system, onclick: () => choose(s) }, systems[s]);
  const significant = known(row.p) && row.p < ALPHA;
  const mark = !significant ? null : side(row.gap) === "gain"
    ? [element("span", { class: "gain", "aria-hidden": "true" }, " ↑"), spoken(" significantly better")]
    : [element("span", { class: "loss", "aria-hidden": "true" }, " ↓"), spoken(" significantly worse")];
  const mean = element(best ? "strong" : "span", {}, shown(row.mean));
  return element("tr", { class: isBaseline ? "baseline" : s === state.system ? "chosen" : "", "data-system": s },
    element("th", { scope: "row" }, name),
    element("td", { class: "number", "data-cell": "mean" }, mean),
    element("td", { class: "interval" }, intervalBar(row, range), element("span", { "data-cell": "interval" }, shownInterval(row.low, row.high))),
    element("td", { class: "number", "data-cell": "difference" }, isBaseline ? "" : shown(row.gap, true), ...(mark ?? [])),
    element("td", { class: "soft" }, isBaseline ? "" : shownInterval(row.gapLow, row.gapHigh, true)),
    element("td", { class: "number", "data-cell": "p" }, shownP(row.p)),
    element("td", { class: "outcomes" }, ...(isBaseline || !known(row.wins) ? [] : outcomes(row))),
    ...others.map((m) => element("td", { class: "number soft" }, shown(slice.rows[m.name][s][0]))));
}

function intervalBar({ mean, low, high }, range) {
  const x = scale(range, [6, 114]);
  const marks = [drawn("line", { class: "guide", x1: 6, x2: 114, y1: 8, y2: 8 })];
  if (known(low)) marks.push(drawn("line", { class: "range", x1: x(low), x2: x(high), y1: 8, y2: 8 }));
  if (known(mean)) marks.push(drawn("circle", { class: "dot", cx: x(mean), cy: 8, r: 4 }));
  return drawn("svg", { viewBox: "0 0 120 16", width: 120, height: 16, "aria-hidden": "true" }, ...marks);
}

function outcomes({ wins, ties, losses }) {
  const total = wins + ties + losses || 1, width = 90;
  const parts = [["gain", wins], ["even", ties], ["loss", losses]];
  let x = 0;
  const bars = parts.map(([kind, count]) => {
    const bar = drawn("rect", { class: `fill-${kind}`, x, y: 2, width: (count / total) * width, height: 10 });
    x += (count / total) * width;
    return bar;
  });
  return [
    drawn("svg", { viewBox: `0 0 ${width} 14`, width, height: 14, "aria-hidden": "true" }, ...bars),
    element("span", { "data-cell": "outcomes" }, `${wins} / ${ties} / ${losses}`),
  ];
}

// --- charts ----------------------------------------------------------------------------------

const SIZE = { width: 480, height: 240, left: 46, right: 12, top: 10, bottom: 34 };

function frame(described, width = SIZE.width, height = SIZE.height) {
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": described });
}

function yAxis(range, y, right = SIZE.width - SIZE.right) {
  return ticks(range).flatMap((tick) => [
    drawn("line", { class: tick === 0 ? "axis" : "grid", x1: SIZE.left, x2: right, y1: y(tick), y2: y(tick) }),
    drawn("text", { class: "tick", x: SIZE.left - 6, y: y(tick) + 4, "text-anchor": "end" }, String(tick).replace("-", "−")),
  ]);
}

function drawDifferences(members) {
  const name = `${systems[state.system]} minus ${systems[baseline]}`;
  byId("differences-title").textContent = `${measure().name} per query: ${name}`;
  const gaps = members.map(difference).filter(known).sort((a, b) => b - a);
  const high = gaps.filter((gap) => gap > 0).length, low = gaps.filter((gap) => gap < 0).length;
  const described = `${counted(high, "query", "queries")} higher, ${low.toLocaleString("en")} lower, of ${gaps.length.toLocaleString("en")}`;
  const chart = frame(`${name}: ${described}`);
  if (!gaps.length) return byId("differences").replaceChildren(element("p", { class: "note" }, "No queries in this slice."));
  const range = extent([...gaps.slice(0, 1), ...gaps.slice(-1), 0]);
  const right = SIZE.width - SIZE.right, bottom = SIZE.height - SIZE.bottom;
  const y = scale(range, [bottom, SIZE.top]), x = scale([0, gaps.length], [SIZE.left, right]);
  chart.append(...yAxis(range, y));
  // At most one step per pixel, which shows the query at that position.
  const steps = Math.min(gaps.length, right - SIZE.left);
  const path = { gain: "", loss: "" };
  for (let i = 0; i < steps; i++) {
    const gap = gaps[Math.floor(((i + 0.5) * gaps.length) / steps)];
    if (gap) path[side(gap)] += `M${x((i * gaps.length) / steps)},${y(0)}V${y(gap)}H${x(((i + 1) * gaps.length) / steps)}V${y(0)}Z`;
  }
  chart.append(
    drawn("path", { class: "fill-gain", d: path.gain }), drawn("path", { class: "fill-loss", d: path.loss }),
    drawn("line", { class: "axis", x1: SIZE.left, x2: right, y1: y(0), y2: y(0) }),
    drawn("text", { class: "tick", x: (SIZE.left + right) / 2, y: SIZE.height - 8, "text-anchor": "middle" }, `queries, sorted by difference: ${described}`));
  byId("differences").replaceChildren(chart);
}

function drawBySlice() {
  byId("by-slice").closest("figure").hidden = !attributes.length;
  byId("by-slice-title").textContent = `${measure().name} by slice: ${systems[state.system]} minus ${systems[baseline]}, with 95 % intervals`;
  const find = (place, code) => {
    const chosen = attributes.map(() => "*");
    if (place !== null) chosen[place] = code;
    const slice = sliceOf(chosen);
    return { n: slice.n, ...named(slice.rows[measure().name][state.system]) };
  };
  const groups = [[null, [{ text: "all queries", ...find(null) }]]];
  attributes.forEach((attribute, place) => {
    const rows = attribute.values.map((text, code) => ({ text: label(text), ...find(place, code) }));
    groups.push([attribute.name, rows.sort((a, b) => b.n - a.n)]);
  });
  const most = 24, all = groups.flatMap(([, rows]) => rows.slice(0, most));
  const range = extent([0, ...all.flatMap((row) => [row.gapLow, row.gapHigh, row.gap])]);
  const left = 190, right = SIZE.width - 16, x = scale(range, [left, right]);
  const marks = [];
  let y = 16;
  for (const [name, rows] of groups) {
    if (name !== null) {
      y += 8;
      marks.push(drawn("text", { class: "group", x: 4, y: y + 4 }, cut(name, 26)));
      y += 20;
    }
    for (const row of rows.slice(0, most)) {
      const sure = known(row.gapLow) && (row.gapLow > 0 || row.gapHigh < 0), kind = sure ? side(row.gap) : "even";
      marks.push(drawn("text", { class: "tick", x: left - 10, y: y + 4, "text-anchor": "end" },
        drawn("title", {}, `${row.text}: ${shown(row.gap, true)} ${shownInterval(row.gapLow, row.gapHigh, true)}`),
        `${cut(row.text, 18)} (${row.n.toLocaleString("en")})`));
      if (known(row.gapLow)) marks.push(drawn("line", { class: `range stroke-${kind}`, x1: x(row.gapLow), x2: x(row.gapHigh), y1: y, y2: y }));
      if (known(row.gap)) marks.push(drawn("circle", { class: `fill-${kind}`, cx: x(row.gap), cy: y, r: 4 }));
      y += 22;
    }
    if (rows.length > most) {
      marks.push(drawn("text", { class: "tick", x: left - 10, y: y + 4, "text-anchor": "end" }, `and ${rows.length - most} smaller ones`));
      y += 22;
    }
  }
  const axis = ticks(range).flatMap((tick) => [
    drawn("line", { class: tick === 0 ? "axis" : "grid", x1: x(tick), x2: x(tick), y1: 4, y2: y }),
    drawn("text", { class: "tick", x: x(tick), y: y + 16, "text-anchor": "middle" }, String(tick).replace("-", "−")),
  ]);
  const chart = frame("Difference in each slice", SIZE.width, y + 26);
  chart.append(...axis, ...marks);
  byId("by-slice").replaceChildren(chart);
}

function drawLines(id, described, xs, lines, xLabel, logarithmic) {
  if (!lines?.length) return byId(id).replaceChildren(element("p", { class: "note" }, "No queries in this slice."));
  const place = logarithmic ? Math.log : (x) => x;
  const right = SIZE.width - 118, bottom = SIZE.height - SIZE.bottom;
  const range = extent(lines.flat());
  const x = scale([place(xs[0]), place(xs.at(-1))], [SIZE.left + 8, right]), y = scale(range, [bottom, SIZE.top + 4]);
  const chart = frame(described);
  chart.append(...yAxis(range, y, right));
  const labelled = xs.filter((_, i) => xs.length < 9 || i % 2 === 0);
  chart.append(...labelled.map((tick) => drawn("text", { class: "tick", x: x(place(tick)), y: bottom + 16, "text-anchor": "middle" }, String(tick))));
  chart.append(drawn("text", { class: "tick", x: (SIZE.left + right) / 2, y: SIZE.height - 3, "text-anchor": "middle" }, xLabel));
  const kind = (s) => (s === baseline ? "base" : s === state.system ? "chosen" : "other");
  // A system without queries in this slice has no line.
  const order = lines.map((_, s) => s).filter((s) => known(lines[s][0])).sort((a, b) => (kind(b) === "other") - (kind(a) === "other") || (a === state.system) - (b === state.system));
  for (const s of order) {
    const points = lines[s].map((v, i) => [x(place(xs[i])), y(v)]);
    chart.append(drawn("polyline", { class: `line line-${kind(s)}`, points: points.map((p) => p.join(",")).join(" ") }, drawn("title", {}, systems[s])));
    if (kind(s) !== "other") chart.append(...points.map(([cx, cy]) => drawn("circle", { class: `point-${kind(s)}`, cx, cy, r: 2.5 })));
  }
  // Names at the ends of lines, moved apart; with many systems only the two compared are named.
  const ends = order.filter((s) => lines.length <= 6 || kind(s) !== "other").map((s) => ({ s, y: y(lines[s].at(-1)) }));
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, i) => { if (i) end.y = Math.max(end.y, ends[i - 1].y + 14); });
  const beyond = Math.max(0, (ends.at(-1)?.y ?? 0) - bottom);
  for (const end of ends) {
    chart.append(drawn("text", { class: `name name-${kind(end.s)}`, x: right + 8, y: end.y + 4 - beyond }, drawn("title", {}, systems[end.s]), cut(systems[end.s], kind(end.s) === "other" ? 16 : 14)));
  }
  byId(id).replaceChildren(chart);
}

// --- queries ---------------------------------------------------------------------------------

function inSlice() {
  const wanted = state.slice.map((code, place) => [place, code]).filter(([, code]) => code !== "*").map(([place, code]) => [codes[place], Number(code)]);
  const members = [];
  for (let q = 0; q < ids.length; q++) if (wanted.every(([column, code]) => column[q] === code)) members.push(q);
  return members;
}

let members = [];

function drawQueries() {
  const found = members.filter((q) => (!state.search || haystack[q].includes(state.search)) && (!state.withRankings || q in rankings.queries));
  const sortKey = { difference, baseline: (q) => value(q, baseline), system: (q) => value(q, state.system) }[state.order];
  const sign = state.descending ? -1 : 1;
  if (sortKey) {
    const keys = new Map(found.map((q) => [q, sortKey(q)]));
    // Unknown values come last in both directions.
    found.sort((a, b) => known(keys.get(b)) - known(keys.get(a)) || sign * (keys.get(a) - keys.get(b)) || a - b);
  } else {
    found.sort((a, b) => sign * (a - b));
  }
  byId("queries-size").textContent = found.length === ids.length
    ? counted(found.length, "query", "queries")
    : `${found.length.toLocaleString("en")} of ${counted(ids.length, "query", "queries")}`;
  const largest = Math.max(...found.map((q) => Math.abs(difference(q) ?? 0)), 1e-9);
  const visible = found.slice(0, state.limit);
  const body = element("tbody");
  for (const q of visible) {
    body.append(queryRow(q, largest));
    if (state.open.has(q)) body.append(detailRow(q));
  }
  byId("queries").replaceChildren(element("caption", { class: "spoken" }, "Queries with the values of both systems"), queryHead(), body);
  byId("more").hidden = found.length <= state.limit;
}

function queryHead() {
  const column = (key, text, isNumber) => {
    const current = state.order === key;
    const arrow = current ? (state.descending ? " ▼" : " ▲") : "";
    const button = element("button", { type: "button", class: "sort", onclick: () => sortBy(key) }, text, element("span", { "aria-hidden": "true" }, arrow));
    const order = current ? (state.descending ? "descending" : "ascending") : "none";
    return element("th", { scope: "col", class: isNumber ? "number" : "", "aria-sort": order }, button);
  };
  return element("thead", {}, element("tr", {},
    column("query", "Query"),
    ...attributes.map((attribute) => element("th", { scope: "col" }, attribute.name)),
    column("baseline", systems[baseline], true),
    column("system", systems[state.system], true),
    column("difference", "Difference", true),
    element("th", { scope: "col" }, "Rankings")));
}

function sortBy(key) {
  state.descending = state.order === key ? !state.descending : key !== "query";
  state.order = key;
  drawQueries();
  byId("queries").querySelector('th[aria-sort$="ending"] button').focus();
}

function queryRow(q, largest) {
  const gap = difference(q), width = (Math.abs(gap ?? 0) / largest) * 44;
  const bar = drawn("svg", { viewBox: "0 0 90 12", width: 90, height: 12, "aria-hidden": "true" },
    drawn("line", { class: "guide", x1: 45, x2: 45, y1: 0, y2: 12 }),
    drawn("rect", { class: `fill-${side(gap)}`, x: gap < 0 ? 45 - width : 45, y: 2, width, height: 8 }));
  const row = element("tr", { "data-query": ids[q] },
    namedRow(ids[q], texts?.[q]),
    ...attributes.map((attribute, place) => element("td", { class: "soft" }, label(attribute.values[codes[place][q]]))),
    element("td", { class: "number" }, shown(value(q, baseline))),
    element("td", { class: "number" }, shown(value(q, state.system))),
    element("td", { class: "number gap" }, bar, element("span", { class: side(gap) }, shown(gap, true))));
  const cell = element("td");
  if (q in rankings.queries) {
    const open = state.open.has(q);
    cell.append(element("button", {
      type: "button", class: "open", "aria-expanded": open, "aria-controls": open ? `detail-${q}` : null, onclick: (event) => toggle(q, event.currentTarget),
    }, open ? "hide" : "show", spoken(` rankings of ${cut(ids[q], LONGEST_ID)}`)));
  } else {
    cell.append(element("span", { class: "soft", "aria-hidden": "true" }, "–"), spoken("not on this page"));
  }
  row.append(cell);
  return row;
}

function toggle(q, button) {
  const opens = !state.open.delete(q);
  if (opens) state.open.add(q);
  const row = button.closest("tr");
  if (opens) row.after(detailRow(q));
  else row.nextSibling.remove();
  button.setAttribute("aria-expanded", opens);
  if (opens) button.setAttribute("aria-controls", `detail-${q}`);
  else button.removeAttribute("aria-controls");
  button.firstChild.textContent = opens ? "hide" : "show";
}

function detailRow(q) {
  const [graded, ranked] = rankings.queries[q];
  const grades = new Map(graded);
  const sides = [baseline, state.system];
  const places = sides.map((s) => new Map(ranked[s].map((row) => [row[0], row])));
  const part = rankings.sums.indexOf(measure().name);
  const lists = sides.map((s, i) => ranking(q, s, places[i], places[1 - i], grades, part));
  const note = part < 0 ? element("p", { class: "note" }, `${measure().name} is not a sum over items, so items have no contribution.`) : null;
  return element("tr", { class: "detail", id: `detail-${q}` },
    element("td", { colspan: 5 + attributes.length }, element("div", { class: "pair" }, ...lists), note));
}

function ranking(q, s, own, other, grades, part) {
  const added = (row) => (part < 0 || !row ? 0 : row[2 + part] ?? 0);
  const returned = [...own.values()];
  const missed = [...grades].filter(([item, grade]) => !own.has(item) && grade > 0).sort((a, b) => b[1] - a[1]);
  const rows = returned.map((row) => itemRow(row[0], row[1], other.get(row[0])?.[1], grades.get(row[0]), added(row), part));
  rows.push(...missed.map(([item, grade]) => itemRow(item, null, other.get(item)?.[1], grade, 0, part)));
  const total = value(q, s), rest = (total ?? 0) - returned.reduce((sum, row) => sum + added(row), 0);
  if (part >= 0 && Math.abs(rest) > 2e-4) rows.push(footRow("lower-ranked items", rest));
  if (part >= 0) rows.push(footRow(measure().name, total, "total"));
  return element("table", { class: "ranking", "data-system": systems[s] },
    element("caption", {}, element("strong", {}, systems[s]), ` ${measure().name} ${shown(total)}`),
    element("thead", {}, element("tr", {},
      element("th", { scope: "col", class: "number" }, "Rank"),
      element("th", { scope: "col" }, "Item"),
      element("th", { scope: "col", class: "number" }, "Grade"),
      element("th", { scope: "col", class: "number" }, part < 0 ? "" : "Contribution"),
      element("th", { scope: "col", class: "number" }, "Other rank"))),
    element("tbody", {}, ...rows));
}

function itemRow(item, rank, there, grade, adds, part) {
  const text = rankings.texts?.[item];
  const kind = grade > 0 ? "relevant" : known(grade) ? "judged" : "unjudged";
  return element("tr", { class: `${kind}${known(rank) ? "" : " missed"}` },
    element("td", { class: "number" }, known(rank) ? String(rank) : element("span", {}, "–", spoken(" not returned"))),
    namedRow(rankings.items[item], text),
    element("td", { class: "number" }, known(grade) ? element("span", { class: "grade" }, String(grade)) : element("span", { class: "soft" }, "–", spoken(" unjudged"))),
    element("td", { class: "number" }, part < 0 || !adds ? "" : shown(adds)),
    element("td", { class: "number soft" }, known(there) ? String(there) : "–"));
}

function footRow(text, number, kind = "rest") {
  return element("tr", { class: kind }, element("td"), element("th", { scope: "row" }, text), element("td"), element("td", { class: "number" }, shown(number)), element("td"));
}

// --- whole page -------------------------------------------------------------------------------

function draw() {
  members = inSlice();
  drawBoard();
  drawDifferences(members);
  drawBySlice();
  const slice = sliceOf(state.slice);
  drawLines("cutoffs", "nDCG by cutoff, one line per system", data.cutoffs, slice?.cutoffs, "cutoff", true);
  drawLines("recall", "Interpolated precision by recall, one line per system", slice?.recall[0]?.map((_, i) => i / 10) ?? [], slice?.recall, "recall", false);
  drawQueries();
}

function describe() {
  const all = Object.keys(rankings.queries).length;
  byId("about").textContent = `${counted(systems.length, "system")}, ${counted(ids.length, "query", "queries")}. Baseline: ${systems[baseline]}.`;
  byId("board-note").textContent =
    "Means with t intervals. Differences from the baseline are paired by query; p values of the paired t test are corrected " +
    "by Holm over the systems (in a slice also over all slices of the same attributes). ↑ ↓: significant at 5 %. " +
    "Click a system to compare it with the baseline in the charts and queries.";
  if (data.missing) {
    byId("board-note").textContent += data.missing === "zero"
      ? " A query that a system lacks counts as 0."
      : " Some systems lack queries; each pair is compared on the queries that both have.";
  }
  byId("queries-note").textContent =
    (all < ids.length
      ? `This page has the rankings of ${all} of ${ids.length.toLocaleString("en")} queries: those with the largest difference from the baseline in ${measures[0].name}. `
      : "This page has the rankings of all queries. ") +
    `A ranking shows the top ${data.depth} items, and relevant items that are lower or missing. "Contribution" is an item's part of the value, "Other rank" its rank in the other ranking.`;
}

describe();
makeControls();
draw();
