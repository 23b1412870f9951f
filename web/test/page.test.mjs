// Decoding, filters, transforms, search and layout, against what is added up entry by entry. `node --test web/test`
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import * as page from "../dist/pure.mjs";
import { documentOf, randomOf, someDocument } from "./documents.mjs";

const seeds = [1, 2, 3, 4, 5, 6];
const opened = (of) => page.readDocument(documentOf(of));

// Names on the way to a call, the outermost first.
function pathOf({ names, calls }, node) {
  const path = [];
  for (let at = node; at !== 0; at = calls[at - 1].parent) path.unshift(names[calls[at - 1].place - 1]);
  return path;
}
// "module:NAME" and "crate:NAME" as what its calls are of, of a path's names.
const partOf = (of, kind, name) => of.kinds[of.names.indexOf(name)] === 0 ? of[`${kind}s`][of.names.indexOf(name)] : "";
function takes(of, pattern, path) {
  const group = /^(module|crate):(.*)$/.exec(pattern);
  return group ? fits(group[2], path.map((name) => partOf(of, group[1], name))) : fits(pattern, path);
}
const fits = (pattern, path) => path.some((name) => pattern.startsWith("/") ? new RegExp(pattern.slice(1, -1)).test(name) : name.includes(pattern));
function chosen(of, { from, to, thread, focus, ignore }) {
  return of.entries.filter((entry) => entry.slice >= from && entry.slice < to && (thread === null || of.threads[entry.thread] === thread)
    && (!focus.length || focus.some((pattern) => takes(of, pattern, pathOf(of, entry.node)))) && !ignore.some((pattern) => takes(of, pattern, pathOf(of, entry.node))));
}
const sum = (entries) => entries.reduce((all, { value }) => all + value, 0);
function someSelection(random) {
  const from = random(39), patterns = ["serve", "/^json::/", "main", "std::sort<", "(idle:", "nobody", "module:libc", "module:/^server$/", "crate:json", "crate:/^(Server|std)$/"], some = () => random(2) ? [] : [patterns[random(patterns.length)]];
  return { metric: "cpu", from, to: from + 1 + random(40 - from), thread: [null, "main", "worker"][random(3)], focus: some(), ignore: some() };
}
const everything = { metric: "cpu", from: 0, to: 40, thread: null, focus: [], ignore: [] };

test("a document is decoded to what was written", () => {
  for (const large of [false, true])
    for (const seed of seeds) {
      const of = someDocument(seed, large), doc = opened(of);
      assert.deepEqual(doc.name.slice(1), of.names);
      assert.deepEqual([...doc.parent.slice(1, doc.nodes)], of.calls.map(({ parent }) => parent));
      const { thread, node, first, slice, sums } = doc.costs.get("cpu"), found = new Map();
      for (let i = 0; i < node.length; i++)
        for (let j = first[i]; j < first[i + 1]; j++) found.set(`${thread[i]} ${node[i]} ${slice[j]}`, sums[j + 1] - sums[j]);
      const written = new Map();
      for (const entry of of.entries) { const key = `${entry.thread} ${entry.node} ${entry.slice}`; written.set(key, (written.get(key) ?? 0) + entry.value); }
      assert.deepEqual([...found].sort(), [...written].sort());
    }
});

test("a document travels as base64 of gzip", async () => {
  const bytes = documentOf(someDocument(1));
  assert.deepEqual(await page.unpack(Buffer.from(gzipSync(bytes)).toString("base64")), bytes);
});

test("what is no document, or of another version, is refused in words", () => {
  assert.throws(() => page.readDocument(new TextEncoder().encode("<html>nothing of ours</html>")), /no document of fathom/);
  assert.throws(() => opened({ ...someDocument(1), version: 2 }), /version 2, and this page knows 1/);
});

test("any selection takes what its entries are worth", () => {
  for (const seed of seeds) {
    const of = someDocument(seed), doc = opened(of), random = randomOf(seed + 100);
    for (let i = 0; i < 40; i++) {
      const selection = someSelection(random), { total } = page.take(doc, selection);
      assert.equal(total, sum(chosen(of, selection)), JSON.stringify(selection));
    }
  }
});

