// How the page looks and speaks, as far as it needs no browser: colours and their contrast, names that do not fit, what is folded at
// the start, the summary of a selected time.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as page from "../dist/pure.mjs";
import { documentOf, randomOf, someDocument } from "./documents.mjs";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const opened = (of) => page.readDocument(documentOf(of));
const pairs = [...Object.values(page.ownerHues), ...page.groupHues, ...page.shareHues, page.noiseHue, ...page.lessHues, ...page.moreHues];

test("text on every fill has the contrast that WCAG asks for, in both themes", () => {
  for (const pair of pairs) for (const fill of pair) assert.ok(page.contrast(page.inkOn(fill), fill) >= 4.5, `${fill}: ${page.contrast(page.inkOn(fill), fill)}`);
});

test("words of the page can be read in both themes", () => {
  const css = read("../src/page.css"), themes = [/:root \{\s*color-scheme[^}]*\}/.exec(css)[0], /prefers-color-scheme: dark\) \{\s*:root \{[^}]*\}/.exec(css)[0]];
  for (const theme of themes) {
    const value = Object.fromEntries([...theme.matchAll(/(--[\w-]+): (#[0-9a-f]{6}|#[0-9a-f]{3})\b/g)].map(([, name, color]) => [name, color.length === 4 ? color.replace(/[0-9a-f]/g, "$&$&") : color]));
    for (const text of ["--ink", "--quiet", "--accent", "--warn"]) for (const ground of ["--page", "--panel"]) assert.ok(page.contrast(value[text], value[ground]) >= 4.5, `${text} on ${ground}: ${page.contrast(value[text], value[ground])}`);
    for (const text of ["--ink", "--quiet"]) assert.ok(page.contrast(value[text], value["--chip"]) >= 4.5, `${text} on a chip: ${page.contrast(value[text], value["--chip"])}`);
    for (const mark of ["--accent", "--base", "--heat", "--mark"]) assert.ok(page.contrast(value[mark], value["--page"]) >= 2.4, mark);
  }
});

test("bands of lanes and causes can be seen on the page", () => {
  const grounds = ["#ffffff", "#14171c"];
  for (const hues of [page.bandHues, page.causeHues, [page.runningHue], page.faultHues, [page.stallHue]]) for (const hue of hues) hue.forEach((fill, theme) => assert.ok(page.contrast(fill, grounds[theme]) >= 1.35, fill));
});

// The program draws flame graphs in SVG with the same hues.
test("the page and the pictures of the program have one palette", () => {
  const source = read("../../src/present/svg/painter.h"), diff = read("../../src/present/svg/diff_flame_graph.cpp");
  const hex = (parts, base) => `#${parts.map((part) => parseInt(part, base).toString(16).padStart(2, "0")).join("")}`;
  const pairsIn = (text) => [...text.matchAll(/\{0x(\w\w), 0x(\w\w), 0x(\w\w)\}, \{0x(\w\w), 0x(\w\w), 0x(\w\w)\}/g)].map(([, ...parts]) => [hex(parts.slice(0, 3), 16), hex(parts.slice(3), 16)]);
  for (const [name, owner] of Object.entries({ thread: "Thread", kernel: "Kernel", runtime: "Runtime", allocator: "Allocator", generated: "Generated", cause: "Cause", unknown: "Unnamed", other: "Other" }))
    assert.deepEqual(pairsIn(new RegExp(`k${owner}Hue = .*`).exec(source)[0])[0], [...page.ownerHues[name]], name);
  assert.deepEqual(pairsIn(/kGroupHues = [^;]*;/.exec(source)[0]), page.groupHues.map((hue) => [...hue]));
  // Kinds of waits: their names, colours and causes.
  const times = read("../../src/present/svg/time_colors.cpp"), causes = read("../../src/analysis/core/wait_cause.cpp");
  const hueOf = { kAllocatorHue: page.ownerHues.allocator, kOtherHue: page.ownerHues.other };
  const kinds = [...times.matchAll(/\{"([^"]+)", (k\w+)(?:\[(\d)\])?\}/g)].map(([, name, hue, row]) => [name, [...(row ? page.groupHues[row] : hueOf[hue] ?? [])]]);
  assert.deepEqual(page.causeKinds.map((name, kind) => [name, [...page.causeHues[kind]]]), kinds.filter(([name]) => name !== "on a CPU" && name !== "idle"));
  const enumerators = ["kInQueue", "kAtLocks", "kAtFiles", "kAtPeers", "kAsleep", "kForMemory", "kOtherwise"], known = new Map();
  for (const [, cases, kind] of times.slice(times.indexOf("kind_of_cause")).matchAll(/((?:\s*case Cause::k\w+:)+)\s*return (k\w+);/g))
    for (const [, cause] of cases.matchAll(/Cause::(k\w+)/g)) known.set(cause, enumerators.indexOf(kind));
  const frames = [...causes.matchAll(/\{Cause::(k\w+), "[^"]*", "[^"]*", "\[(?:wait: )?([^\]"]+)\]"\}/g)];
  assert.ok(frames.length > 20 && known.size > 15);
  for (const [, cause, text] of frames) assert.equal(page.causeKindOf(text), known.get(cause) ?? enumerators.length - 1, text);
  const listed = (name) => [...new RegExp(`${name} = ([^;]*);`).exec(diff)[1].matchAll(/\{(\d+), (\d+), (\d+)\}/g)].map(([, ...parts]) => hex(parts, 10));
  const column = (hues, theme) => hues.map((hue) => hue[theme]);
  assert.deepEqual(listed("kLessLight"), column(page.lessHues, 0));
  assert.deepEqual(listed("kMoreLight"), column(page.moreHues, 0));
  assert.deepEqual(listed("kLessDark"), column(page.lessHues, 1));
  assert.deepEqual(listed("kMoreDark"), column(page.moreHues, 1));
});

// Names by chance, of parts as C++, Rust, Go and C have them.
function someName(random) {
  const parts = ["a", "std", "HashMap<K, V>", "vec", "{{closure}}", "operator()", "do_mine_block", "tokio", "Pool<alloc::Global>", "__KeccakF1600"], count = 1 + random(6);
  const name = Array.from({ length: count }, (_, i) => i === 0 ? "root_of_it" : parts[random(parts.length)]).join("::");
  return random(4) === 0 ? `${name}(int, char const*)` : name;
}
test("a name that is cut keeps its last part, and says where it was cut", () => {
  const random = randomOf(5);
  for (let i = 0; i < 400; i++) {
    const name = someName(random), [path, last] = page.split(name);
    assert.equal(path + last, page.folded(name));
    assert.ok(!last.startsWith("{{"), `${name}: ${last}`);
    for (let room = 0; room < 60; room++) {
      const out = page.fitted(name, room, (text) => text.length), bare = out.replace(/…::/, "");
      assert.ok(out.length <= Math.max(room, 0), `${name} in ${room}: ${out}`);
      assert.ok(!/^[….:]+$/.test(out), `${name} in ${room}: a lone mark`);
      // The last part is there whole or up to its mark, unless it is a closure's, which may be cut to its function.
      const key = last.replace(/[<({].*$/s, "").replace(/::$/, "");
      if (out) assert.ok(bare.includes(key) || bare.includes("…") && (key.startsWith(bare.slice(0, 3)) || bare.includes("operator")), `${name} in ${room}: ${out}`);
      const bares = [/$^/g, /\(…?\)$/g, /(<…>)?(\(…?\))?$/g, /(::\{\{.*\}\})+(\(…?\))?$/g].map((cut) => page.folded(name).replace(cut, ""));
      if (out && out !== name && !out.includes("…")) assert.ok(bares.some((one) => one.endsWith(out)), `${name} in ${room}: ${out} is cut without a mark`);
    }
  }
  const fitted = (name, room) => page.fitted(name, room, (text) => text.length);
  assert.equal(fitted("<axum::route::RouteFuture<E> as core::future::Future>::poll", 24), "…::RouteFuture::poll");
  assert.equal(fitted("<axum::route::RouteFuture<E> as core::future::Future>::poll", 14), "RouteFu…::poll");
  assert.equal(fitted("<F as axum::handler::Handler<(M,T1,T2),S>>::call::{{closure}}", 34), "…::Handler::call::{{closure}}");
  assert.equal(fitted("anvil::PendingTransaction<T>::new", 14), "PendingT…::new");
  assert.equal(fitted("anvil::PendingTransaction<T>::new", 9), "…::new");
  assert.equal(fitted("a::to::new", 7), "…::new");
  assert.deepEqual(page.split("anvil::eth::Backend<N>::do_mine_block::{{closure}}"), ["anvil::eth::Backend<…>::", "do_mine_block::{{closure}}"]);
  assert.deepEqual(page.split("<a::Pool as b::Api>::go"), ["<a::Pool as b::Api>::", "go"]);
  assert.deepEqual(page.split("net/http.(*conn).serve"), ["net/", "http.(*conn).serve"]);
  assert.deepEqual(page.split("main"), ["", "main"]);
  assert.deepEqual(page.split("(anonymous namespace)::Graph::walk(int)"), ["Graph::", "walk(…)"]);
});

// The start of a thread, the program, a sort of the library that costs something itself and calls the program back, and the kernel.
const folds = {
  names: ["start_thread", "call_once", "app::run", "qsort", "app::less", "entry_syscall", "ksys_read"], kinds: [2, 2, 0, 2, 0, 1, 1], modules: ["libc", "std", "app", "libc", "app", "[kernel]", "[kernel]"], crates: ["", "", "app", "", "app", "", ""],
  calls: [{ parent: 0, place: 1 }, { parent: 1, place: 2 }, { parent: 2, place: 3 }, { parent: 3, place: 4 }, { parent: 4, place: 5 }, { parent: 3, place: 6 }, { parent: 6, place: 7 }, { parent: 0, place: 1 }],
  threads: ["main"], slices: 40, entries: [{ thread: 0, node: 4, slice: 1, value: 50 }, { thread: 0, node: 5, slice: 2, value: 30 }, { thread: 0, node: 7, slice: 3, value: 20 }, { thread: 0, node: 3, slice: 30, value: 5 }],
};
const rowsOf = (doc, edits) => {
  const tree = page.buildTree(doc, page.take(doc, { metric: "cpu", from: 0, to: 40, thread: null, focus: [], ignore: [] }), { threads: false, inverted: false }, page.shapeOf(doc, edits)), out = {};
  for (let node = 0; node < tree.count; node++) out[page.labelOf(doc, tree.place[node])] = tree.totalOf(node);
  return out;
};
test("a page begins without frames that only pass time on, and with the kernel side as one", () => {
  const doc = opened(folds);
  assert.deepEqual(page.firstEdits(doc), ["plumbing", "kernel"]);
  assert.deepEqual(rowsOf(doc, ["plumbing", "kernel"]), { all: 105, "app::run": 105, qsort: 80, "app::less": 30, kernel: 20 });
  assert.deepEqual(rowsOf(doc, ["kernel"]), { all: 105, start_thread: 105, call_once: 105, "app::run": 105, qsort: 80, "app::less": 30, kernel: 20 });
  const plain = opened({ ...folds, kinds: folds.kinds.map(() => 0) });
  assert.deepEqual(page.firstEdits(plain), [], "nothing to fold");
});
test("folds keep sums", () => {
  for (const seed of [1, 2, 3, 4]) {
    const of = someDocument(seed), random = randomOf(seed), doc = opened({ ...of, kinds: of.kinds.map((kind) => kind === 7 ? 7 : random(4)) });
    const taken = page.take(doc, { metric: "cpu", from: 0, to: 40, thread: null, focus: [], ignore: [] });
    for (const edits of [["plumbing"], ["kernel"], ["plumbing", "kernel", "recursion"]]) assert.equal(page.buildTree(doc, taken, { threads: true, inverted: false }, page.shapeOf(doc, edits)).totalOf(0), taken.total, edits.join());
  }
});

const text = (line) => line.parts.map((part) => part.strong ? `*${part.text}*` : part.place ? `[${part.text}]` : part.text).join("");
test("the summary of a selected time covers only that time", () => {
  const doc = opened(folds), of = (from, to) => page.selectedSummary(doc, { metric: "cpu", from, to, thread: null, focus: [], ignore: [], sizes: null }).map((line) => `${line.subject} ${text(line)}`);
  assert.deepEqual(of(0, 10), ["CPU *1.01 s*, 10.10 cores; most in [qsort] (50.0 %), [app::less] (30.0 %), [ksys_read] (20.0 %)"]);
  assert.deepEqual(of(30, 31), ["CPU *50.5 ms*, 5.05 cores; most in [app::run] (100 %)"]);
  assert.deepEqual(of(10, 20), ["CPU *no sample* in this time"]);
  assert.match(page.selectedQuality(doc, { metric: "cpu", from: 0, to: 10, thread: null, focus: [], ignore: [] }), /^100 samples in this time: a share of 10 % is exact to ± 5.9 points$/);
});

test("a sentence has its first figure in bold, its functions as links, and its last remark as a doubt", () => {
  const doc = opened(folds), line = (sentence, focus = "") => page.lineOf(doc, { subject: "CPU", text: sentence, metric: "cpu", focus });
  assert.equal(text(line("app::run accounts for 41.3 % of CPU time, most of it in app::less.")), "[app::run] accounts for *41.3 %* of CPU time, most of it in [app::less].");
  assert.equal(text(line("app::run (run.cpp:34) accounts for 56 % ±3 of CPU time.")), "[app::run] (run.cpp:34) accounts for *56 %* ±3 of CPU time.", "a line is no figure");
  assert.equal(text(line("qsort has 12 % of it.")), "qsort has *12 %* of it.", "a word that could be one of the language");
  assert.equal(text(line("qsort has 12 % of it.", "qsort")), "[qsort] has *12 %* of it.");
  const doubtful = line("Live memory swings by ±7.3 MiB. (confidence medium: it may have grown by up to 103.4 MiB)");
  assert.equal(text(doubtful), "Live memory swings by *±7.3 MiB*.");
  assert.equal(doubtful.doubt, "confidence medium: it may have grown by up to 103.4 MiB");
  assert.equal(line("Waited 3 s (91 % of the time): 2 s for a CPU.").doubt, "");
});

test("of two times, what changed most comes first", () => {
  const change = (base, fresh, beyondNoise) => ({ subject: `${base} ${fresh}`, change: { base, fresh, beyondNoise } });
  assert.deepEqual(page.sortedChanges([change(100, 110, true), change(10, 90, false), change(5, 20, true), change(0, 3, true)]).map(({ subject }) => subject), ["0 3", "5 20", "100 110", "10 90"]);
});

test("costs belong to the code that a reader looks for", () => {
  const waits = opened({ ...folds, names: ["main", "app::lock", "pthread_mutex_lock", "[wait: futex]"], kinds: [0, 0, 2, 6], modules: ["app", "app", "libc", ""], crates: ["", "app", "", ""],
    calls: [{ parent: 0, place: 1 }, { parent: 1, place: 2 }, { parent: 2, place: 3 }, { parent: 3, place: 4 }], entries: [{ thread: 0, node: 4, slice: 1, value: 9 }, { thread: 0, node: 3, slice: 1, value: 2 }] });
  waits.costs.set("off-cpu", waits.costs.get("cpu"));
  const of = (metric) => page.ownersOf(waits, { ...page.take(waits, { metric: "cpu", from: 0, to: 40, thread: null, focus: [], ignore: [] }), metric }).map(([place, value]) => `${waits.name[place]} ${value}`);
  assert.deepEqual(of("cpu"), ["[wait: futex] 9", "pthread_mutex_lock 2"]);
  assert.deepEqual(of("off-cpu"), ["app::lock 11"]);
});

test("a wait belongs to the user's own code, whatever lock or executor it goes through", () => {
  const names = ["app::run", "pool::execute", "tokio::park", "__GI___futex", "[wait: futex]"], whose = { own: 0, linked: 1, runtime: 2 };
  const waiter = (owners) => {
    const doc = opened({ ...folds, names, kinds: [0, 0, 0, 2, 6], modules: names.map(() => "app"), crates: names.map(() => ""), whose: [...owners.map((owner) => whose[owner]), 2, 2],
      calls: names.map((_, i) => ({ parent: i, place: i + 1 })), entries: [{ thread: 0, node: 5, slice: 1, value: 1 }] });
    return doc.name[page.waiterOf(doc, 5)];
  };
  assert.equal(waiter(["own", "linked", "runtime"]), "app::run");
  assert.equal(waiter(["runtime", "linked", "runtime"]), "pool::execute");
  assert.equal(waiter(["runtime", "runtime", "runtime"]), "tokio::park");
});

test("a recording without waits or a heap has none of them, and no value of another metric", () => {
  const doc = opened(folds), of = (metric) => page.take(doc, { metric, from: 0, to: 40, thread: null, focus: [], ignore: [], sizes: null }).total;
  assert.deepEqual(["off-cpu", "heap-live", ""].map(of), [0, 0, 0]);
  const heap = opened({ ...folds, heap: [{ thread: 0, node: 1, allocated: [[0, 64]], sizes: [7] }] });
  assert.equal(page.take(heap, { metric: "off-cpu", from: 0, to: 40, thread: null, focus: [], ignore: [], sizes: null }).total, 0);
});

// Their words and letters are in one table, which the terminal views read too.
test("every key of the table does something, on the page and in the pictures", () => {
  const rows = read("../../src/present/keys/key_rules.txt").split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split("|").map((cell) => cell.trim()));
  const namesIn = (surface) => rows.filter((cells) => cells[surface] && cells[1] !== "-" ).map((cells) => cells[1]).sort();
  const actions = /keyActions(.*?)^\};/ms.exec(read("../src/keys.ts"))[1], letters = /const letters(.*)\};/.exec(read("../svg/flame_graph.ts"))[1];
  assert.deepEqual([...actions.matchAll(/^  "?([\w-]+)"?: \{/gm)].map(([, name]) => name).sort(), namesIn(2));
  assert.deepEqual([...letters.matchAll(/[{,] ?(\w+): \(\) =>/g)].map(([, name]) => name).sort(), namesIn(3).filter((name) => name !== "search" && name !== "back"), "those two are keys in the field, too");
  assert.deepEqual(page.keyRowsOfPage, rows.filter((cells) => cells[2]).map((cells) => [cells[0].split(/ +/), cells[1], cells[2]]), "dist was built from this table");
  assert.equal(page.nameOfKey("N"), "previous");
  assert.equal(page.keyHint("tracks"), "key L");
});
