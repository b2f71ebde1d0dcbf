// The report's behaviour: pages by anchor, the theme, tables that sort, and figures drawn when they are first seen.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const every = (selector, inside = document) => Array.from(inside.querySelectorAll(selector));

  // The palette of Okabe and Ito, which the colour-blind can tell apart; on dark ground its lighter hues come first.
  const palettes = {
    light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"],
    dark: ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#ffffff"],
  };
  const inks = {
    light: { ink: "#1b2024", soft: "#59626b", grid: "#e6e6e1", axis: "#b9bcb8", mark: "#7a4a00", paper: "#fcfcfb" },
    dark: { ink: "#e4e7e9", soft: "#9ba5ae", grid: "#2a2f34", axis: "#4a525a", mark: "#f0a64b", paper: "#14171a" },
  };

  // --- theme: a choice kept in this browser, or `theme=dark` in the address, or as the system
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const themes = ["", "light", "dark"];
  const names = { "": "as the system", light: "light", dark: "dark" };
  let chosen = "";
  try { chosen = localStorage.getItem("steelyard-theme") || ""; } catch { /* a file may be without storage */ }
  chosen = (location.hash.match(/theme=(light|dark)/) || [])[1] || chosen;
  if (!themes.includes(chosen)) chosen = "";
  let printing = false;
  const theme = () => (printing ? "light" : chosen || (system.matches ? "dark" : "light"));

  function setTheme(next, keep) {
    chosen = next;
    if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme;
    const button = document.querySelector(".theme");
    button.querySelector("span").textContent = names[chosen];
    if (keep) try { localStorage.setItem("steelyard-theme", chosen); } catch { /* as above */ }
    repaint();
  }

  // --- figures
  const drawn = new Map();
  let library = null;

  function load() {
    library ??= (async () => {
      const packed = document.getElementById("plotly");
      if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot unpack the drawing library");
      const bytes = Uint8Array.from(atob(packed.textContent.trim()), (letter) => letter.charCodeAt(0));
      packed.remove();
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      // The surface reads its text canvases back again and again; said beforehand, the browser has nothing to warn of.
      const plain = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, wishes) {
        return plain.call(this, kind, kind === "2d" ? { willReadFrequently: true, ...wishes } : wishes);
      };
      const script = document.createElement("script");
      script.textContent = await new Response(stream).text();
      document.head.append(script);
      return window.Plotly;
    })();
    return library;
  }

  const paperWidth = 670; // an A4 page between its margins, in CSS pixels
  const faint = (colour) => colour + "2e"; // an alpha of 0.18

  function painted(plot, width, name = theme()) {
    const colours = palettes[name], ink = inks[name];
    const { data, layout, widest } = structuredClone(plot);
    if (widest) width = Math.min(width, widest);
    for (const trace of data) {
      if (!trace.meta) continue;
      const colour = colours[trace.meta.colour % colours.length];
      if (trace.meta.points) { trace.marker.color = ink.ink; continue; }
      if (trace.meta.band) { trace.line.color = colour; trace.fillcolor = faint(colour); continue; }
      if (trace.line) trace.line.color = colour;
      trace.marker = { ...trace.marker, color: colour };
      if (trace.type === "bar") trace.marker.pattern = { ...trace.marker.pattern, fgcolor: ink.paper };
      else trace.marker.line = { ...trace.marker.line, color: colour };
      if (trace.error_y) trace.error_y.color = colour;
    }
    const axis = { gridcolor: ink.grid, linecolor: ink.axis, zerolinecolor: ink.axis, tickcolor: ink.axis };
    for (const name of ["xaxis", "yaxis"])
      if (layout[name]) Object.assign(layout[name], axis, { ticks: "outside", ticklen: 4, title: { ...layout[name].title, standoff: 12 } });
    if (layout.scene)
      for (const name of ["xaxis", "yaxis", "zaxis"])
        Object.assign(layout.scene[name], axis, { backgroundcolor: "rgba(0,0,0,0)", showspikes: false, color: ink.soft });
    const away = width < 480 ? 1.4 : width < 760 ? 1.2 : 1; // so that a narrow frame cuts no label off
    if (layout.scene) for (const way of ["x", "y", "z"]) layout.scene.camera.eye[way] *= away;
    for (const note of layout.scene?.annotations || []) Object.assign(note, { font: { size: 17, color: ink.ink }, arrowcolor: ink.soft });
    for (const shape of layout.shapes || []) shape.line.color = shape.name === "outline" ? "#d55e00" : ink.mark;
    for (const note of layout.annotations || []) {
      note.font = { ...note.font, color: note.showarrow ? ink.ink : ink.mark };
      note.arrowcolor = ink.soft;
      note.bgcolor = ink.paper + "c0";
    }
    Object.assign(layout, {
      width, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      font: { family: getComputedStyle(document.body).fontFamily, size: width < 480 ? 12 : 13, color: ink.ink },
      margin: layout.scene ? { l: 0, r: 0, t: 30, b: 0 } : { l: 64, r: 14, t: 30, b: 56 },
      legend: { orientation: "h", x: 0, xanchor: "left", yref: "container", y: 0, yanchor: "bottom", itemwidth: 40 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink.axis, activecolor: ink.soft }, bargap: 0.5, bargroupgap: 0.08,
      hoverlabel: { bgcolor: ink.paper, bordercolor: ink.axis, font: { color: ink.ink }, align: "left", namelength: -1 },
      uirevision: "same",
    });
    if (width < 480)
      for (const trace of data) if (trace.colorbar) trace.colorbar = { ...trace.colorbar, thickness: 8, title: { text: "" } };
    return { data, layout };
  }

  const buttons = { flat: ["toImage", "zoom2d", "pan2d", "resetScale2d"], deep: ["toImage", "orbitRotation", "pan3d", "resetCameraDefault3d"] };
  const config = (layout) => ({ displaylogo: false, displayModeBar: "hover", responsive: false, toImageButtonOptions: { format: "svg" },
    modeBarButtons: [layout.scene ? buttons.deep : buttons.flat] });
  const webgl = (() => { try { return !!document.createElement("canvas").getContext("webgl"); } catch { return false; } })();

  function widthOf(element) {
    if (printing) return paperWidth;
    const own = element.clientWidth;
    return own || Math.max(280, document.querySelector("main").clientWidth - 140);
  }

  async function draw(figure) {
    const element = figure.querySelector(".plot"), source = figure.querySelector(".figure-data");
    if (!element || drawn.has(element)) return;
    drawn.set(element, null);
    const waiting = element.querySelector(".waiting");
    try {
      if ("webgl" in element.dataset && !webgl) throw new Error("this browser has no WebGL, which a surface needs");
      const Plotly = await load();
      const plot = JSON.parse(source.textContent);
      drawn.set(element, plot);
      const { data, layout } = painted(plot, widthOf(element));
      waiting?.remove();
      await Plotly.newPlot(element, data, layout, config(layout));
      if (layout.scene) await onPaper(Plotly, element, plot);
    } catch (error) {
      drawn.delete(element);
      element.style.height = "auto";
      element.textContent = `The figure is not drawn: ${error.message}. Its numbers are in the table below.`;
    }
  }

  // A drawing by WebGL does not reach the paper: a picture of it, made beforehand, stands in for it there.
  async function onPaper(Plotly, element, plot) {
    const { data, layout } = painted(plot, paperWidth, "light");
    const size = { width: paperWidth, height: layout.height };
    const picture = new Image();
    picture.alt = element.getAttribute("aria-label");
    picture.className = "paper";
    picture.src = await Plotly.toImage({ data, layout }, { format: "png", scale: 2, ...size });
    element.after(picture);
  }

  function repaint() {
    if (!window.Plotly) return;
    for (const [element, plot] of drawn) {
      if (!plot) continue;
      const { data, layout } = painted(plot, widthOf(element));
      window.Plotly.react(element, data, layout, config(layout));
    }
  }

  // --- pages
  const pages = every(".page");

  function show() {
    const wanted = decodeURIComponent(location.hash.slice(1).split("&")[0]);
    const target = wanted && document.getElementById(wanted);
    const page = (target && target.closest(".page")) || pages[0];
    for (const other of pages) other.classList.toggle("current", other === page);
    for (const link of every("nav a")) {
      if (link.hash === "#" + page.id) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    menu(false);
    if (target && target !== page) target.scrollIntoView(); else window.scrollTo(0, 0);
    for (const figure of every(".figure", page)) draw(figure);
  }

  function menu(open) {
    document.querySelector("nav").classList.toggle("open", open);
    document.querySelector(".menu").setAttribute("aria-expanded", String(open));
  }

  // --- tables
  const powers = { n: -9, "µ": -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12 };
  function sortKey(text) {
    const found = text.replace(/\u202f/g, "").match(/^\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*(.*)$/);
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
    if (printing) return;
    printing = true;
    folded = every("details:not([open])").filter((details) => !details.classList.contains("data"));
    for (const details of folded) details.open = true;
    for (const figure of every(".figure")) draw(figure);
    repaint();
  }
  function afterPrint() {
    if (!printing) return;
    printing = false;
    for (const details of folded) details.open = false;
    repaint();
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
  system.addEventListener("change", repaint);
  window.addEventListener("hashchange", show);
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);
  let resized = 0;
  window.addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => printing || repaint(), 150); });
  setTheme(chosen);
  show();
  // Figures of the other pages are drawn while nothing else happens, so that a print finds them all.
  const idle = window.requestIdleCallback || ((call) => setTimeout(call, 50));
  const rest = every(".figure");
  const next = () => { const figure = rest.shift(); if (figure) draw(figure).then(() => idle(next)); };
  idle(next);
})();