// Two sites: one asked for 100 and for 5,000 bytes, the other for 70 bytes.
const heapOf = (of) => [
  { thread: 0, node: 5, allocated: [[1, 4000], [30, 500]], sizes: [7, 13] },
  { thread: 1, node: 9, allocated: [[3, 70]], sizes: [7] },
].map((cell) => ({ ...cell, node: Math.min(cell.node, of.calls.length) }));

test("sizes take the sites that asked for them, with all that they asked for", () => {
  const of = someDocument(1), doc = opened({ ...of, heap: heapOf(of) });
  const total = (sizes, metric = "heap-live", to = 40) => page.take(doc, { ...everything, metric, to, sizes }).total;
  assert.equal(total(null), 4570);
  assert.equal(total([13, 14]), 4500);
  assert.equal(total([7, 8]), 4570);
  assert.equal(total([8, 13]), 0);
  assert.equal(total([13, 65], "heap-allocated", 20), 4000);
  assert.equal(page.take(doc, { ...everything, metric: "heap-live", sizes: [13, 14] }).whole, 4570);
  assert.equal(total([13, 14], "cpu"), total(null, "cpu"), "samples have no size");
  const inTime = page.buildTimeTree(doc, { ...everything, metric: "heap-allocated", sizes: [13, 14] }, page.plainShape(doc), false, 10);
  assert.equal(inTime.totalOf(0), 4500);
});

test("sizes are read and said as the command line takes them", () => {
  assert.deepEqual(page.sizesFrom("64:127"), [7, 8]);
  assert.deepEqual(page.sizesFrom("4096"), [13, 14]);
  assert.deepEqual(page.sizesFrom("64KiB:1MiB"), [17, 22]);
  assert.deepEqual(page.sizesFrom("1kB:2 MB"), [10, 22]);
  assert.deepEqual(page.sizesFrom(":100"), [0, 8]);
  assert.deepEqual(page.sizesFrom("1MiB:"), [21, 65]);
  assert.deepEqual(page.sizesFrom("0:0"), [0, 1]);
  for (const wrong of ["", ":", "5:4", "many", "1e5", "64 127", "1.2.3"]) assert.equal(page.sizesFrom(wrong), null, wrong);
  for (const sizes of [[0, 1], [7, 8], [0, 12], [21, 65]]) assert.deepEqual(page.sizesFrom(page.askedSize(sizes)), sizes);
  assert.equal(page.sizesText([7, 8]), "sizes 64 B – 128 B");
  assert.equal(page.sizesText([0, 8]), "sizes below 128 B");
  assert.equal(page.sizesText([21, 65]), "sizes from 1.00 MiB");
});

test("trees keep the sum, and functions count once in recursion", () => {
  for (const seed of seeds) {
    const of = someDocument(seed), doc = opened(of), random = randomOf(seed + 200);
    for (let i = 0; i < 10; i++) {
      const selection = someSelection(random), taken = page.take(doc, selection), entries = chosen(of, selection);
      for (const threads of [false, true])
        for (const inverted of [false, true]) assert.equal(page.buildTree(doc, taken, { threads, inverted }).totalOf(0), taken.total);
      assert.equal(page.buildTimeTree(doc, selection, page.plainShape(doc), false, 7).totalOf(0), taken.total);
      const idle = (path) => path.at(-1).startsWith("(idle:") ? path.slice(-1) : path;  // without their stacks
      const rows = new Map(page.functionTable(doc, page.buildTree(doc, taken, { threads: false, inverted: false })).map((row) => [doc.name[row.place], row]));
      for (const name of of.names) {
        assert.equal(rows.get(name)?.total ?? 0, sum(entries.filter(({ node }) => idle(pathOf(of, node)).includes(name))), name);
        assert.equal(rows.get(name)?.self ?? 0, sum(entries.filter(({ node }) => pathOf(of, node).at(-1) === name)), name);
      }
    }
  }
});

