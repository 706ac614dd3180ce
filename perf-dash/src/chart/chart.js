// Line charts of the report and the site, drawn as SVG: axes with units, bands, whiskers, marks,
// hover, keyboard, zoom, legend, and the same numbers as a table.
//
// spec: { x: [number], xFrom, xName, xText(value, isShort) or xTexts: [text] or xUnit, logX,
//         series: [{ name, values, low, high, unit, colour, shown, band, dash, step }],
//         log, yName, zero, range: { low, high, name }, marks: [{ at, verdict, words }], pick(at), height }
"use strict";
const schedlabChart = (() => {
  // Asked for, not written: the page must hold no address.
  const SPACE = Object.assign(document.createElement("template"), { innerHTML: "<svg></svg>" }).content.firstChild.namespaceURI;
  const $ = (selector, from = document) => from.querySelector(selector);
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const shape = (tag, attributes, text) => {
    const element = document.createElementNS(SPACE, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, typeof value === "number" ? +value.toFixed(1) : value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const isValue = (value) => value !== null && value !== undefined;

  const digits = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 100) return Math.round(value).toLocaleString("en");
    return size >= 10 ? value.toFixed(1) : value.toPrecision(3);
  };
  const units = {
    plain: digits,
    rate: (value) => `${digits(value)} pods/s`,
    us: (value) => (value < 1 ? `${digits(value * 1e3)} ns` : value < 1e3 ? `${digits(value)} µs` : value < 1e6 ? `${digits(value / 1e3)} ms` : `${digits(value / 1e6)} s`),
    ms: (value) => units.us(value * 1e3),
    ns: (value) => units.us(value / 1e3),
    percent: (value) => `${value > 0 ? "+" : ""}${value.toFixed(3)} %`,
    bytes: (value) => (value < 1024 ? `${digits(value)} B` : `${digits(value / 1024)} KiB`),
    times: (value) => `${value.toPrecision(3)}×`,
  };
  const names = { plain: "", rate: "pods/s", us: "time", ms: "time", ns: "time", percent: "%", bytes: "bytes", times: "times the base" };
  const short = (value) => {
    const size = Math.abs(value);
    const scaled = (by, mark) => `${+(value / by).toPrecision(3)}${mark}`;
    return size >= 1e6 ? scaled(1e6, "M") : size >= 1e3 ? scaled(1e3, "k") : scaled(1, "");
  };
  // Times and sizes carry their unit at every tick; rates and counts have it in the axis' name.
  const tickText = (unit) => (["us", "ms", "ns", "bytes", "times"].includes(unit) ? (value) => (value === 0 ? "0" : units[unit](value).replace(/\.0+(?= |$|×)/, "").replace(/(\.\d*?)0+(?= |$|×)/, "$1")) : short);

  // ---- scales
  const linearTicks = (low, high, count) => {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999) || power;
    const ticks = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) ticks.push(+(at * step).toPrecision(12));
    return ticks;
  };
  const logTicks = (low, high) => {
    const ticks = [];
    const isWide = high / low > 200;
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
      for (const factor of isWide ? [1] : high / low > 12 ? [1, 3] : [1, 2, 5]) {
        const tick = factor * 10 ** power;
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    return ticks;
  };
  const scale = (low, high, from, to, isLog) => {
    const [a, b] = isLog ? [Math.log(low), Math.log(high)] : [low, high];
    const place = (value) => from + (((isLog ? Math.log(value) : value) - a) / (b - a || 1)) * (to - from);
    place.low = low;
    place.high = high;
    return place;
  };
  const yRange = (values, isLog, startsAtZero) => {
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (isLog) return [low / 1.25, high * 1.25];
    if (startsAtZero || (low >= 0 && low < high * 0.35)) low = Math.min(low, 0);
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    return [low === 0 ? 0 : low - room, high + room];
  };

  // A shape a series, so that colour is never alone.
  const points = [
    (x, y) => `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z`,
    (x, y) => `M${x - 2.7} ${y - 2.7}h5.4v5.4h-5.4Z`,
    (x, y) => `M${x} ${y - 3.5}L${x + 3.4} ${y + 2.6}H${x - 3.4}Z`,
    (x, y) => `M${x} ${y - 3.8}L${x + 3.4} ${y}L${x} ${y + 3.8}L${x - 3.4} ${y}Z`,
    (x, y) => `M${x} ${y + 3.5}L${x + 3.4} ${y - 2.6}H${x - 3.4}Z`,
    (x, y) => `M${x - 3} ${y - 1}h2v-2h2v2h2v2h-2v2h-2v-2h-2Z`,
  ];
  const DOTS_MAX = 120;

  // ---- one chart
  const draw = (figure, spec) => {
    figure.hidden = false;
    const series = spec.series.filter((one) => one.values.some(isValue));
    if (series.length === 0 || spec.x.length === 0) {
      figure.hidden = true;
      return null;
    }
    const holder = $("[data-canvas]", figure);
    const readout = $("[data-readout]", figure);
    const legend = $("[data-legend]", figure);
    const title = $("h3, h4", figure) ? $("h3, h4", figure).textContent : "";
    const xText = spec.xText || (spec.xUnit ? tickText(spec.xUnit) : (value) => (spec.xTexts ? spec.xTexts[spec.x.indexOf(value)] || "" : short(value)));
    const chart = { figure, at: null, isLog: !!spec.log, view: null, stop: () => observer.disconnect() };
    const shown = () => series.filter((one) => one.shown !== false);
    const drawn = () => (shown().length ? shown() : series);
    const firstX = spec.xFrom ?? spec.x[0];
    const lastX = spec.x[spec.x.length - 1];
    const visible = (at) => !chart.view || (spec.x[at] >= chart.view[0] && spec.x[at] <= chart.view[1]);

    const layout = () => {
      const width = Math.max(holder.clientWidth || 640, 200);
      const height = spec.height || 260;
      const box = { left: 58, right: width - 10, top: 24, bottom: height - 38 };
      const [low, high] = chart.view || (firstX === lastX ? [spec.logX ? firstX / 2 : firstX - 1, spec.logX ? firstX * 2 : firstX + 1] : [firstX, lastX]);
      // Six pixels keep the outermost points inside.
      const x = scale(low, high, box.left + 6, box.right - 6, spec.logX);
      const values = drawn().flatMap((one) => [one.values, one.low || [], one.high || []].flatMap((list) => list.filter((value, at) => isValue(value) && visible(at) && (!chart.isLog || value > 0))));
      if (spec.range) values.push(spec.range.low, spec.range.high);
      const isLog = chart.isLog && values.some((value) => value > 0);
      const [from, to] = yRange(values.length ? values : [0, 1], isLog, spec.zero);
      return { width, height, box, x, y: scale(from, to, box.bottom - 4, box.top + 4, isLog), isLog };
    };

    const axes = (svg, { height, box, x, y, isLog }) => {
      const unit = drawn().every((one) => one.unit === drawn()[0].unit) ? drawn()[0].unit : "plain";
      const ticks = isLog ? logTicks(y.low, y.high) : linearTicks(y.low, y.high, Math.max(2, Math.floor((box.bottom - box.top) / 36)));
      for (const tick of ticks) {
        svg.append(shape("line", { class: "grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }));
        svg.append(shape("text", { class: "label", x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, tickText(unit)(tick)));
      }
      const name = spec.yName || names[unit];
      svg.append(shape("text", { class: "label axis-name", x: 0, y: 12 }, `${name}${isLog ? `${name ? ", " : ""}logarithmic` : ""}`));
      const room = 84;
      const count = Math.max(1, Math.floor((box.right - box.left) / room));
      // A time has round ticks; of runs and sizes those are labelled that were measured.
      const inView = spec.xUnit ? linearTicks(x.low, x.high, count) : spec.x.filter((value) => value >= x.low && value <= x.high);
      const every = Math.max(1, Math.ceil(inView.length / count));
      let last = -Infinity;
      inView.forEach((value, at) => {
        const place = x(value);
        if ((at % every !== 0 && !(spec.logX && at === inView.length - 1)) || place - last < room * 0.75) return;
        last = place;
        const anchor = place < box.left + 30 ? "start" : place > box.right - 30 ? "end" : "middle";
        svg.append(shape("line", { class: "grid", x1: place, x2: place, y1: box.bottom, y2: box.bottom + 4 }));
        svg.append(shape("text", { class: "label", x: anchor === "start" ? box.left : anchor === "end" ? box.right : place, y: box.bottom + 16, "text-anchor": anchor }, xText(value, true)));
      });
      svg.append(shape("text", { class: "label axis-name", x: box.right, y: height - 4, "text-anchor": "end" }, `${spec.xName || "run"}${spec.logX ? ", logarithmic" : ""}`));
      svg.append(shape("rect", { class: "frame", "data-plot": "", x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }));
    };

    const place = ({ x, y, isLog }, one, list = one.values) => list
      .map((value, at) => (isValue(value) && visible(at) && (!isLog || value > 0) ? [x(spec.x[at]), y(value), at] : null))
      .filter(Boolean);
    const path = (places) => places.map(([px, py], at) => `${at ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const steps = (places, left) => places.map(([px, py], at) => `${at ? "L" : "M"}${(at ? places[at - 1][0] : left).toFixed(1)} ${py.toFixed(1)}H${px.toFixed(1)}`).join("");

    const marks = (svg, at) => {
      const plot = shape("g", { class: "marks" });
      const { box, x, y } = at;
      if (spec.range) plot.append(shape("rect", { class: "band", x: box.left, width: box.right - box.left, y: y(spec.range.high), height: Math.max(1, y(spec.range.low) - y(spec.range.high)) }));
      const bandOf = (name) => shown().find((one) => one.band === name);
      const [low, high] = [bandOf("low"), bandOf("high")];
      if (low && high) plot.append(shape("path", { class: "noise", d: `${path(place(at, high))}${path(place(at, low).reverse()).replace("M", "L")}Z` }));
      for (const mark of spec.marks || []) {
        if (!visible(mark.at)) continue;
        const before = mark.at > 0 && visible(mark.at - 1) ? (x(spec.x[mark.at]) + x(spec.x[mark.at - 1])) / 2 : x(spec.x[mark.at]) - 4;
        const [tip, base] = mark.verdict === "worse" ? [8, 1] : [1, 8];
        const group = shape("g", { class: `change ${mark.verdict === "worse" ? "bad" : "good"}` });
        group.append(shape("title", {}, `change point: ${mark.words}`));
        group.append(shape("line", { x1: before, x2: before, y1: box.top, y2: box.bottom }));
        group.append(shape("path", { d: `M${before - 5} ${box.top + base}H${before + 5}L${before} ${box.top + tip}Z` }));
        plot.append(group);
      }
      series.forEach((one, number) => {
        if (one.band || one.shown === false) return;
        const places = place(at, one);
        if (!places.length) return;
        const style = `--series:var(${one.colour})`;
        const line = one.step ? steps(places, box.left) : path(places);
        if (one.step) plot.append(shape("path", { class: "area", style, d: `${line}V${box.bottom}H${box.left}Z` }));
        if (one.low && places.length > DOTS_MAX) plot.append(shape("path", { class: "noise", style, d: `${path(place(at, one, one.high))}${path(place(at, one, one.low).reverse()).replace("M", "L")}Z` }));
        plot.append(shape("path", { class: one.dash ? "line dash" : "line", style, d: line }));
        if (one.dash || one.step || places.length > DOTS_MAX) return;
        if (one.low) for (const [px, , i] of places) {
          if (!isValue(one.low[i]) || !isValue(one.high[i]) || one.low[i] === one.high[i]) continue;
          const [top, bottom] = [y(one.high[i]), y(one.low[i])];
          plot.append(shape("path", { class: "whisker", style, d: `M${px - 3} ${top}H${px + 3}M${px} ${top}V${bottom}M${px - 3} ${bottom}H${px + 3}` }));
        }
        plot.append(shape("path", { class: "points", style, d: places.map(([px, py]) => points[number % points.length](+px.toFixed(1), +py.toFixed(1))).join("") }));
      });
      svg.append(plot);
    };

    let now = null;
    let cursor = null;
    const build = () => {
      now = layout();
      const svg = shape("svg", { class: "lines", viewBox: `0 0 ${now.width} ${now.height}`, width: "100%", height: now.height, role: "img", "aria-label": title });
      axes(svg, now);
      marks(svg, now);
      cursor = shape("line", { class: "cursor", y1: now.box.top, y2: now.box.bottom, visibility: "hidden" });
      svg.append(cursor);
      holder.replaceChildren(svg);
      if (chart.at !== null && visible(chart.at)) point(chart.at);
    };
    const point = (at) => {
      for (const end of ["x1", "x2"]) cursor.setAttribute(end, now.x(spec.x[at]).toFixed(1));
      cursor.setAttribute("visibility", "visible");
    };
    const tell = (at) => {
      chart.at = at;
      point(at);
      readout.replaceChildren(make("strong", xText(spec.x[at])));
      for (const one of shown()) {
        const value = one.values[at];
        if (one.band || !isValue(value)) continue;
        const interval = one.low && isValue(one.low[at]) && one.low[at] !== one.high[at] ? ` (${units[one.unit](one.low[at])} to ${units[one.unit](one.high[at])})` : "";
        readout.append(`  ${one.name} ${units[one.unit](value)}${interval}`);
      }
      (spec.marks || []).filter((mark) => mark.at === at).forEach((mark) => readout.append(`  change point: ${mark.words}`));
    };

    const nearest = (clientX) => {
      const bounds = holder.getBoundingClientRect();
      const px = ((clientX - bounds.left) / bounds.width) * now.width;
      let best = null;
      spec.x.forEach((value, at) => { if (visible(at) && (best === null || Math.abs(now.x(value) - px) < Math.abs(now.x(spec.x[best]) - px))) best = at; });
      return best;
    };
    const zoomTo = (low, high) => {
      chart.view = high > low && (low > firstX || high < lastX) ? [Math.max(low, firstX), Math.min(high, lastX)] : null;
      build();
    };
    const zoom = (factor) => {
      const [low, high] = chart.view || [firstX, lastX];
      const middle = chart.at === null ? (low + high) / 2 : spec.x[chart.at];
      zoomTo(middle - (middle - low) * factor, middle + (high - middle) * factor);
    };
    const reset = () => { chart.view = null; build(); };
    const move = (step) => {
      const inView = spec.x.map((_, at) => at).filter(visible);
      const from = chart.at === null || !visible(chart.at) ? (step < 0 ? inView[inView.length - 1] + 1 : inView[0] - 1) : chart.at;
      tell(Math.min(Math.max(from + step, inView[0]), inView[inView.length - 1]));
    };
    let down = null;
    holder.addEventListener("pointerdown", (event) => { down = event.clientX; });
    holder.addEventListener("pointermove", (event) => { const at = nearest(event.clientX); if (at !== null) tell(at); });
    holder.addEventListener("pointerup", (event) => {
      if (down === null) return;
      const [from, to] = [nearest(Math.min(down, event.clientX)), nearest(Math.max(down, event.clientX))];
      const isClick = Math.abs(event.clientX - down) < 4;
      down = null;
      if (isClick && spec.pick && chart.at !== null) spec.pick(chart.at);
      else if (!isClick && from !== to) zoomTo(spec.x[from], spec.x[to]);
    });
    holder.addEventListener("pointerleave", () => { down = null; });
    holder.addEventListener("keydown", (event) => {
      const does = { ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => { chart.at = null; move(1); }, End: () => { chart.at = null; move(-1); },
        "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: reset, Escape: reset,
        Enter: () => spec.pick && chart.at !== null && spec.pick(chart.at) }[event.key];
      if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      does();
    });

    // ---- legend and tools
    const toggle = (name, colour, parts, number) => {
      const button = make("button", undefined, { type: "button", "aria-pressed": String(parts[0].shown !== false) });
      button.style.setProperty("--series", `var(${colour})`);
      const sign = shape("svg", { class: "sign", width: 16, height: 10, "aria-hidden": "true" });
      if (parts[0].band) sign.append(shape("rect", { class: "noise", width: 16, height: 10 }));
      else sign.append(shape("path", { class: parts[0].dash ? "line dash" : "line", d: "M0 5H16" }), ...(parts[0].dash || parts[0].step ? [] : [shape("path", { class: "points", d: points[number % points.length](8, 5) })]));
      button.append(sign, name);
      button.addEventListener("click", () => {
        const isShown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(isShown));
        for (const one of parts) one.shown = isShown;
        build();
      });
      legend.append(button);
    };
    series.forEach((one, number) => { if (!one.band) toggle(one.name, one.colour, [one], number); });
    const bands = series.filter((one) => one.band);
    if (bands.length) toggle("noise band", "--s1", bands, 0);
    const tool = (name, act) => {
      const button = make("button", name, { type: "button", class: "tool" });
      button.addEventListener("click", () => act(button));
      legend.append(button);
    };
    if (!spec.fixed) {
      tool(chart.isLog ? "linear scale" : "log scale", (button) => {
        chart.isLog = !chart.isLog;
        button.textContent = chart.isLog ? "linear scale" : "log scale";
        build();
      });
      if (spec.x.length > 24) tool("show all", reset);
    }

    const fold = $("[data-table]", figure);
    const fillTable = () => {
      const holds = $("div", fold);
      if (!fold.open || holds.childElementCount) return;
      const columns = series.filter((one) => !one.band);
      const table = make("table", undefined, { class: "plain" });
      const head = table.createTHead().insertRow();
      [spec.xName || "Run", ...columns.map((one) => one.name)].forEach((name, number) => head.append(make("th", name, number ? { scope: "col", class: "number" } : { scope: "col" })));
      const body = table.createTBody();
      for (let at = spec.x.length - 1; at >= 0; at -= 1) {
        const row = body.insertRow();
        row.append(make("th", xText(spec.x[at]), { scope: "row" }));
        columns.forEach((one) => row.append(make("td", isValue(one.values[at]) ? units[one.unit](one.values[at]) : "–", { class: "number" })));
      }
      holds.append(table);
    };
    // A chart that is drawn anew may find its table open already; no event tells of that.
    if (fold) { fold.addEventListener("toggle", fillTable); fillTable(); }

    build();
    let seen = holder.clientWidth;
    const observer = new ResizeObserver(() => {
      if (holder.clientWidth && holder.clientWidth !== seen) { seen = holder.clientWidth; build(); }
    });
    observer.observe(holder);
    return chart;
  };

  // Takes a chart away, so that its figure can be drawn anew with other data.
  const clear = (chart) => {
    chart.stop();
    for (const part of ["[data-canvas]", "[data-table]"]) {
      const found = $(part, chart.figure);
      if (found) found.replaceWith(found.cloneNode(true));
    }
    $("[data-canvas]", chart.figure).replaceChildren();
    $("[data-legend]", chart.figure).replaceChildren();
    const rows = $("[data-table] > div", chart.figure);
    if (rows) rows.replaceChildren();
  };

  // Figures that carry their data.
  for (const figure of document.querySelectorAll("[data-spec]")) draw(figure, JSON.parse(figure.dataset.spec));

  return { draw, clear, units, digits };
})();
