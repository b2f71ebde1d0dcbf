// The report's behaviour: pages by anchor, the theme, tables that sort, and the paper.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const every = (selector, inside = document) => Array.from(inside.querySelectorAll(selector));

  // --- theme: a choice kept in this browser, or `theme=dark` in the address, or as the system
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const themes = ["", "light", "dark"];
  const names = { "": "as the system", light: "light", dark: "dark" };
  let chosen = "";
  try { chosen = localStorage.getItem("steelyard-theme") || ""; } catch { /* a file may be without storage */ }
  chosen = (location.hash.match(/theme=(light|dark)/) || [])[1] || chosen;
  if (!themes.includes(chosen)) chosen = "";
  const state = { printing: false, theme: () => (state.printing ? "light" : chosen || (system.matches ? "dark" : "light")) };
  const figures = figuresOf(state);

  function setTheme(next, keep) {
    chosen = next;
    if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme;
    const button = document.querySelector(".theme");
    button.querySelector("span").textContent = names[chosen];
    if (keep) try { localStorage.setItem("steelyard-theme", chosen); } catch { /* as above */ }
    figures.repaint();
  }

  // --- pages
  const pages = every(".page");

  function show() {
    const wanted = decodeURIComponent(location.hash.slice(1).split("&")[0]);
    const target = wanted ? document.getElementById(wanted) : null;
    const page = (target && target.closest(".page")) || pages[0];
    for (const other of pages) other.classList.toggle("current", other === page);
    for (const link of every("nav a")) {
      if (link.hash === "#" + page.id) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    menu(false);
    for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (target && target !== page) target.scrollIntoView(); else window.scrollTo(0, 0);
    figures.show(page);
    hint();
  }

  // A table or a figure that is wider than its page says so.
  function hint() {
    for (const box of every(".page.current :is(.scroll, .frame)")) box.classList.toggle("wider", box.scrollWidth > box.clientWidth + 1);
  }

  function menu(open) {
    document.querySelector("nav").classList.toggle("open", open);
    document.querySelector(".menu").setAttribute("aria-expanded", String(open));
  }

  // --- tables
  const powers = { n: -9, "µ": -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12 };
  function sortKey(text) {
    const found = text.replace(/[\u202f▲◐]/g, "").match(/^\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*(.*)$/);
    if (!found) return text;
    const binary = found[2].match(/^([KMGT])iB/);
    if (binary) return Number(found[1]) * 1024 ** (1 + "KMGT".indexOf(binary[1]));
    const unit = found[2].match(/^([nµmkMGT])(?=[sBfHWJT])/);
    return Number(found[1]) * 10 ** powers[unit ? unit[1] : ""];
  }

  function sortBy(heading) {
    const table = heading.closest("table"), body = table.tBodies[0];
    const column = Array.from(heading.parentNode.children).indexOf(heading);
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = Array.from(body.rows, (row) => [sortKey(row.cells[column].textContent), row]);
    keyed.sort(([a], [b]) => {
      if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
      return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
    });
    body.append(...keyed.map(([, row]) => row));
  }

  // --- paper: everything is drawn, in light colours and at the page's width, and every fold is open
  let folded = [];
  function beforePrint() {
    if (state.printing) return;
    state.printing = true;
    folded = every("details:not([open])").filter((details) => !details.matches(".data, .evidence, .published:not(:has(:checked))"));
    for (const details of folded) details.open = true;
    figures.repaint();
  }
  function afterPrint() {
    if (!state.printing) return;
    state.printing = false;
    for (const details of folded) details.open = false;
    figures.repaint();
  }

  document.querySelector(".theme").hidden = false;
  document.querySelector(".menu").hidden = false;
  document.querySelector(".theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(chosen) + 1) % 3], true));
  document.querySelector(".menu").addEventListener("click", (event) =>
    menu(event.currentTarget.getAttribute("aria-expanded") !== "true"));
  document.addEventListener("click", (event) => {
    const heading = event.target.closest("[data-sortable] thead th");
    if (heading) sortBy(heading);
  });
  document.addEventListener("change", (event) => event.target.closest(".published") && figures.compare(event.target));
  document.addEventListener("toggle", hint, true);
  system.addEventListener("change", () => figures.repaint());
  window.addEventListener("hashchange", show);
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);
  let resized = 0;
  window.addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => { if (!state.printing) figures.repaint(); hint(); }, 150); });
  setTheme(chosen);
  show();
})();