// Stacks that a tree has, with what each costs itself.
function stacksOf(doc, tree) {
  const out = {};
  for (let i = 0; i < tree.count; i++) {
    if (tree.selfOf(i) === 0) continue;
    const path = [];
    for (let at = i; at !== 0; at = tree.parent[at]) path.unshift(page.labelOf(doc, tree.place[at]));
    const key = path.join(";");
    out[key] = (out[key] ?? 0) + tree.selfOf(i);
  }
  return out;
}
test("transforms change stacks as their words say, and no sum", () => {
  const changes = {
    "hide:serve": (path) => path.filter((name) => !name.includes("serve")),
    "merge:main": (path) => path.filter((name) => name !== "main"),
    "from:serve": (path) => { const at = path.findIndex((name) => name.includes("serve")); return at < 0 ? [] : path.slice(at); },
    "recursion": (path) => path.reduce((kept, name) => kept.includes(name) ? kept.slice(0, kept.indexOf(name) + 1) : [...kept, name], []),
    "collapse:server": (path, of) => path.map((name) => of.modules[of.names.indexOf(name)] === "server" ? "server (all of it)" : name)
      .filter((name, i, all) => name !== "server (all of it)" || all[i - 1] !== name),
  };
  for (const seed of seeds) {
    const of = someDocument(seed), doc = opened(of), taken = page.take(doc, everything);
    for (const [edit, changed] of Object.entries(changes)) {
      const expected = {};
      for (const { node, value } of of.entries) {
        const path = pathOf(of, node), idle = path.at(-1).startsWith("(idle:");
        // Idle waits are shown without their stack; they begin nowhere else.
        const key = (idle && edit.startsWith("from:") ? path.slice(-1) : changed(idle ? path.slice(-1) : path, of)).join(";");
        expected[key] = (expected[key] ?? 0) + value;
      }
      const tree = page.buildTree(doc, taken, { threads: false, inverted: false }, page.shapeOf(doc, [edit]));
      assert.deepEqual(stacksOf(doc, tree), expected, edit);
      assert.equal(tree.totalOf(0), taken.total);
    }
  }
});

test("calls are in the order of a walk, after any transform, and the outermost are known", () => {
  const isWalk = (parent) => {
    for (let i = 1, last = 0; i < parent.length; last = i++) {
      while (last > parent[i]) last = parent[last];
      if (last !== parent[i]) return false;
    }
    return true;
  };
  for (const seed of seeds) {
    const doc = opened(someDocument(seed)), taken = page.take(doc, everything);
    for (const edits of [[], ["hide:serve"], ["recursion"], ["collapse:server"], ["merge:main", "recursion"]]) {
      const shape = page.shapeOf(doc, edits);
      assert.ok(isWalk(shape.parent), `${edits}`);
      for (const threads of [false, true]) {
        const { parent, place, outermost } = page.buildTree(doc, taken, { threads, inverted: false }, shape);
        assert.ok(isWalk(parent), `${edits}`);
        outermost?.slice(1).forEach((flag, i) => {
          let up = parent[i + 1];
          while (up !== 0 && place[up] !== place[i + 1]) up = parent[up];
          assert.equal(flag, up === 0 ? 1 : 0);
        });
      }
    }
    assert.ok(page.buildTree(doc, taken, { threads: false, inverted: false }).outermost);
  }
});

test("a search counts each stack once, and below the zoom", () => {
  for (const seed of seeds) {
    const of = someDocument(seed), doc = opened(of), tree = page.buildTree(doc, page.take(doc, everything), { threads: false, inverted: false });
    const shown = (node) => { const path = pathOf(of, node); return path.at(-1).startsWith("(idle:") ? path.slice(-1) : path; };
    for (const text of ["serve", "SERVE", "json|sort", "λ"]) {
      const expression = new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
      assert.equal(page.find(doc, tree, 0, text).value, sum(of.entries.filter(({ node }) => shown(node).some((name) => expression.test(name)))), text);
    }
    assert.equal(page.find(doc, tree, 0, ""), null);
    assert.equal(page.find(doc, tree, 0, "sort<(").value, 0);  // no expression: as it is typed
    for (let top = 1; top < tree.count; top++) {
      const here = page.find(doc, tree, top, "serve");
      assert.ok(here.value <= tree.totalOf(top));
      if (doc.name[tree.place[top]].includes("serve")) assert.equal(here.share, tree.totalOf(top) > 0 ? 1 : 0);
    }
  }
});

