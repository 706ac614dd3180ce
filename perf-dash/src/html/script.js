(() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // Theme: auto, light, dark. Storage may be closed to pages from disk; then it is not kept.
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

  // A link to a workload opens its section.
  const openTarget = () => {
    const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
    if (target && target.matches("details")) { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  const sections = all("details.workload");
  const unfold = byId("unfold");
  if (unfold && sections.length > 1) {
    unfold.hidden = false;
    const word = () => { unfold.textContent = sections.every((s) => s.open) ? "Close all" : "Open all"; };
    unfold.addEventListener("click", () => {
      const open = !sections.every((s) => s.open);
      for (const section of sections) section.open = open;
    });
    for (const section of sections) section.addEventListener("toggle", word);
    word();
  }

  // Paper shows the sections whole; afterwards they are as they were.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = sections.filter((section) => !section.open);
    for (const section of opened) section.open = true;
  });
  addEventListener("afterprint", () => { for (const section of opened) section.open = false; });

  // Summary: sort by a column, filter by name.
  const body = document.querySelector(".summary tbody");
  const rows = all("tr", body);
  const columns = all(".summary .columns th");
  columns.forEach((column, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = column.textContent;
    column.replaceChildren(button);
    const key = (row) => row.cells[index].dataset.key ?? row.cells[index].textContent;
    const isNumber = column.dataset.sort === "number";
    const compare = (a, b) => isNumber
      ? (parseFloat(key(a)) || 0) - (parseFloat(key(b)) || 0)
      : key(a).localeCompare(key(b));
    button.addEventListener("click", () => {
      const order = column.getAttribute("aria-sort");
      const descending = isNumber ? order !== "descending" : order === "ascending";
      for (const other of columns) other.removeAttribute("aria-sort");
      column.setAttribute("aria-sort", descending ? "descending" : "ascending");
      body.append(...[...rows].sort((a, b) => (descending ? -compare(a, b) : compare(a, b))));
    });
  });
  const filter = byId("filter");
  if (rows.length > 8) {
    filter.parentElement.hidden = false;
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of rows) row.hidden = !row.dataset.name.toLowerCase().includes(wanted);
    });
  }
})();
