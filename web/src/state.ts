// One selection for all views. It is the page's address: Back undoes a change, and a copied address opens the same view.
import { computed, signal } from "@preact/signals";
import { buildTimeTree, buildTree, costsOf, functionTable, take, treeOf } from "./aggregate";
import { canCompare, compare, withBase } from "./compare";
import { childrenOf } from "./flame_layout";
import { keyHint } from "./key_names";
import { firstEdits, isEdit, shapeOf, startsOf } from "./shape";
import { Kind, type Comparison, type Doc, type Line, type Selection, type Sizes } from "./types";
import { askedSize, sizesFrom } from "./words";

export const tabs = ["flame", "top", "callers", "threads", "waits", "heap", "tree", "modules", "series", "quality", "spans"] as const;
// For two recordings: only what both have in common, and no time.
const comparedTabs: readonly Tab[] = ["flame", "top", "callers", "threads", "tree", "quality"];
// Without costs, as in a recording of memory alone, there is nothing to draw a tree of.
const costlessTabs: readonly Tab[] = ["series", "quality"];
export const hasTab = (tab: Tab) => !doc.head.metrics.length ? costlessTabs.includes(tab) : tab === "spans" ? doc.spans !== null && !doc.compared : !doc.compared || comparedTabs.includes(tab);
const sides = { base: [0, 1] as [number, number], range: [1, 2] as [number, number] };
export const keyOf = (tab: Tab) => tab === "spans" ? keyHint("spans").slice(4) : `${(tabs.indexOf(tab) + 1) % 10}`;
export type Tab = (typeof tabs)[number];

// For a comparison's flame graph: the meaning of a box's width.
export const widths = ["both", "new", "base"] as const;
export type Widths = (typeof widths)[number];

// The meaning of the colours, and the order of boxes.
export const colorings = ["crate", "kind", "self", "function", "thread", "cause"] as const;
export const orders = ["size", "time"] as const;
export const waitLists = ["causes", "longest", "locks", "files", "chains"] as const;
export const heapLists = ["sites", "sizes", "blocks"] as const;

export interface View {
  metric: string; range: [from: number, to: number] | null;  // slices
  base: [from: number, to: number] | null;                   // the time in slices with which `range` is compared
  thread: string | null; focus: string[]; ignore: string[];
  tab: Tab; inverted: boolean; byThread: boolean; fn: number | null;  // a place
  widths: Widths;
  series: string | null;  // a series with a lane of its own
  heat: string | null;    // the lane shown as a heat map
  lanes: boolean; tracks: boolean;  // whether lanes are shown, and a track for each thread
  up: boolean; order: (typeof orders)[number]; color: (typeof colorings)[number] | null; edits: string[];  // shape.ts
  waits: (typeof waitLists)[number]; wait: number | null;  // the selected row of the single waits
  heap: (typeof heapLists)[number]; sizes: Sizes | null;
}

export let doc: Doc;
export const view = signal<View>(null!);
export const hovered = signal<{ place: number; node: number } | null>(null);
export const zoom = signal(0);         // node of the tree
export const search = signal("");
export const notice = signal("");
export const dark = signal(false);

export function start(document: Doc): void {
  doc = document;
  view.value = fromHash();
  addEventListener("hashchange", () => { drop(); if (location.hash.slice(1) !== toHash(view.value)) view.value = fromHash(); });
}

export const heatLanes = ["memory", "cpu", "wait", "faults", "io", "series"] as const;

// With several processes, each has a line with that name.
export const lineName = (line: Line) => doc.lines.some((one) => one !== line && one.name === line.name) ? `${line.name} of ${line.pid}` : line.name;

export const idlePattern = "(idle:";
export const hasIdle = () => doc.kind.some((kind) => kind === Kind.idle);
// Threads that wait for work account for most waiting, and are no problem: left out until requested.
export const ignoreFor = (metric: string, ignore: string[] = []) =>
  [...ignore.filter((pattern) => pattern !== idlePattern), ...(metric === "off-cpu" && hasIdle() ? [idlePattern] : [])];

