// Numbers as text, as `units.py` and `axes.py` write them: with a prefix, or with a binary prefix for sizes.
"use strict";
// Text that the page holds as base64 of gzip.
async function unpacked(text) {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot unpack the data of the page");
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

const numbers = (() => {
  const prefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const binary = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  const bare = new Set(["", "1", "cycle", "cycle/access", "x"]);

  function significant(value, digits = 3) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size < 1e-6 || size >= 1e9) {
      const [mantissa, power] = value.toExponential(digits - 1).split("e");
      const plain = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
      return `${plain}e${power[0]}${power.slice(1).padStart(2, "0")}`;
    }
    if (size >= 10 ** digits) return value.toFixed(0);
    const rounded = Number(value.toPrecision(digits));
    return rounded.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded)))));
  }

  function quantity(value, unit, digits = 3) {
    if (unit.startsWith("1/")) unit = unit.slice(1);
    if (unit === "%") return `${significant(100 * value, digits)} %`;
    if (value === 0 || bare.has(unit)) return `${significant(value, digits)} ${unit}${unit === "cycle" ? "s" : ""}`.trimEnd();
    const [factor, prefix] = prefixes.find(([f]) => Math.abs(value) >= f * 0.9995) || prefixes.at(-1);
    return `${significant(value / factor, digits)} ${prefix}${unit}`;
  }

  function size(count) {
    const [factor, name] = binary.find(([f]) => count >= f) || [1, "B"];
    return `${count % factor === 0 ? count / factor : significant(count / factor)} ${name}`;
  }

  // A place or a value on an axis with that unit.
  function label(value, unit) {
    if (value === null || value === undefined) return "–";
    if (typeof value === "string") return value;
    if (unit === "B" && Number.isInteger(value) && value >= 0) return size(value);
    if (unit === "" && Number.isInteger(value)) return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return quantity(value, unit);
  }
  const tick = (value, unit) => label(value, unit).replace(/(\.\d*?)0+(?=\s|$)/, (_, kept) => kept.replace(/\.$/, ""));

  return { significant, quantity, label, tick };
})();
