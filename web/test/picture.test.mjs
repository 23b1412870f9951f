// The script of flame graphs in SVG: what frames say, and numbers in words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pictureOf, svg, svgNumbers, svgTree } from "../dist/pure.mjs";
import { randomOf } from "./documents.mjs";

test("a label is the program's, column by column", () => {
  const rows = readFileSync(new URL("labels.txt", import.meta.url), "utf8").split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split("\t"));
  assert.ok(rows.length > 30);
  for (const [columns, label, name] of rows) assert.equal(svg.label(name, +columns), label, `${name} in ${columns}`);
});

test("a label needs no more than its room, and never stands for a closure alone", () => {
  const random = randomOf(3), parts = ["a", "std", "Pool<T>", "serve", "{{closure}}", "数字", "operator()", "do_mine_block"];
  for (let i = 0; i < 300; i++) {
    const name = Array.from({ length: 1 + random(5) }, (_, k) => k === 0 ? "root" : parts[random(parts.length)]).join("::");
    for (let columns = 0; columns < 50; columns++) {
      const label = svg.label(name, columns);
      assert.ok(svg.columnsOf(label) <= columns, `${name} in ${columns}: ${label}`);
      assert.ok(!/^…?\{/.test(label) && label !== "…", `${name} in ${columns}: ${label}`);
    }
  }
});

test("numbers have the digits that are known", () => {
  assert.equal(svgNumbers.quantity(1, "samples"), "1 sample");
  assert.equal(svgNumbers.quantity(12345, "samples"), "12,345 samples");
  assert.equal(svgNumbers.quantity(12345, "samples", "ticks"), "12,345 ticks");
  assert.equal(svgNumbers.quantity(1.5e9, "ns"), "1.50 s");
  assert.equal(svgNumbers.quantity(1.2e11, "ns"), "120 s");
  assert.equal(svgNumbers.quantity(1.5e6, "bytes"), "1.4 MiB");
  assert.equal(svgNumbers.known(5_000_000, 10_000_000, 100, "ns"), "5 ms");
});

// As flame_graph_data.h says: digits of five bits, names that begin like the one before, nodes depth first.
test("the tree is read as it was written", () => {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const number = (value) => { let out = ""; for (; value >= 32; value = Math.floor(value / 32)) out += digits[32 + value % 32]; return out + digits[value]; };
  const numbers = (...values) => values.map(number).join("");
  // self values: all (3) -> main (0) -> serve (40), parse (1000)
  const lines = ["", numbers(0, 0, 1, 1, 0, 2, 1, 1, 0), numbers(1, 0, 3, 0, 1, 1, 2, 40, 1 + 8, 0, 1000), `${number(0)}main`, `${number(0)}parse`, `${number(0)}serve`];
  const tree = svgTree.treeOf(lines, { modules: ["", "app"], places: ["main.cpp:3", "", "app.cpp:7"] });
  assert.deepEqual(tree.symbols.map(({ name, module, color }) => [name, module, color]), [["main", "", 1], ["parse", "", 2], ["serve", "app", 0]]);
  assert.deepEqual(tree.symbols.map(({ place }) => place), ["main.cpp:3", "", "app.cpp:7"]);
  assert.equal(svgTree.treeOf(lines, { modules: ["", "app"] }).symbols[0].place, "", "of a program without lines");
  assert.deepEqual(tree.parent, [0, 0, 1, 1]);
  assert.deepEqual(tree.total, [1043, 1040, 40, 1000]);
  assert.equal(tree.total[0], tree.self.reduce((a, b) => a + b, 0));
  assert.deepEqual(tree.end[0], tree.parent.length);
});

test("a saved picture has every box, and names cannot leave their place", () => {
  const boxes = [
    { x: 0, width: 200, line: 0, fill: "#fff", ink: "#000", label: "main", hint: "main: 100 %" },
    { x: 0, width: 10, line: 1, fill: "#fff", ink: "#000", label: "narrow", hint: "narrow: 5 %" },
    { x: 10, width: 150, line: 1, fill: "#fff", ink: "#000", label: "</text><script>\"&", hint: "x" },
  ];
  const svg = pictureOf(boxes, 200, "CPU of a&b", "fathom report", "#fff", "#000", (label, room, measure) => measure(label) <= room ? label : "");
  assert.equal(svg.match(/<g><title>/g).length, 3);
  assert.ok(svg.includes(">main</text>") && svg.includes("<title>narrow: 5 %</title>") && !svg.includes(">narrow</text>"));
  assert.ok(svg.includes("CPU of a&amp;b") && svg.includes("&lt;/text&gt;&lt;script&gt;&quot;&amp;") && !svg.includes("<script"));
});
