// The sides of a report: which of them are shown, and the table of all their values.
"use strict";
const sidesOf = (state, changed) => {
  const every = (selector, inside = document) => Array.from(inside.querySelectorAll(selector));
  const boxes = every(".side-choice input[type=checkbox]");
  const names = boxes.map((box) => box.dataset.name);
  const atFirst = (document.querySelector(".side-choice")?.dataset.shown || "").split(",").filter(Boolean).map(Number);
  const first = () => new Set(atFirst);
  let shown = first();
  Object.assign(state, { sideNames: names, shown: (side) => !names.length || shown.has(side) });

  // --- the choice: in the address, so that a link leads to what its sender saw
  const spelled = () => [...shown].sort((a, b) => a - b).join(",");
  const isFirst = () => spelled() === [...first()].join(",");
  function read() {
    const chosen = location.hash.match(/&sides=([\d,]*)/), before = spelled();
    if (chosen) shown = new Set(chosen[1].split(",").filter(Boolean).map(Number).filter((side) => side < names.length));
    mark();
    if (table && spelled() !== before) refill();
  }
  // Puts the choice back into an address from which a link of the page has removed it.
  function keep() {
    if (!names.length) return;
    const plain = location.hash.replace(/&sides=[\d,]*/, "") || "#";
    const next = isFirst() ? plain : `${plain}&sides=${spelled()}`;
    if (next !== (location.hash || "#")) history.replaceState(null, "", next);
  }
  function mark() {
    boxes.forEach((box, side) => { box.checked = shown.has(side); });
    for (const one of every("[data-side]")) one.hidden = !shown.has(Number(one.dataset.side));
    const count = document.querySelector(".side-choice summary span");
    if (count) count.textContent = `${shown.size} of ${names.length} shown`;
  }
  function choose(sides) {
    shown = new Set(sides);
    mark();
    if (table) refill();
    keep();
    changed();
  }
  function filterChoice(text) {
    for (const box of boxes) box.closest("label").hidden = !box.dataset.name.toLowerCase().includes(text.toLowerCase());
  }

  // --- the table: a fold for each benchmark, whose rows are made when it is opened
  let table = null, groups = [];
  const make = (tag, text = "", kind = "") => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const signs = { FASTER: "▲", SLOWER: "▼", SAME: "=", UNCLEAR: "?" };
  function lamp(call, smallest) {
    const made = make("span", `${signs[call] || ""} ${call}`.trim(), `call ${call.toLowerCase().replace(" ", "-")}`);
    if (smallest) made.append(make("span", ` (${smallest})`, "between"));
    return made;
  }
  const times = (ratio) => `× ${numbers.significant(ratio)}`;
  const range = (low, high, unit) => {
    const [from, to] = [numbers.quantity(low, unit), numbers.quantity(high, unit)];
    const [number, ...rest] = from.split(" "), same = rest.join(" ") === to.split(" ").slice(1).join(" ");
    return `${same ? number : from} – ${to}`;
  };

  function cellOf(cell, unit) {
    const made = make("td", "", "n");
    if (!cell) { made.append(make("span", "–", "between")); return made; }
    const { value, low, high, level, ratio, least, most: greatest, call, smallest, note, why } = cell;
    const number = value === null ? "" : make("span", numbers.quantity(value, unit), "value");
    if (level) {
      number.prepend(make("span", { UNSETTLED: "◐", DISTURBED: "▲" }[level] || "", `sign ${level.toLowerCase()}`), " ");
      number.title = level;
    }
    made.append(number);
    if (low !== null) made.append(make("span", range(low, high, unit), "between"));
    if (ratio !== null) {
      const line = make("span", times(ratio), "ratio");
      if (least !== null) line.append(make("span", ` (${numbers.significant(least)} – ${numbers.significant(greatest)})`, "between"));
      made.append(line);
    }
    if (call) {
      made.append(lamp(call, smallest));
      made.lastChild.title = why;
    }
    if (note) made.append(make("span", note, "condition"));
    return made;
  }
  // The columns of the table hold the cells of all sides, row by row.
  const placeOf = (row, side) => row.number * names.length + side;
  const has = (row, side) => ["value", "ratio"].some((name) => table.columns[name][placeOf(row, side)] !== null);
  const word = (name, at) => table.words[table.columns[name][at]];
  function cellAt(row, side) {
    if (!has(row, side)) return null;
    const at = placeOf(row, side);
    return Object.fromEntries(Object.entries(table.columns).map(([name, column]) => [name, /level|call|smallest|note|why/.test(name) ? word(name, at) : column[at]]));
  }
  const called = (row, calls) => [...shown].some((side) => calls.test(word("call", placeOf(row, side))));
  const differs = (row) => called(row, /FASTER|SLOWER/);
  const tells = (row) => called(row, /FASTER|SLOWER|NOT JUDGED/); // the few values of published systems are always shown
  const columns = (rows) => names.map((_, side) => side).filter((side) => shown.has(side) && rows.some((row) => has(row, side)));

  function matching(group) {
    const words = table.search.toLowerCase().split(/\s+/).filter(Boolean);
    return group.rows.filter((row) => words.every((word) => row.text.includes(word)));
  }
  function fill(group) {
    const rows = group.whole ? group.rows : matching(group);
    const telling = group.whole || table.all || table.search ? rows : rows.filter(tells);
    const made = make("table", "", "results sided"), line = make("tr");
    const chosen = columns(telling), headings = chosen.map((side) => [names[side], side ? "" : "baseline"]);
    line.append(make("th", group.whole || "Case"), ...headings.map(([name, role]) => {
      const heading = make("th", name, "n");
      if (role) heading.append(make("span", role, "between"));
      return heading;
    }));
    for (const heading of line.cells) heading.scope = "col";
    made.createTHead().append(line);
    const body = made.createTBody();
    for (const row of telling) {
      const written = make("tr"), name = make("th", row.name);
      name.scope = "row";
      name.append(make("span", row.metric, "between"));
      written.append(name, ...chosen.map((side) => cellOf(cellAt(row, side), row.unit)));
      body.append(written);
    }
    const scroll = make("div", "", "scroll tall");
    scroll.tabIndex = 0;
    scroll.append(made);
    const rest = rows.length - telling.length;
    const others = `${rest} ${telling.length ? "other case" : "case"}${rest === 1 ? "" : "s"}`;
    const more = make("button", telling.length ? `Show the ${others}` : `No case differs. Show ${others}`, "choice");
    more.type = "button";
    more.addEventListener("click", () => { table.all = true; document.querySelector(".table-all").checked = true; refill(); });
    group.body.replaceChildren(...(telling.length ? [scroll] : []), ...(rest ? [more] : []));
  }
  function refill() {
    for (const group of groups) {
      if (group.whole) { if (group.rows.length) fill(group); continue; }
      const rows = matching(group), telling = rows.filter(differs).length;
      group.fold.hidden = !rows.length;
      group.count.textContent = `${rows.length} case${rows.length === 1 ? "" : "s"}${telling ? `, ${telling} differ${telling === 1 ? "s" : ""}` : ""}`;
      if (table.search && rows.length) group.fold.open = true;
      if (group.fold.open && rows.length) fill(group);
    }
    const none = document.querySelector(".table-none");
    if (none) none.hidden = groups.some((group) => !group.whole && !group.fold.hidden);
  }

  // Makes the folds when the page is opened for the first time.
  let opening = null;
  async function open(page) {
    const place = page.querySelector(".side-table");
    if (place) await (opening ??= build(page, place));
  }
  async function build(page, place) {
    try {
      table = { ...JSON.parse(await unpacked(page.querySelector(".side-data").textContent)), search: "", all: false };
    } catch (error) {
      place.textContent = `The table is not shown: ${error.message}.`;
      return;
    }
    let number = 0;
    groups = table.groups.map(({ title, rows }, index) => {
      const whole = index < table.totals && title, body = make("div");
      const fold = make("details", "", "data"), summary = make("summary", title), count = make("span", "", "count");
      summary.append(" ", count);
      fold.append(summary, body);
      const named = rows.map(([name, metric, unit]) => ({ name, metric, unit, number: number++, text: `${title} ${name} ${metric}`.toLowerCase() }));
      const group = { fold, count, body, rows: named, whole };
      if (whole) return group;
      fold.addEventListener("toggle", () => { if (fold.open) fill(group); else body.replaceChildren(); });
      return group;
    });
    page.querySelector(".side-totals").append(...groups.filter(({ whole }) => whole).map(({ body }) => body));
    place.append(...groups.filter(({ whole }) => !whole).map(({ fold }) => fold));
    refill();
    const firsts = groups.filter(({ rows, whole }) => !whole && rows.some(tells)).slice(0, 3);
    for (const { fold } of firsts) fold.open = true;
  }

  document.addEventListener("change", ({ target }) => {
    if (target.closest(".side-choice label")) choose(boxes.flatMap((box, side) => (box.checked ? [side] : [])));
    if (target.matches(".table-all") && table) { table.all = target.checked; refill(); }
  });
  document.addEventListener("input", ({ target }) => {
    if (target.matches(".side-search")) filterChoice(target.value);
    if (target.matches(".table-search") && table) { table.search = target.value; refill(); }
  });
  document.addEventListener("click", ({ target }) => {
    if (target.matches(".side-all")) choose(names.keys());
    if (target.matches(".side-few")) choose(first());
  });
  return { read, keep, open, mark };
};
