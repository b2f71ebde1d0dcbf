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
  const state = { printing: false, paper: "", theme: () => (state.printing ? "light" : chosen || (system.matches ? "dark" : "light")) };
  const sides = sidesOf(state, () => { figures.repaint(); figures.show(document.querySelector(".page.current")); openNumbers(); hint(); });
  const figures = figuresOf(state);
  const openNumbers = () => every(".page.current details.data[open]").forEach(figures.fillNumbers);

  function setTheme(next, keep) {
    chosen = next;
    if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme;
    const button = document.querySelector(".theme");
    button.querySelector("span").textContent = names[chosen];
    if (keep) try { localStorage.setItem("steelyard-theme", chosen); } catch { /* as above */ }
    figures.repaint();
  }

  // --- pages: all but the first are text until they are opened, since a browser is slow with all their rows at once
  const pages = every(".page");
  const textOf = (page) => page.querySelector(":scope > noscript")?.textContent;
  function build(page) {
    const text = textOf(page);
    if (text !== undefined) { page.innerHTML = text; sides.mark(); }
    return sides.open(page);
  }
  const pageOf = (name) => document.getElementById(name)?.closest(".page")
    || (name && pages.find((page) => textOf(page)?.includes(`id="${name}"`))) || pages[0];
  // The data of a figure, whose page may not be built yet.
  state.sourceOf = (name) => {
    const built = document.getElementById(name) || new DOMParser().parseFromString(textOf(pageOf(name)), "text/html").getElementById(name);
    return built.querySelector(".figure-data");
  };

  function show() {
    const wanted = decodeURIComponent(location.hash.slice(1).split("&")[0]);
    const page = pageOf(wanted);
    sides.read();
    sides.keep();
    build(page).then(hint);
    const target = wanted ? document.getElementById(wanted) : null;
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
  const powers = { n: -9, "µ": -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
  function sortKey(text) {
    const found = text.replace(/[\u202f▲◐]/g, "").match(/^\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*(.*)$/);
    if (!found) return text;
    const binary = found[2].match(/^([KMGT])iB/);
    if (binary) return Number(found[1]) * 1024 ** (1 + "KMGT".indexOf(binary[1]));
    const unit = found[2].match(/^([nµmkMGTPE])(?=[sBfHWJT])/);
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

  // --- paper: a summary, the page that is shown, or everything; drawn in light colours at the sheet's width, folds open
  const papers = { "": "the summary", page: "this page", all: "everything" };
  async function setPaper(next) {
    state.paper = next;
    if (next) root.dataset.paper = next; else delete root.dataset.paper;
    const label = document.querySelector(".paper-choice span");
    if (label) label.textContent = next === "all" ? "everything (being drawn …)" : papers[next];
    if (next === "all") pages.forEach(build);
    await figures.paper(pages, document.querySelector(".page.current"));
    if (label) label.textContent = papers[state.paper];
    root.dataset.ready = state.paper || "summary";
  }
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

  for (const button of every(".choice, .menu")) button.hidden = false;
  document.querySelector(".theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(chosen) + 1) % 3], true));
  document.querySelector(".menu").addEventListener("click", (event) =>
    menu(event.currentTarget.getAttribute("aria-expanded") !== "true"));
  document.querySelector(".paper-choice")?.addEventListener("click", () => {
    const order = Object.keys(papers);
    setPaper(order[(order.indexOf(state.paper) + 1) % order.length]);
  });
  document.addEventListener("click", (event) => {
    const heading = event.target.closest("[data-sortable] thead th");
    if (heading) sortBy(heading);
  });
  document.addEventListener("change", (event) => event.target.closest(".published, .conditions") && figures.compare(event.target));
  document.addEventListener("toggle", ({ target }) => {
    hint();
    if (target.open && target.matches(".figure details.data")) figures.fillNumbers(target);
  }, true);
  system.addEventListener("change", () => figures.repaint());
  window.addEventListener("hashchange", show);
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);
  let resized = 0;
  window.addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => { if (!state.printing) figures.repaint(); hint(); }, 150); });
  setTheme(chosen);
  show();
  const paper = (location.hash.match(/print=(page|all)/) || [])[1];
  if (paper) setPaper(paper);
})();