// The colours of a metric until the user chooses others: of waiting, by cause, as in the flame graphs in SVG.
type Coloring = (typeof colorings)[number];
export const colorOfView = (v: View): Coloring => v.metric === "off-cpu" ? v.color ?? "cause" : v.color === null || v.color === "cause" ? "crate" : v.color;

function toHash(v: View): string {
  const parts = new URLSearchParams();
  parts.set("m", v.metric);
  if (v.range && !doc.compared) parts.set("t", v.range.map((slice) => slice * doc.head.slice_ms).join("-"));
  if (v.base && !doc.compared) parts.set("b", v.base.map((slice) => slice * doc.head.slice_ms).join("-"));
  if (v.thread !== null) parts.set("thread", v.thread);
  v.focus.forEach((pattern) => parts.append("focus", pattern));
  v.ignore.forEach((pattern) => parts.append("ignore", pattern));
  if (v.tab !== "flame") parts.set("v", v.tab);
  if (v.inverted) parts.set("i", "1");
  if (!v.byThread) parts.set("threads", "0");
  if (v.base && v.widths !== "both") parts.set("w", v.widths);
  if (v.heat !== null) parts.set("heat", v.heat);
  if (v.series !== null) parts.set("s", v.series);
  if (!v.lanes) parts.set("lanes", "0");
  if (v.tracks) parts.set("tracks", "1");
  if (v.up) parts.set("up", "1");
  if (v.order !== "size") parts.set("order", v.order);
  if (v.color !== null) parts.set("color", v.color);
  v.edits.forEach((edit) => parts.append("x", edit));
  if (v.waits !== "causes") parts.set("waits", v.waits);
  if (v.wait !== null) parts.set("wait", `${v.wait}`);
  if (v.heap !== "sites") parts.set("heap", v.heap);
  if (v.sizes) parts.set("sizes", askedSize(v.sizes));
  if (v.fn !== null) parts.set("fn", doc.name[v.fn]);
  return parts.toString();
}

// Sizes are known for allocations, and select sites of the heap.
const hasSizes = (metric: string) => doc.heap !== null && !doc.costs.has(metric);
// The sites that requested such blocks; for another metric, their live memory.
export const showSizes = (sizes: Sizes | null) => change({ sizes, metric: hasSizes(view.value.metric) ? view.value.metric : "heap-live" });

// An address may be typed by hand: names that the document does not have are ignored.
function fromHash(): View {
  const parts = new URLSearchParams(location.hash.slice(1)), { head } = doc;
  const metric = head.metrics.find(({ name }) => name === parts.get("m"))?.name ?? head.metrics[0]?.name ?? "";
  const rangeOf = (text: string | null): View["range"] => {
    const times = /^(\d+)-(\d+)$/.exec(text ?? "");
    if (!times) return null;
    const [from, to] = [Math.floor(+times[1] / head.slice_ms), Math.min(head.slices, Math.ceil(+times[2] / head.slice_ms))];
    return from < to && to - from < head.slices ? [from, to] : null;
  };
  const w = parts.get("w") as Widths;
  const thread = parts.get("thread"), tab = parts.get("v") as Tab, fn = doc.name.indexOf(parts.get("fn") ?? "", 1);
  const one = <T extends string>(among: readonly T[], name: string) => among.find((word) => word === parts.get(name)) ?? among[0];
  // Stacks begin at one pattern, the last one, and the focus on it selects them.
  const asked = parts.getAll("x").filter(isEdit), from = startsOf(asked).at(-1), edits = asked.filter((edit) => !edit.startsWith("from:") || edit === `from:${from}`);
  const focus = from === undefined || parts.getAll("focus").includes(from) ? parts.getAll("focus") : [from];
  const wait = /^\d+$/.test(parts.get("wait") ?? "") && +parts.get("wait")! < doc.waits.start.length ? +parts.get("wait")! : null;
  return {
    up: parts.get("up") === "1", order: one(orders, "order"), color: colorings.find((word) => word === parts.get("color")) ?? null, edits: parts.has("m") ? edits : firstEdits(doc),
    waits: one(waitLists, "waits"), heap: one(heapLists, "heap"), wait, sizes: hasSizes(metric) ? sizesFrom(parts.get("sizes") ?? "") : null,
    metric, range: rangeOf(parts.get("t")), base: canCompare(metric) ? rangeOf(parts.get("b")) : null, widths: widths.includes(w) ? w : "both",
    lanes: parts.get("lanes") !== "0", tracks: parts.get("tracks") === "1",
    heat: heatLanes.find((kind) => kind === parts.get("heat")) ?? null,
    series: doc.lines.some((line) => lineName(line) === parts.get("s")) ? parts.get("s") : null,
    thread: head.threads.some(({ name }) => name === thread) ? thread : null,
    focus, ignore: parts.has("m") ? parts.getAll("ignore") : ignoreFor(metric), tab: tabs.includes(tab) && hasTab(tab) ? tab : tabs.find(hasTab) ?? "quality",
    inverted: parts.get("i") === "1", byThread: parts.get("threads") !== "0", fn: parts.has("fn") && fn > 0 ? fn : null,
    ...(doc.compared ? sides : {}),
  };
}