test("boxes of a call fill what they cost, side by side, and the narrow ones are joined", () => {
  for (const seed of seeds) {
    const of = someDocument(seed), doc = opened(of), tree = page.buildTree(doc, page.take(doc, everything), { threads: true, inverted: false }), children = page.childrenOf(tree);
    for (const width of [30, 300, 1400])
      for (const zoom of [0, 1, 5]) {
        if (tree.totalOf(zoom) === 0) continue;
        const rows = page.layout(tree, children, zoom, width), scale = width / tree.totalOf(zoom), near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6 * width, `${a} ${b}`);
        let joined = 0;
        rows.forEach((row, line) => {
          row.forEach((box, i) => {
            assert.ok(box.x >= -1e-9 && box.x + box.width <= width + 1e-6);
            if (i > 0) assert.ok(row[i - 1].x + row[i - 1].width <= box.x + 1e-6);
            assert.deepEqual(page.boxAt(rows, line, box.x + box.width / 2), box);
            if (box.joined) { joined += box.joined; return; }
            if (line < rows.findIndex((some) => some.some(({ node }) => node === zoom))) return;  // callers have the full width
            near(box.width, tree.totalOf(box.node) * scale);
            const below = (rows[line + 1] ?? []).filter((one) => one.joined ? one.node === box.node : tree.parent[one.node] === box.node);
            const called = below.reduce((all, one) => all + one.value, 0);
            // All that is left out together is less than half a pixel.
            assert.ok(tree.totalOf(box.node) - tree.selfOf(box.node) - called <= 0.5 / scale + 1e-6);
          });
        });
        if (width === 30 && zoom === 0) assert.ok(joined > 0);
      }
    assert.equal(page.boxAt(page.layout(tree, children, 0, 300), 99, 5), null);
  }
});

test("hide takes a module or a crate out, and chips say what they are of", () => {
  for (const seed of seeds) {
    const of = someDocument(seed), doc = opened(of), taken = page.take(doc, everything);
    for (const [edit, kind, is] of [["hide:module:libc", "module", "libc.so"], ["hide:crate:/^std$/", "crate", "std"]]) {
      const expected = {};
      for (const { node, value } of of.entries) {
        const path = pathOf(of, node), shown = path.at(-1).startsWith("(idle:") ? path.slice(-1) : path;
        const key = shown.filter((name) => partOf(of, kind, name) !== is).join(";");
        expected[key] = (expected[key] ?? 0) + value;
      }
      assert.deepEqual(stacksOf(doc, page.buildTree(doc, taken, { threads: false, inverted: false }, page.shapeOf(doc, [edit]))), expected, edit);
    }
  }
  assert.equal(page.groupPattern("module", "libc.so.6", ["libc.so.6", "app"]), "module:libc.so.6");
  assert.equal(page.groupPattern("module", "app", ["app", "app-helper"]), "module:/^app$/");
  assert.equal(page.groupPattern("crate", "a+b", ["a+b2"]), "crate:/^a\\+b$/");
  assert.equal(page.patternText("focus", "crate:/^a\\+b$/"), "crate a+b");
  assert.equal(page.patternText("ignore", "module:libc.so"), "ignore module libc.so");
  assert.equal(page.patternText("focus", "[wait: futex]"), "waits for futex");
  assert.equal(page.patternText("focus", "module::run"), "focus module::run");
});

test("words of a command survive a shell", () => {
  assert.equal(page.quoted("it's; rm -rf /"), `'it'\\''s; rm -rf /'`);
  assert.equal(page.quoted("a.fathom"), "a.fathom");
});

test("no file of the page includes itself through others", () => {
  const folder = new URL("../src/", import.meta.url), files = readdirSync(folder).filter((name) => /\.tsx?$/.test(name)), includes = new Map();
  const stem = (name) => name.replace(/\.tsx?$/, "");
  for (const name of files)
    includes.set(stem(name), [...readFileSync(new URL(name, folder), "utf8").matchAll(/^import .* from "\.\/(\w+)";$/gm)].map(([, of]) => of));
  const walk = (name, path) => {
    assert.ok(!path.includes(name), [...path, name].join(" -> "));
    for (const of of includes.get(name) ?? []) walk(of, [...path, name]);
  };
  for (const name of includes.keys()) walk(name, []);
  assert.deepEqual(includes.get("types"), []);
});
