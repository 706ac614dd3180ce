// Pages of `schedlab serve`: how far the runs beside the history are, as the server tells it.
"use strict";
(() => {
  const place = document.querySelector("#running");
  const boxes = new Map();
  let history = null;
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const count = (value) => Math.round(value).toLocaleString("en");

  const boxOf = (run) => {
    const known = boxes.get(run.process);
    if (known) return known;
    const box = { root: make("div", undefined, { class: "run" }), rates: [], seen: "" };
    box.name = make("strong");
    box.what = make("span", "", { class: "muted" });
    box.bar = make("progress", undefined, { max: "1", value: "0", "aria-label": "Pods scheduled" });
    box.rate = make("span", "", { class: "num" });
    box.line = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    box.line.setAttribute("class", "spark");
    box.line.setAttribute("viewBox", "0 0 240 24");
    box.line.setAttribute("aria-hidden", "true");
    box.path = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    box.path.setAttribute("class", "line");
    box.line.append(box.path);
    box.root.append(box.name, box.what, box.bar, box.rate, box.line);
    boxes.set(run.process, box);
    place.append(box.root);
    return box;
  };
  const show = (run) => {
    const box = boxOf(run);
    box.name.textContent = run.workload || "starting";
    box.what.textContent = `workload ${run.at} of ${run.of}, op ${run.op_at} of ${run.op_of}${run.op ? ` (${run.op})` : ""}`;
    box.bar.value = run.wanted ? run.scheduled / run.wanted : 0;
    box.rate.textContent = run.wanted ? `${count(run.scheduled)} of ${count(run.wanted)} pods, ${count(run.pods_per_s)} pods/s` : "";
    if (!run.wanted) return;
    box.rates.push(run.pods_per_s);
    if (box.rates.length > 120) box.rates.shift();
    const high = Math.max(...box.rates, 1);
    box.path.setAttribute("points", box.rates.map((rate, at) => `${at * 2},${(23 - (rate / high) * 22).toFixed(1)}`).join(" "));
  };
  const source = new EventSource(`${document.documentElement.dataset.root || ""}events`);
  source.addEventListener("message", (event) => {
    const news = JSON.parse(event.data);
    const now = new Set(news.running.map((run) => run.process));
    for (const [process, box] of boxes) {
      if (now.has(process)) continue;
      box.root.remove();
      boxes.delete(process);
    }
    news.running.forEach(show);
    if (history !== null && news.history !== history && !place.querySelector(".news")) {
      const link = make("a", "A run was recorded: show it", { href: location.href, class: "news" });
      link.addEventListener("click", (click) => { click.preventDefault(); location.reload(); });
      place.append(link);
    }
    history = news.history;
    place.hidden = news.running.length === 0 && !place.querySelector(".news");
  });
})();