// Browsers take some milliseconds for each new address, so while a brush is being dragged only its last one is written.
let unwritten: ReturnType<typeof setTimeout> | null = null;
const drop = () => { if (unwritten !== null) clearTimeout(unwritten); unwritten = null; };
export function writeAddress(): void {
  if (unwritten === null) return;
  drop();
  history.replaceState(null, "", `#${toHash(view.value)}`);
}

// `replace`: not a separate step for Back, as while a brush is being dragged.
export function change(part: Partial<View>, replace = false): void {
  const next = { ...view.value, ...part, ...(doc.compared ? sides : {}) };
  if (!doc.compared && next.metric === "heap-peak" && (next.range || next.base)) next.metric = "heap-live";  // the peak is only known for the whole recording
  if (!hasSizes(next.metric)) next.sizes = null;
  const before = toHash(view.value), after = toHash(next);
  if (before === after && !replace) return;
  if (!replace) writeAddress();
  view.value = next;
  if (replace) unwritten ??= setTimeout(writeAddress, 100); else history.pushState(null, "", `#${after}`);
}

export const dropFilters = () => change({ range: null, base: null, thread: null, focus: [], ignore: [], sizes: null, edits: view.value.edits.filter((edit) => !edit.startsWith("from:")) });
export function nextMetric(): void {
  const names = doc.head.metrics.map(({ name }) => name).filter((name) => doc.compared || canCompare(name) || !(view.value.range ?? view.value.base));
  if (names.length < 2) return;
  const metric = names[(names.indexOf(view.value.metric) + 1) % names.length];
  zoom.value = 0;
  change({ metric, ignore: ignoreFor(metric, view.value.ignore) });
}
// By its own length, within the recording.
export function shiftTime(by: 1 | -1): void {
  const { range } = view.value;
  if (!range) return;
  const length = range[1] - range[0], from = Math.max(0, Math.min(doc.head.slices - length, range[0] + by * length));
  if (from !== range[0]) change({ range: [from, from + length] });
}

