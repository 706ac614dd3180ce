(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  const themes = ["auto", "light", "dark"];
  const themeButton = byId("theme");
  const stored = () => { try { return localStorage.getItem("schedlab-theme"); } catch { return null; } };
  const setTheme = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    themeButton.textContent = "Theme: " + theme;
    try { localStorage.setItem("schedlab-theme", theme); } catch { /* not kept */ }
  };
  let theme = themes.includes(stored()) ? stored() : "auto";
  setTheme(theme);
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    setTheme(theme);
  });

  const data = JSON.parse(byId("data").textContent);
  const number = new Intl.NumberFormat("en-US");
  const byName = new Intl.Collator("en", { numeric: true }).compare;

  // A table keeps all rows as data and one page of them in the document.
  const attach = (section, rows, { keys, cells, keep }) => {
    if (!section) return null;
    const find = (selector) => section.querySelector(selector);
    const body = find("tbody");
    const headings = [...section.querySelectorAll("thead th")];
    const filter = find(".filter");
    const labels = headings.map((cell) => cell.textContent.replace("×", " ×"));
    const view = { rows, page: 0 };
    const draw = () => {
      const pages = Math.max(1, Math.ceil(view.rows.length / data.pageRows));
      view.page = Math.max(0, Math.min(view.page, pages - 1));
      const first = view.page * data.pageRows;
      const shown = view.rows.slice(first, first + data.pageRows);
      body.replaceChildren(...shown.map((row) => {
        const line = make("tr");
        line.append(...cells(row));
        [...line.cells].forEach((cell, at) => { cell.dataset.label = labels[at]; });
        return line;
      }));
      find(".status").textContent = view.rows.length === 0 ? "No node matches"
        : `${number.format(first + 1)}–${number.format(first + shown.length)} of ${number.format(view.rows.length)}`;
      find(".previous").disabled = view.page === 0;
      find(".next").disabled = view.page === pages - 1;
    };
    const choose = () => {
      const wanted = filter.value.toLowerCase();
      view.rows = rows.filter((row) => row[0].toLowerCase().includes(wanted) && (!keep || keep(row)));
      view.page = 0;
      draw();
    };
    headings.forEach((heading, index) => {
      const button = make("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.replaceChildren(button);
      const isNumber = heading.classList.contains("number");
      button.addEventListener("click", () => {
        const order = heading.getAttribute("aria-sort");
        const descending = isNumber ? order !== "descending" : order === "ascending";
        for (const other of headings) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const sign = descending ? -1 : 1;
        const key = (row) => keys(row, index);
        rows.sort((a, b) => sign * (isNumber ? key(a) - key(b) : byName(key(a), key(b))));
        choose();
      });
    });
    const turn = (by) => { view.page += by; draw(); find(".sticky").scrollTop = 0; };
    find(".previous").addEventListener("click", () => turn(-1));
    find(".next").addEventListener("click", () => turn(1));
    filter.addEventListener("input", choose);
    find(".controls").hidden = false;
    const rest = find(".rest");
    if (rest) rest.hidden = true;
    choose();
    return { choose, draw, find };
  };

  const heading = (name, ...more) => {
    const cell = make("th");
    cell.scope = "row";
    cell.append(make("span", "code", name), ...more);
    return cell;
  };

  // Feasible nodes: [name, total, weighted, raw].
  let raw = false;
  const ranges = (data.feasible[0] || [0, 0, []])[2].map((_, at) => {
    let [low, high] = [Infinity, -Infinity];
    for (const row of data.feasible) { low = Math.min(low, row[2][at]); high = Math.max(high, row[2][at]); }
    return [low, high];
  });
  const chip = (row) => {
    if (!data.chosen || row[1] !== data.chosen[1]) return [];
    const isChosen = row[0] === data.chosen[0];
    return [" ", make("span", isChosen ? "chip good" : "chip", isChosen ? data.chosen[2] : "tied")];
  };
  const feasible = attach(byId("feasible"), data.feasible, {
    keys: (row, index) => (index < 2 ? row[index] : row[raw ? 3 : 2][index - 2]),
    cells: (row) => [
      heading(row[0], ...chip(row)),
      make("td", "number", row[1]),
      ...row[raw ? 3 : 2].map((score, at) => {
        const cell = make("td", "number heat", score);
        const [low, high] = ranges[at];
        cell.style.setProperty("--heat", high === low ? 0 : Math.floor(((row[2][at] - low) * 100) / (high - low)));
        cell.title = `raw ${row[3][at]}, weighted ${row[2][at]}`;
        return cell;
      }),
    ],
  });
  if (feasible) {
    const button = feasible.find(".raw");
    button.addEventListener("click", () => {
      raw = !raw;
      button.setAttribute("aria-pressed", raw);
      feasible.draw();
    });
  }

  // Rejected nodes: [name, eviction helps, [[plugin, reasons], ...]], texts by number.
  const said = (row, at) => (row[2][at] || []).map((id) => data.texts[id]);
  const also = (row) => row[2].slice(1).map((_, at) => said(row, at + 1).join(": ")).join("; ");
  const plugin = document.querySelector("#rejected .plugin");
  const rejected = attach(byId("rejected"), data.rejected, {
    keys: (row, index) => [row[0], said(row, 0)[0] || "", said(row, 0)[1] || "", row[1], also(row)][index],
    cells: (row) => [
      heading(row[0]),
      make("td", "", said(row, 0)[0]),
      make("td", "reason row", said(row, 0)[1]),
      make("td", "", row[1]),
      make("td", "reason row", also(row)),
    ],
    keep: (row) => !plugin.value || said(row, 0)[0] === plugin.value,
  });
  if (rejected) plugin.addEventListener("change", rejected.choose);
})();
