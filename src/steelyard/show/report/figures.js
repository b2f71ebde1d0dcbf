// The figures: painted in the theme's colours and drawn one after the other. `state` says how the page stands.
"use strict";
const figuresOf = (state) => {
  const every = (selector, inside = document) => Array.from(inside.querySelectorAll(selector));

  // The palette of Okabe and Ito, which the colour-blind can tell apart; on dark ground its lighter hues come first.
  const palettes = {
    light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"],
    dark: ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#ffffff"],
  };
  const inks = {
    light: { ink: "#1b2024", soft: "#59626b", grid: "#e6e6e1", axis: "#b9bcb8", mark: "#7a4a00", paper: "#fcfcfb", mesh: "#3c4248" },
    dark: { ink: "#e4e7e9", soft: "#9ba5ae", grid: "#2a2f34", axis: "#4a525a", mark: "#f0a64b", paper: "#14171a", mesh: "#97a3ad" },
  };

  const drawn = new Map();
  let library = null;

  function load() {
    library ??= (async () => {
      const packed = document.getElementById("plotly");
      const code = unpacked(packed.textContent);
      packed.remove();
      // The surface reads its text canvases back again and again; said beforehand, the browser has nothing to warn of.
      const plain = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, wishes) {
        return plain.call(this, kind, kind === "2d" ? { willReadFrequently: true, ...wishes } : wishes);
      };
      const script = document.createElement("script");
      script.textContent = await code;
      document.head.append(script);
      return window.Plotly;
    })();
    return library;
  }

  const paperWidth = 670; // an A4 page between its margins, in CSS pixels
  const faint = (colour) => colour + "2e"; // an alpha of 0.18

  function colour(data, name, chosen, withAll) {
    const colours = palettes[name], ink = inks[name];
    for (const trace of data) {
      if (!trace.meta) continue;
      const own = colours[trace.meta.colour % colours.length];
      if ("published" in trace.meta) trace.visible = chosen.has(trace.meta.published);
      if ("side" in trace.meta) trace.visible = state.shown(trace.meta.side);
      if (trace.meta.only) trace.visible = trace.meta.only === (withAll ? "all" : "best") && (!("side" in trace.meta) || trace.visible);
      if (trace.meta.ink) { trace.line.color = ink.ink; continue; }
      if (trace.meta.points) { trace.marker.color = ink.ink; continue; }
      if (trace.meta.band) { trace.line.color = own; trace.fillcolor = faint(own); continue; }
      if (trace.line) trace.line.color = own;
      trace.marker = { ...trace.marker, color: own };
      if (trace.type === "bar") trace.marker.pattern = { ...trace.marker.pattern, bgcolor: own, fgcolor: ink.paper };
      else trace.marker.line = { ...trace.marker.line, color: own };
      // Within a bar, an interval of the same colour would not be seen.
      for (const ends of [trace.error_x, trace.error_y]) if (ends) ends.color = trace.type === "bar" ? ink.ink : own;
    }
  }

  const pen = document.createElement("canvas").getContext("2d");
  function lengthOf(text, size) {
    pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    return pen.measureText(text.replace(/<[^>]*>/g, "").replace(/&(amp|lt|gt);/g, "x")).width;
  }

  function wrapped(text, width, size) {
    const lines = [""];
    for (const word of text.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (lines.at(-1) && lengthOf(longer, size) > width) lines.push(word); else lines[lines.length - 1] = longer;
    }
    return lines.join("<br>");
  }

  // How many rows a legend takes: Plotly sets its entries in columns that are as wide as the longest.
  function legendRows(data, layout, width, size) {
    const named = data.filter((trace) => trace.visible !== false && trace.showlegend !== false && trace.name);
    layout.showlegend ||= named.some((trace) => "published" in (trace.meta || {}));
    if (!layout.showlegend || layout.scene) return 0;
    const room = Math.max(120, width - 70), longest = Math.max(...named.map((trace) => lengthOf(trace.name, size)));
    if (longest <= room) return Math.ceil(named.length / Math.max(1, Math.floor((width - 80) / (longest + 60))));
    for (const trace of named) trace.name = wrapped(trace.name, room, size);
    return named.reduce((rows, trace) => rows + trace.name.split("<br>").length, 0);
  }

  const ABOVE = 18; // pixels: the height of a label above the plot
  // Labels of the marks above the plot, in as many rows as keep them apart.
  function raised(data, layout, width, size) {
    const notes = (layout.annotations || []).filter((note) => note.name === "above").sort((a, b) => a.x - b.x);
    if (!notes.length) return 0;
    const place = (x) => (layout.xaxis.type === "log" ? Math.log10(x) : x);
    const all = data.filter((t) => t.visible !== false)
      .flatMap((t) => t.x.filter((x) => typeof x === "number").map(place).filter(Number.isFinite)); // 0 B has no place
    all.push(...notes.map((note) => note.x));
    // Plotly leaves about a twentieth of the axis free on each side.
    const room = width - 78, low = Math.min(...all), scale = (0.9 * room) / (Math.max(...all) - low || 1);
    const ends = [];
    for (const note of notes) {
      const half = lengthOf(note.text, 12) / 2 + 5, at = 0.05 * room + (note.x - low) * scale;
      const edge = at + half > room ? "right" : at < half ? "left" : "center";
      const [start, end] = edge === "right" ? [at - 2 * half, at] : edge === "left" ? [at, at + 2 * half] : [at - half, at + half];
      let row = ends.findIndex((last) => last < start);
      if (row < 0) row = ends.length;
      ends[row] = end;
      Object.assign(note, { xanchor: edge, yshift: ABOVE * row });
    }
    return ends.length;
  }

  // Names of lines of slope 1 between two logarithmic axes lie along them; on a narrow figure without their numbers.
  function tilted({ width, height, margin, xaxis, yaxis, annotations }) {
    const span = (axis) => axis.range[1] - axis.range[0], away = 8;
    for (const note of (annotations || []).filter(({ name }) => name === "slope")) {
      const right = (width - margin.l - margin.r) / span(xaxis), up = (height - margin.t - margin.b) / span(yaxis);
      const angle = Math.atan2(up, right);
      Object.assign(note, { textangle: (-180 / Math.PI) * angle, xshift: -away * Math.sin(angle), yshift: away * Math.cos(angle) });
      if (width < 480) note.text = note.text.split(" ")[0];
    }
  }

  // Many bars with long names lie on their side, since their names would stand on end below them.
  const BAR = 22; // pixels: the height of the place of a bar
  function lying(data, layout, width, size, sided) {
    const bars = data.filter((trace) => trace.type === "bar" && trace.visible !== false);
    const names = [...new Set(bars.flatMap((trace) => trace.x))];
    const longest = Math.max(0, ...names.map((name) => lengthOf(String(name), size)));
    const many = names.length >= 6 && longest * names.length >= 1.5 * width;
    if (!bars.length || layout.shapes?.length || layout.annotations?.length || !(sided || many)) return;
    for (const trace of data) [trace.x, trace.y, trace.error_x, trace.error_y] = [trace.y, trace.x, trace.error_y, trace.error_x];
    for (const trace of bars) trace.orientation = "h";
    [layout.xaxis, layout.yaxis] = [layout.yaxis, layout.xaxis];
    const ticktext = names.map((name) => wrapped(String(name), 0.45 * width, size));
    const lines = ticktext.reduce((sum, text) => sum + Math.max(text.split("<br>").length, sided ? bars.length + 0.5 : 0.5 + bars.length / 2), 0);
    Object.assign(layout.yaxis, { autorange: "reversed", automargin: true, tickvals: names, ticktext, title: { text: "" } });
    layout.height = 120 + BAR * lines;
  }

  // The value stands at the foot of its bar if the interval begins behind it, and behind a short bar without an interval.
  function valued(data, layout, [, unit, factor], width) {
    const bars = data.filter(({ orientation, visible }) => orientation === "h" && visible !== false);
    const most = Math.max(...bars.flatMap(({ x, error_x }) => x.map((value, n) => value + (error_x?.array[n] || 0))));
    const scale = layout.xaxis.type === "log" || bars.some(({ base }) => base) ? 0 : (0.5 * width) / most;
    for (const bar of bars) {
      const places = bar.x.map((value, n) => {
        const written = value === null ? "" : numbers.label(value * factor, unit);
        if (lengthOf(written, 11) + 8 < scale * (value - (bar.error_x?.arrayminus[n] || 0))) return [written, "inside"];
        return scale && !bar.error_x?.array[n] ? [written, "outside"] : ["", "inside"];
      });
      const [text, textposition] = [0, 1].map((part) => places.map((place) => place[part]));
      Object.assign(bar, { text, textposition, insidetextanchor: "start", textangle: 0, constraintext: "none", outsidetextfont: { size: 11 } });
      Object.assign(bar, { insidetextfont: { size: 11, color: "#fff", shadow: Array(6).fill("0 0 2px #14171a").join(", ") } });
      bar.marker.pattern.solidity = 0.15; // so that the value can be read upon it
    }
  }

  function painted(plot, width, name = state.theme(), paper = state.printing) {
    const ink = inks[name], chosen = plot.chosen || new Set();
    const { data, layout, widest, beside, axes } = structuredClone({ ...plot, chosen: null });
    if (widest) width = Math.min(width, widest);
    const size = width < 480 ? 12 : 13;
    colour(data, name, chosen, plot.every);
    for (const kind of ["shapes", "annotations"])
      if (layout[kind]) layout[kind] = layout[kind].filter(({ sides }) => !sides || sides.some(state.shown))
        .map(({ sides, visible, ...rest }) => (sides ? rest : { visible, ...rest }));
    if (chosen.size && beside)
      for (const axis of Object.keys(beside)) { delete layout[axis].range; Object.assign(layout[axis], beside[axis]); }
    const axis = { gridcolor: ink.grid, linecolor: ink.axis, zerolinecolor: ink.axis, tickcolor: ink.axis };
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key)))
      Object.assign(layout[name], axis, { ticks: "outside", ticklen: 4, title: { ...layout[name].title, standoff: 12 } });
    if (layout.scene)
      for (const name of ["xaxis", "yaxis", "zaxis"])
        Object.assign(layout.scene[name], axis, { backgroundcolor: "rgba(0,0,0,0)", showspikes: false, color: ink.soft });
    const away = width < 480 ? 1.3 : width < 760 ? 1.2 : 1; // so that a narrow frame cuts no label off
    if (layout.scene) for (const way of ["x", "y", "z"]) layout.scene.camera.eye[way] *= away;
    for (const note of layout.scene?.annotations || []) Object.assign(note, { font: { size: 17, color: ink.ink }, arrowcolor: ink.soft });
    for (const shape of layout.shapes || []) shape.line.color = shape.name === "outline" ? "#d55e00" : ink.mark;
    const bars = new Set(data.filter((trace) => trace.type === "bar" && trace.visible !== false).flatMap((trace) => trace.x));
    lying(data, layout, width, size, axes);
    if (axes) valued(data, layout, axes.y, width);
    const above = raised(data, layout, width, size), rows = legendRows(data, layout, width, size);
    for (const note of layout.annotations || []) {
      note.font = { ...note.font, color: note.showarrow || note.name === "panel" ? ink.ink : ink.mark };
      note.arrowcolor = ink.soft;
      if (note.name === "limit") note.text = wrapped(note.text, width - 100, 12);
      if (!["above", "slope", "roof", "panel"].includes(note.name)) note.bgcolor = ink.paper + "c0";
    }
    if (paper) layout.height = Math.round(0.8 * layout.height); // so that two figures fit on a sheet
    const top = ABOVE * above; // below the buttons
    layout.height += top + 20 * Math.max(0, rows - 1);
    Object.assign(layout, {
      width, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      font: { family: getComputedStyle(document.body).fontFamily, size, color: ink.ink },
      margin: layout.scene ? { l: 0, r: 0, t: 30, b: 0 } : { l: 64, r: 14, t: 32 + top, b: 56 },
      legend: { ...(axes && { itemclick: false, itemdoubleclick: false, traceorder: "normal" }), orientation: "h", x: 0, xanchor: "left", yref: "container", y: 0, yanchor: "bottom", itemwidth: 40, maxheight: 0.9, ...layout.legend },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink.axis, activecolor: ink.soft }, bargap: bars.size && data.some(({ orientation, insidetextfont }) => orientation === "h" && insidetextfont) ? 0.2 : Math.max(0.4, 1 - 0.13 * bars.size), bargroupgap: 0.08,
      hoverlabel: { bgcolor: ink.paper, bordercolor: ink.axis, font: { color: ink.ink }, align: "left", namelength: -1 },
      uirevision: "same",
    });
    tilted(layout);
    if (layout.xaxis?.title) layout.xaxis.title.text = wrapped(layout.xaxis.title.text, width - 130, size + 2);
    if (layout.yaxis?.title) layout.yaxis.title.text = wrapped(layout.yaxis.title.text, layout.height - 130, size + 2);
    for (const trace of data) {
      if (trace.colorbar) Object.assign(trace.colorbar, { outlinewidth: 1, outlinecolor: ink.axis });
      if (trace.contours) for (const way of ["x", "y"]) trace.contours[way].color = ink.mesh;
      if (width >= 480 || !trace.colorbar) continue;
      Object.assign(trace.colorbar, { thickness: 8, title: { text: "" } });
      if (layout.scene) Object.assign(trace.colorbar, { orientation: "h", y: 0, yanchor: "top", len: 0.9 });
    }
    if (layout.scene && width < 480) Object.assign(layout, { height: 440, margin: { ...layout.margin, b: 50 } });
    return { data, layout };
  }

  // What only the drawn figure shows: how much of it legends and long labels leave to the plot, and which names touch.
  const LEAST = 210, APART = 14; // pixels: of a plot whose ticks stay apart, and the step by which a name gives way
  async function settle(element, Plotly) {
    if (element._fullLayout.scene) return;
    const ticks = thinned(element);
    if (Object.keys(ticks).length) await Plotly.relayout(element, ticks);
    const { _size, height } = element._fullLayout, missing = Math.ceil(LEAST - _size.h);
    if (missing > 0) {
      await Plotly.relayout(element, { height: height + missing });
      element.style.height = `${element._fullLayout.height}px`;
    }
    for (let round = 0; round < 4; round++) {
      const moved = apart(element);
      if (!Object.keys(moved).length) return;
      // A name that moves would widen an axis that follows its contents, and so move the others.
      for (const axis of Object.keys(element._fullLayout).filter((key) => /^[xy]axis\d*$/.test(key)))
        moved[`${axis}.range`] = element._fullLayout[axis].range.slice();
      await Plotly.relayout(element, moved);
    }
  }

  // Of the labels of an axis of numbers those that stay apart; where only one would, the first and the last. Names are turned.
  function thinned({ _fullLayout: { xaxis, font } }) {
    if (!xaxis?.tickvals || !["log", "linear"].includes(xaxis.type)) return {};
    let end = -Infinity;
    const kept = xaxis.tickvals.map((value, n) => {
      const at = xaxis.d2p(value), half = lengthOf(xaxis.ticktext[n], font.size) / 2 + 4;
      if (at < -1 || at > xaxis._length + 1) return true;
      if (at - half < end) return false;
      end = at + half;
      return true;
    });
    // No name can be guessed from its neighbours, as a number can.
    if (kept.includes(false) && xaxis.ticktext.every((label) => /^[A-Za-z]/.test(label))) return { "xaxis.tickangle": -40 };
    if (kept.filter(Boolean).length < 2) kept[kept.length - 1] = true;
    return { "xaxis.ticktext": xaxis.ticktext.map((label, n) => (kept[n] ? label : "")), "xaxis.tickangle": 0 };
  }

  // Names of limits, marks and places, each moved up or down to the nearest place that no other has.
  function apart(element) {
    const all = element.getBoundingClientRect(), moved = {};
    const taken = every(".modebar", element).map((bar) => bar.getBoundingClientRect());
    const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const notes = every(".annotation[data-index]", element).map((drawnNote) => [drawnNote, Number(drawnNote.dataset.index)]);
    const isAbove = (index) => element.layout.annotations[index]?.name === "above";
    for (const [drawnNote, index] of notes.sort(([, a], [, b]) => isAbove(b) - isAbove(a) || a - b)) {
      const note = element.layout.annotations[index];
      if (!note || note.name === "slope" || note.textangle) continue;
      const { left, right, top, bottom } = drawnNote.querySelector(".annotation-text-g").getBoundingClientRect();
      const steps = Array.from({ length: 2 * Math.ceil(all.height / APART) }, (_, n) => (n % 2 ? -1 : 1) * Math.ceil(n / 2) * APART);
      const places = steps.map((by) => ({ left, right, top: top + by, bottom: bottom + by, by }));
      const free = places.find((box) => box.top >= all.top && box.bottom <= all.bottom && !taken.some((other) => touch(box, other)));
      taken.push(free || places[0]);
      if (!free?.by) continue;
      if (note.showarrow) moved[`annotations[${index}].ay`] = note.ay + free.by;
      else moved[`annotations[${index}].yshift`] = (note.yshift || 0) - free.by;
    }
    return moved;
  }

  const buttons = { flat: ["toImage", "zoom2d", "pan2d", "resetScale2d"], deep: ["toImage", "orbitRotation", "pan3d", "resetCameraDefault3d"] };
  const config = (layout) => ({ displaylogo: false, displayModeBar: "hover", responsive: false, toImageButtonOptions: { format: "svg" },
    modeBarButtons: [layout.scene ? buttons.deep : buttons.flat] });
  const webgl = (() => { try { return !!document.createElement("canvas").getContext("webgl"); } catch { return false; } })();

  function widthOf(element) {
    if (state.printing) return paperWidth;
    if (element.clientWidth) return element.clientWidth;
    // A page that is not shown has no width: that of its neighbours in the page that is.
    const seen = document.querySelector(".page.current .reading, .page.current h1");
    return Math.max(280, seen ? seen.clientWidth : 700);
  }

  const partsOf = (figure) => [figure.querySelector(".plot"), figure.querySelector(".figure-data")];

  async function draw(figure) {
    const [element, source] = partsOf(figure);
    if (!element || drawn.has(element)) return;
    const deep = "webgl" in element.dataset;
    // A browser has few contexts of WebGL: they are for the pages that someone looks at.
    if (deep && !figure.closest(".page.current")) return;
    drawn.set(element, null);
    try {
      if (deep && !webgl) throw new Error("this browser has no WebGL, which a surface needs");
      const Plotly = await load();
      const plot = await plotOf(source);
      const { data, layout } = painted(plot, widthOf(element));
      element.querySelector(".waiting")?.remove();
      await Plotly.newPlot(element, data, layout, config(layout));
      element.style.height = `${layout.height}px`;
      if (element.clientWidth) await settle(element, Plotly);
      drawn.set(element, plot);
      nameHidden(element, plot);
      element.dataset.state = "drawn";
    } catch (error) {
      failed(element, error);
    }
  }

  // Which sides have values in the figure but are not shown.
  function nameHidden(element, plot) {
    const sides = new Set(plot.data.flatMap(({ meta, hoverinfo }) => (meta && "side" in meta && hoverinfo !== "skip" && !state.shown(meta.side) ? [meta.side] : [])));
    const caption = element.closest("figure")?.querySelector("figcaption");
    if (!caption || !plot.axes) return;
    const line = caption.querySelector(".hidden-sides") || caption.appendChild(document.createElement("span"));
    line.className = "hidden-sides";
    line.textContent = sides.size ? `Not drawn: ${[...sides].map((side) => state.sideNames[side]).join(", ")}. Choose them under Sides.` : "";
  }

  function failed(element, error) {
    element.style.height = "auto";
    element.textContent = `The figure is not drawn: ${error.message}. Its numbers are in the table below.`;
    element.dataset.state = "failed";
  }

  const plots = new Map();
  function plotOf(source) {
    if (!plots.has(source)) plots.set(source, readPlot(source));
    return plots.get(source);
  }
  async function readPlot(source) {
    const text = "packed" in source.dataset ? await unpacked(source.textContent) : source.textContent;
    return { ...worded(unfolded(JSON.parse(text))), chosen: new Set() };
  }

  // The points of a line of one side: its side, its line, place, value and interval as text.
  const raw = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  function pointsOf({ axes, data }, trace) {
    const { x: [, xUnit, xFactor], y: [, yUnit, yFactor] } = axes, { side, line, levels = {} } = trace.meta;
    const [low, high] = data.slice(data.indexOf(trace) - 2).filter(({ meta }, n) => n < 2 && meta?.band);
    const value = (number) => numbers.label((number + (trace.base || 0)) * yFactor, yUnit);
    return trace.y.flatMap((y, n) => {
      if (y === null) return [];
      const up = trace.error_y?.array[n], down = trace.error_y?.arrayminus[n];
      const ends = high ? [low.y[n], high.y[n]] : [y - down, y + up], at = trace.x[n];
      const bounded = ends.every((end) => Number.isFinite(end)) && (high || Number.isFinite(up));
      return [{
        side: state.sideNames[side], line: raw(line), level: levels[n] || "", value: value(y), index: n,
        place: typeof at === "string" ? raw(at) : numbers.tick(at * xFactor, xUnit),
        between: bounded ? ends.map(value).join(" – ") : "", runs: trace.meta.runs,
      }];
    });
  }

  // The texts beside the pointer of figures with several sides are made here, so that the file stays small.
  const linesOf = (plot) => plot.data.filter(({ meta, hoverinfo }) => meta && "side" in meta && !meta.band && !hoverinfo);
  function worded(plot) {
    if (!plot.axes) return plot;
    for (const trace of linesOf(plot)) {
      const texts = [];
      for (const { side, line, place, value, between, level, runs, index } of pointsOf(plot, trace)) {
        const ends = between && `, ${runs ? "its runs" : "95 % interval"} ${between}`;
        texts[index] = escaped(`${side}${line && `, ${line}`}: ${value} at ${raw(plot.axes.x[0])} ${place}${ends}${level && ` (${level})`}`);
      }
      trace.customdata = texts;
    }
    return plot;
  }

  // The numbers of a figure with several sides: those of the sides that are shown.
  async function fillNumbers(details) {
    const source = details.closest(".figure")?.querySelector(".figure-data"), body = details.querySelector("tbody");
    const plot = source && (await plotOf(source));
    if (!plot?.axes || !body) return;
    const points = linesOf(plot).filter(({ meta }) => state.shown(meta.side)).flatMap((trace) => pointsOf(plot, trace));
    const columns = details.querySelectorAll("thead th").length;
    body.replaceChildren(...points.map(({ side, line, place, value, between, level }) => {
      const row = document.createElement("tr");
      [side, line, place, level ? `${value} (${level})` : value, between || "–"].slice(0, columns).forEach((text, n) => {
        const cell = document.createElement(n ? "td" : "th");
        if (n) cell.className = "n"; else cell.scope = "row";
        cell.textContent = text;
        row.append(cell);
      });
      return row;
    }));
  }

  // Figures with a mark for each record share where and what these are, so that the file stays small.
  function unfolded(plot) {
    if (!plot.records) return plot;
    const { at, launch, of, cases } = JSON.parse(document.getElementById(plot.records).textContent);
    for (const trace of plot.data.filter(({ meta }) => "from" in meta)) {
      const own = trace.y.map((_, index) => trace.meta.from + index);
      trace.x = own.map((record) => at[record]);
      trace.customdata = own.map((record) => `${cases[of[record]]}, launch ${launch[record]}`);
    }
    return plot;
  }

  // A drawing by WebGL does not reach the paper: a picture of it, made beforehand, stands in for it there.
  async function onPaper(figure) {
    if (figure.matches(".printed")) return inSummary(figure);
    const [element, source] = partsOf(figure);
    if (!element || !("webgl" in element.dataset) || !webgl || element.dataset.state === "failed") return;
    const Plotly = await load();
    const { data, layout } = painted(await plotOf(source), paperWidth, "light", true);
    const size = { width: paperWidth, height: layout.height };
    const picture = new Image();
    picture.alt = element.getAttribute("aria-label");
    picture.className = "paper";
    picture.src = await Plotly.toImage({ data, layout }, { format: "png", scale: 2, ...size });
    element.after(picture);
  }

  // The printed summary has the main figures of other pages, two side by side.
  const halfWidth = 440;
  async function inSummary(place) {
    if (place.querySelector("img")) return;
    const source = state.sourceOf(place.dataset.figure), Plotly = await load();
    const { data, layout } = painted(await plotOf(source), halfWidth, "light", true);
    const stage = document.createElement("div");
    stage.className = "stage";
    document.body.append(stage);
    try {
      await Plotly.newPlot(stage, data, layout, { staticPlot: true });
      await settle(stage, Plotly);
      const { width, height } = stage._fullLayout, picture = new Image();
      picture.alt = place.querySelector("h3").textContent;
      picture.src = await Plotly.toImage(stage, { format: "svg", width, height });
      place.querySelector("h3").after(picture);
    } finally {
      Plotly.purge(stage);
      stage.remove();
    }
  }

  function repaint(only) {
    if (!window.Plotly) return;
    for (const [element, plot] of drawn) {
      if (!plot || (only && element !== only)) continue;
      const { data, layout } = painted(plot, widthOf(element));
      window.Plotly.react(element, data, layout, config(layout));
      element.style.height = `${layout.height}px`;
      nameHidden(element, plot);
      if (element.clientWidth) settle(element, window.Plotly);
    }
  }

  async function compare(box) {
    const [element, source] = partsOf(box.closest(".figure"));
    const plot = await plotOf(source), series = Number(box.value);
    if (box.value === "every") plot.every = box.checked;
    else if (box.checked) plot.chosen.add(series); else plot.chosen.delete(series);
    repaint(element);
  }

  // One figure after the other: those of the page that is shown first; at last the pictures for the paper. In between the
  // page answers its reader.
  const pause = () => new Promise((go) => setTimeout(go)), rest = () => new Promise(window.requestIdleCallback || setTimeout);
  const line = [], pictures = [];
  let working = null;

  async function work() {
    const next = () => line.findIndex((figure) => figure.closest(".page.current"));
    while (line.length || pictures.length) {
      if (next() < 0) await pause();
      const [figure] = line.splice(Math.max(0, next()), 1);
      if (figure) await draw(figure);
      else { await rest(); await onPaper(pictures.shift()).catch(() => {}); } // without it the paper has the table
    }
    working = null;
  }

  // What a page needs when it is opened: its figures at its width, those not yet drawn before all others.
  function show(page) {
    for (const plot of every(".plot", page)) if (drawn.get(plot) && plot.clientWidth && plot.clientWidth !== plot._fullLayout?.width) repaint(plot);
    if (page.matches(".summary")) pictures.push(...every(".printed:not(:has(img))", page));
    paper([page], page);
  }

  // What the sheets need: the figures of the pages that are printed, and pictures of surfaces. Resolves when all is drawn.
  function paper(pages, current) {
    for (const page of state.paper === "all" ? pages : [current]) {
      const figures = every(".figure", page).filter((figure) => !figure.closest("[hidden]"));
      line.push(...figures.filter((figure) => !drawn.has(partsOf(figure)[0])));
      if (state.paper) pictures.push(...figures.filter((figure) => !figure.querySelector(".paper")));
    }
    if (line.length || pictures.length) working ??= work();
    return working;
  }

  return { show, repaint, compare, paper, fillNumbers };
};