export const metric = computed(() => doc.head.metrics.find(({ name }) => name === view.value.metric) ?? { name: "", title: "", unit: "samples", table: "", weight: 1 });
export const selection = computed<Selection>(() => {
  const v = view.value;
  return { metric: v.metric, from: v.range?.[0] ?? 0, to: v.range?.[1] ?? doc.head.slices, thread: v.thread, focus: v.focus, ignore: v.ignore, sizes: v.sizes };
});
const selectionKey = computed(() => JSON.stringify(selection.value));
export const taken = computed(() => { selectionKey.value; return take(doc, selection.peek()); });
// A comparison leaves out idle waits, like `fathom diff`.
const comparedSelection = () => ({ ...selection.peek(), ignore: ignoreFor(selection.peek().metric, selection.peek().ignore) });
const baseKey = computed(() => JSON.stringify(view.value.base));
export const comparison = computed<Comparison | null>(() => {
  selectionKey.value; baseKey.value;
  const { base } = view.peek();
  return doc.compared ? doc.compared.get(selection.peek().metric) ?? null : base && compare(doc, comparedSelection(), base);
});
const comparedTaken = computed(() => {
  selectionKey.value; baseKey.value;
  const { base } = view.peek(), of = comparedSelection();
  return base ? withBase(doc, take(doc, of), of, base) : taken.value;
});
const editKey = computed(() => JSON.stringify(view.value.edits));
export const shape = computed(() => { editKey.value; return shapeOf(doc, view.peek().edits); });
// Values known only at two moments have no time order, and neither has a comparison.
export const hasOrder = (v: View) => !v.base && !v.inverted && doc.head.slices > 1 && (doc.costs.has(v.metric) || v.metric === "heap-allocated" || v.metric === "heap-allocations");
export const inTime = computed(() => view.value.order === "time" && hasOrder(view.value));
const timeParts = 200;
const treeOptions = computed(() => `${view.value.inverted},${view.value.byThread},${view.value.widths},${inTime.value}`);
// For a comparison, totals are figures (per second ...), of one side or of both together, matching the width of boxes.
export const tree = computed(() => {
  treeOptions.value;
  const v = view.peek();
  if (inTime.value) { selectionKey.value; return buildTimeTree(doc, selection.peek(), shape.value, v.byThread, timeParts); }
  const built = buildTree(doc, comparedTaken.value, { threads: v.byThread, inverted: v.inverted }, shape.value);
  const { base } = built, factors = comparison.value?.factors;
  if (!base || !factors) return built;
  const [old, fresh] = [v.widths === "new" ? 0 : factors[0], v.widths === "base" ? 0 : factors[1]];
  const figures = (of: Float64Array, factor: number) => of.map((value) => value * factor);
  const wide = (now: Float64Array, before: Float64Array) => now.map((value, i) => Math.max(0, value * fresh) + Math.max(0, before[i] * old));
  const own = costsOf(built), both = { self: wide(own.self, base.self), total: wide(own.total, base.total) };
  return {
    ...treeOf(built.parent, built.place, both, { self: figures(base.self, factors[0]), total: figures(base.total, factors[0]) }),
    fresh: { self: figures(own.self, factors[1]), total: figures(own.total, factors[1]) },
  };
});
export const children = computed(() => childrenOf(tree.value, !inTime.value));
// The base side, for the callers of a comparison.
export const baseTree = computed(() => {
  const of = comparedTaken.value;
  return of.base ? buildTree(doc, { ...of, values: of.base, base: undefined }, { threads: false, inverted: false }) : null;
});
export const plainTree = computed(() => buildTree(doc, taken.value, { threads: false, inverted: false }));
export const functions = computed(() => functionTable(doc, plainTree.value));
export const functionOf = computed(() => new Map(functions.value.map((row) => [row.place, row])));

// Stacks from the first call that matches, and no stacks without one: the focus selects them, so that the command's sums are
// the same.
export const showFrom = (pattern: string) =>
  change({ focus: [pattern], edits: [...view.value.edits.filter((edit) => !edit.startsWith("from:")), `from:${pattern}`] });
export const dropFrom = (edit: string) => change({ focus: view.value.focus.filter((p) => `from:${p}` !== edit), edits: view.value.edits.filter((e) => e !== edit) });

export const isIdleHidden = () => view.value.ignore.includes(idlePattern);
export const toggleIdle = () => change({ ignore: isIdleHidden() ? view.value.ignore.filter((p) => p !== idlePattern) : [...view.value.ignore, idlePattern] });
