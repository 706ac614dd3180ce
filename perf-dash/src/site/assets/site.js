// The site's script: what its charts show (chart.js draws them), sorting, filtering, the comparison page, the theme.
// Data files call schedlab.put(key, value); whoever waits for a key is told.
"use strict";
const schedlab = (() => {
  const store = new Map();
  const waiting = new Map();
  const root = document.documentElement.dataset.root || "";
  const put = (key, value) => {
    store.set(key, value);
    (waiting.get(key) || []).forEach((tell) => tell(value));
    waiting.delete(key);
  };
  const when = (key, tell) => {
    if (store.has(key)) return tell(store.get(key));
    waiting.set(key, (waiting.get(key) || []).concat(tell));
  };
  const load = (key, tell) => {
    const isNew = !store.has(key) && !waiting.has(key);
    when(key, tell);
    if (!isNew) return;
    const script = document.createElement("script");
    script.src = `${root}data/${key}.js`;
    document.body.append(script);
  };
  return { put, when, load, root };
})();

(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const { units, digits } = schedlabChart;
  const when = (text) => text.slice(0, 16).replace("T", " ");
  const runName = (run) => `${run.rev}${run.label ? ` (${run.label})` : ""}, ${when(run.at)}${run.source === "schedlab" ? "" : `, ${run.source}`}`;

  // ---- theme
  const theme = $("#theme");
  const charts = [];
  const themes = ["auto", "light", "dark"];
  const keep = { get: () => { try { return localStorage.getItem("schedlab-theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("schedlab-theme", value); } catch { /* not kept */ } } };
  const applyTheme = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
  };
  if (theme) {
    theme.hidden = false;
    let current = themes.includes(keep.get()) ? keep.get() : "auto";
    applyTheme(current);
    theme.addEventListener("click", () => {
      current = themes[(themes.indexOf(current) + 1) % themes.length];
      keep.set(current);
      applyTheme(current);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(current));
  }

  // ---- charts
  const draw = (spec) => {
    const figure = $(`[data-chart="${spec.id}"]`);
    const chart = figure && schedlabChart.draw(figure, spec);
    if (chart) charts.push(chart);
  };
  // Takes every chart away, so that the page can be drawn anew with other data.
  const clearCharts = () => charts.splice(0).forEach(schedlabChart.clear);

  // ---- a workload's page
  const median = (values) => {
    const sorted = values.slice().sort((one, other) => one - other);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  };
  const noiseBand = (data, shown) => {
    const low = [];
    const high = [];
    const { fence, source } = data.series[shown];
    data.rate.forEach((rate, at) => {
      const before = [];
      for (let i = at; i >= 0 && before.length < 10; i -= 1) if (data.of[i] === shown && data.rate[i]) before.push(data.rate[i]);
      const isKnown = data.of[at] === shown && source === "schedlab" && fence && fence <= 1 && before.length > 2;
      low.push(isKnown ? median(before) / (1 + fence) : null);
      high.push(isKnown ? median(before) * (1 + fence) : null);
    });
    return [low, high];
  };
  // Draws one of the workload's series: runs with the same settings on the same machine. The others
  // stand apart in the throughput's legend, named by what differs; no line joins two of them.
  const workloadPage = (runs, data, shown = 0) => {
    const x = data.run.map((_, at) => at);
    const xText = (at, isShort) => { const run = runs[data.run[at]]; return !run ? "" : isShort ? run.rev.slice(0, 7) : runName(run); };
    const only = (values, series) => values.map((value, at) => (data.of[at] === series ? value : null));
    const picked = [];
    const banner = $("[data-picked]");
    const pick = (at) => {
      picked.push(at);
      if (picked.length > 2) picked.splice(0, picked.length - 1);
      banner.hidden = false;
      const [a, b] = picked.map((i) => runs[data.run[i]]);
      if (picked.length === 1) {
        banner.replaceChildren(`Base: ${runName(a)}. Pick a second run.`);
        return;
      }
      const change = (data.rate[picked[1]] / data.rate[picked[0]] - 1) * 100;
      const link = make("a", "Compare all workloads of these two runs", { href: `${schedlab.root}compare.html#a=${a.id}&b=${b.id}` });
      banner.replaceChildren(`${runName(a)} → ${runName(b)}: ${units.rate(data.rate[picked[0]])} → ${units.rate(data.rate[picked[1]])} (${change >= 0 ? "+" : ""}${change.toFixed(1)} %). `, link);
    };
    const [low, high] = noiseBand(data, shown);
    const mine = (values) => only(values, shown);
    const apart = ["--s2", "--s4", "--s6"];
    const others = data.series.map((one, at) => ({ ...one, at })).filter((one) => one.at !== shown);
    const nameOf = (one) => one.differs || (one.source === "schedlab" ? "newest settings" : one.source);
    draw({ id: "rate", x, xText, pick, height: 300, marks: data.series[shown].marks, series: [
      { name: "low", values: low, band: "low", unit: "rate", colour: "--s1" },
      { name: "high", values: high, band: "high", unit: "rate", colour: "--s1" },
      { name: data.series.length > 1 ? nameOf(data.series[shown]) : data.series[shown].source, values: mine(data.rate), unit: "rate", colour: "--s1" },
      ...others.map((one, at) => ({ name: nameOf(one), values: only(data.rate, one.at), unit: "rate", colour: apart[at % apart.length], shown: false })),
      { name: "window p50", values: mine(data.p50), unit: "rate", colour: "--s3", shown: false },
      { name: "threshold", values: mine(data.threshold), unit: "rate", colour: "--s5", dash: true },
    ] });
    draw({ id: "latency", x, xText, pick, log: true, series: [
      { name: "end to end p50", values: mine(data.e2e50), unit: "us", colour: "--s3" },
      { name: "end to end p90", values: mine(data.e2e90), unit: "us", colour: "--s4" },
      { name: "end to end p99", values: mine(data.e2e99), unit: "us", colour: "--s2" },
      { name: "cycle mean", values: mine(data.cycle), unit: "us", colour: "--s1" },
      { name: "cycle p99", values: mine(data.cycle99), unit: "us", colour: "--s6", shown: false },
      ...others.filter((one) => one.source === "kube-scheduler").map((one) => ({ name: "kube-scheduler, cycle mean", values: only(data.cycle, one.at), unit: "us", colour: "--s5", shown: false })),
    ] });
    draw({ id: "memory", x, xText, pick, yName: "bytes", series: [
      { name: "per node", values: mine(data.node), unit: "bytes", colour: "--s1" },
      { name: "per pod", values: mine(data.pod), unit: "bytes", colour: "--s2" },
    ] });
    draw({ id: "calls", x, xText, pick, yName: "calls per pod", series: [{ name: "calls per pod", values: mine(data.calls), unit: "plain", colour: "--s1" }] });
    const kernel = $("[data-kernel]");
    if (kernel) schedlab.when("instructions", (counted) => {
      const values = data.run.map((run) => { const at = counted.run.indexOf(run); return at < 0 ? null : counted.kernels[kernel.dataset.kernel][at]; });
      draw({ id: "instructions", x, xText, pick, yName: "instructions", series: [{ name: "instructions", values, unit: "plain", colour: "--s1" }] });
    });
  };
  const partPage = (runs, data) => {
    const colours = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6"];
    const unit = $("[data-chart=part] .muted").textContent.startsWith("ns") ? "ns" : "us";
    draw({ id: "part", x: data.run.map((_, at) => at), xText: (at, isShort) => { const run = runs[data.run[at]]; return !run ? "" : isShort ? run.rev.slice(0, 7) : runName(run); }, height: 300,
      series: data.series.map((one, at) => ({ name: one.name, values: one.values, unit, colour: colours[at] })) });
    const sizes = [...new Set(data.sizes.flatMap((one) => one.nodes))].sort((a, b) => a - b);
    draw({ id: "part-nodes", x: sizes, xName: "nodes", xText: (nodes, isShort) => `${nodes.toLocaleString("en")}${isShort ? "" : " nodes"}`, log: true, logX: true,
      series: data.sizes.map((one, at) => ({ name: one.name, values: sizes.map((size) => { const found = one.nodes.indexOf(size); return found < 0 ? null : one.values[found]; }), unit, colour: colours[at % colours.length] })) });
  };
  if ($("[data-chart=kernels]")) schedlab.when("runs", (runs) => schedlab.when("instructions", (counted) => {
    const colours = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6"];
    const percent = (values) => { const first = values.find((value) => value !== null); return values.map((value) => (value === null ? null : (value / first - 1) * 100)); };
    draw({ id: "kernels", x: counted.run.map((_, at) => at), xText: (at, isShort) => { const run = runs[counted.run[at]]; return !run ? "" : isShort ? run.rev.slice(0, 7) : runName(run); }, height: 300,
      series: Object.entries(counted.kernels).map(([name, values], at) => ({ name, values: percent(values), unit: "percent", colour: colours[at % colours.length] })) });
  }));
  schedlab.when("runs", (runs) => {
    const page = location.pathname.match(/\/([wp])\/([^/]+)\.html$/);
    if (page) schedlab.when(`${page[1]}/${decodeURIComponent(page[2])}`, (data) => {
      (page[1] === "w" ? workloadPage : partPage)(runs, data);
      const choice = $("[data-series]");
      if (choice) choice.addEventListener("change", () => { clearCharts(); workloadPage(runs, data, Number(choice.value)); });
    });
  });
  schedlab.when("scaling", (cases) => cases.forEach((one) => {
    const x = [...new Set(Object.values(one.sources).flatMap((source) => source.nodes))].sort((a, b) => a - b);
    const on = (source, values) => x.map((nodes) => { const at = source.nodes.indexOf(nodes); return at < 0 ? null : values[at]; });
    const series = [];
    Object.entries(one.sources).forEach(([name, source]) => {
      const at = name === "schedlab" ? 0 : 1;
      series.push({ name: `${name}, pods/s`, values: on(source, source.rate), unit: "rate", colour: ["--s1", "--s2"][at] });
      series.push({ name: `${name}, cycle mean (µs)`, values: on(source, source.cycle), unit: "us", colour: ["--s3", "--s4"][at], shown: false });
    });
    draw({ id: one.id, x, xName: "nodes", xText: (nodes, isShort) => `${nodes.toLocaleString("en")}${isShort ? "" : " nodes"}`, log: true, logX: true, series });
  }));

  // ---- tables
  const sortable = (table) => {
    all("thead th", table).forEach((head, column) => {
      const button = make("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isDown = head.getAttribute("aria-sort") === "descending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isDown ? "ascending" : "descending");
        const key = (row) => { const cell = row.cells[column]; return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value); };
        const sign = isDown ? 1 : -1;
        const rows = [...table.tBodies[0].rows].sort((one, other) => { const [a, b] = [key(one), key(other)]; return (typeof a === "number" ? a - b : a.localeCompare(b)) * sign; });
        table.tBodies[0].append(...rows);
      });
    });
  };
  all("table.sortable").forEach(sortable);
  all("[data-filter]").forEach((input) => input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    all(`#${input.dataset.filter} tbody tr`).forEach((row) => { const text = row.textContent.toLowerCase(); row.hidden = !words.every((word) => text.includes(word)); });
  }));

  // ---- the comparison page
  const [pickA, pickB] = [$("#run-a"), $("#run-b")];
  if (pickA) schedlab.when("runs", (runs) => {
    for (const list of [pickA, pickB]) runs.slice().reverse().forEach((run) => list.append(make("option", runName(run), { value: run.id })));
    const byId = new Map(runs.map((run) => [run.id, run]));
    const fill = (a, b) => {
      const before = new Map(b && a ? a.map((row) => [row[0], row]) : []);
      const [one, other] = [byId.get(pickA.value), byId.get(pickB.value)];
      const isSameWork = one.source === other.source;
      const body = $("#compared").tBodies[0];
      body.replaceChildren();
      const counts = { better: 0, worse: 0, unchanged: 0, inconclusive: 0, "other settings": 0 };
      const symbols = { better: "▲", worse: "▼", unchanged: "=", inconclusive: "?", "other work": "≠", "other settings": "≠" };
      b.forEach((head) => {
        const base = before.get(head[0]);
        if (!base) return;
        const [fence, ratio] = [head[2], base[3] && head[3] ? head[3] / base[3] : null];
        const isSameSetting = base[8] === head[8];
        const verdict = !isSameWork ? "other work" : !isSameSetting ? "other settings" : ratio === null || !fence || fence > 1 ? "inconclusive" : ratio > 1 + fence ? "better" : ratio < 1 / (1 + fence) ? "worse" : "unchanged";
        counts[verdict] += 1;
        const row = body.insertRow();
        const name = make("th", undefined, { scope: "row" });
        name.append(make("a", head[0], { href: `w/${head[1]}.html` }));
        row.append(name);
        const number = (text, value) => row.append(make("td", text, { class: "number", "data-value": value ?? 0 }));
        const both = (at, unit) => { const [one, other] = [base[at], head[at]]; number(one === null || other === null ? "–" : `${unit(one)} → ${unit(other)}`, one && other ? other / one : 0); };
        number(digits(base[3]), base[3]);
        number(digits(head[3]), head[3]);
        number(ratio === null ? "–" : `${ratio >= 1 ? "+" : ""}${((ratio - 1) * 100).toFixed(1)} %`, ratio);
        number(!fence ? "–" : fence > 1 ? "too noisy" : `±${(fence * 100).toFixed(1)} %`, fence);
        row.append(make("td", `${symbols[verdict]} ${verdict}`, { class: `mark ${{ better: "pass", worse: "fail" }[verdict] || "none"}` }));
        both(4, units.us);
        both(5, units.us);
        both(6, units.plain);
        [...row.cells].forEach((cell, at) => { cell.dataset.label = $("#compared").tHead.rows[0].cells[at].textContent; });
      });
      $("#compare-verdict").textContent = !isSameWork ? `${body.rows.length} workloads in both, of other work: no verdict.` : `${body.rows.length} workloads in both: ${counts.better} better, ${counts.worse} worse, ${counts.unchanged} unchanged, ${counts.inconclusive} inconclusive${counts["other settings"] ? `, ${counts["other settings"]} with other settings and not judged` : ""}.`;
      const notes = [];
      if (one.machine !== other.machine) notes.push(`The machines differ: ${one.machine || "unknown"} and ${other.machine || "unknown"}.`);
      if (!isSameWork) notes.push("One is schedlab, the other kube-scheduler with its API server: the numbers cover different work.");
      $("#compare-note").textContent = notes.join(" ");
    };
    const show = () => {
      const [a, b] = [pickA.value, pickB.value];
      const hash = `#a=${a}&b=${b}`;
      if (location.hash !== hash) history.replaceState(null, "", hash);
      schedlab.load(`r/${a}`, (rowsA) => schedlab.load(`r/${b}`, (rowsB) => { if (pickA.value === a && pickB.value === b) fill(rowsA, rowsB); }));
    };
    const fromAddress = () => {
      const wanted = new URLSearchParams(location.hash.slice(1));
      const [a, b] = [wanted.get("a"), wanted.get("b")];
      // The last two of schedlab's own; of whatever there is, when there are none.
      const ours = runs.filter((run) => run.source === "schedlab");
      const [previous, latest] = (ours.length ? ours : runs).slice(-2);
      pickB.value = byId.has(b) ? b : (latest || previous || { id: "" }).id;
      pickA.value = byId.has(a) ? a : (previous || { id: "" }).id;
      if (runs.length) show();
    };
    pickA.addEventListener("change", show);
    pickB.addEventListener("change", show);
    $("#swap").addEventListener("click", () => { [pickA.value, pickB.value] = [pickB.value, pickA.value]; show(); });
    addEventListener("hashchange", fromAddress);
    fromAddress();
  });
})();
