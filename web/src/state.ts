// One selection for all views. It is the page's address: Back undoes it, and a copied address opens the same view.
import { computed, signal } from "@preact/signals";
import { buildTree, functionTable, take, type Selection } from "./aggregate";
import { childrenOf } from "./flame_layout";
import { Kind, type Doc } from "./document";
import { quoted, secondsText } from "./words";

export const tabs = ["flame", "top", "callers", "threads", "quality"] as const;
export type Tab = (typeof tabs)[number];

export interface View {
  metric: string; range: [from: number, to: number] | null;  // slices
  thread: string | null; focus: string[]; ignore: string[];
  tab: Tab; inverted: boolean; byThread: boolean; fn: number | null;  // a place
}

export let doc: Doc;
export const view = signal<View>(null!);
export const hovered = signal<{ place: number; node: number } | null>(null);
export const zoom = signal(0);         // node of the tree
export const search = signal("");
export const notice = signal("");

export function start(document: Doc): void {
  doc = document;
  view.value = fromHash();
  addEventListener("hashchange", () => { if (location.hash.slice(1) !== toHash(view.value)) view.value = fromHash(); });
}

const idlePattern = "(idle:";
export const hasIdle = () => doc.kind.some((kind) => kind === Kind.idle);
// Threads that wait for work are most of what is waited, and no problem: left out until they are asked for.
export const ignoreFor = (metric: string, ignore: string[] = []) =>
  [...ignore.filter((pattern) => pattern !== idlePattern), ...(metric === "off-cpu" && hasIdle() ? [idlePattern] : [])];

export function toHash(v: View): string {
  const parts = new URLSearchParams();
  parts.set("m", v.metric);
  if (v.range) parts.set("t", v.range.map((slice) => slice * doc.head.slice_ms).join("-"));
  if (v.thread !== null) parts.set("thread", v.thread);
  v.focus.forEach((pattern) => parts.append("focus", pattern));
  v.ignore.forEach((pattern) => parts.append("ignore", pattern));
  if (v.tab !== "flame") parts.set("v", v.tab);
  if (v.inverted) parts.set("i", "1");
  if (!v.byThread) parts.set("threads", "0");
  if (v.fn !== null) parts.set("fn", doc.name[v.fn]);
  return parts.toString();
}

// An address is typed by anybody: what it names and the document does not have is left out.
function fromHash(): View {
  const parts = new URLSearchParams(location.hash.slice(1)), { head } = doc;
  const metric = head.metrics.find(({ name }) => name === parts.get("m"))?.name ?? head.metrics[0]?.name ?? "cpu";
  const times = /^(\d+)-(\d+)$/.exec(parts.get("t") ?? "");
  let range: View["range"] = null;
  if (times) {
    const [from, to] = [Math.floor(+times[1] / head.slice_ms), Math.min(head.slices, Math.ceil(+times[2] / head.slice_ms))];
    if (from < to && to - from < head.slices) range = [from, to];
  }
  const thread = parts.get("thread"), tab = parts.get("v") as Tab, fn = doc.name.indexOf(parts.get("fn") ?? "", 1);
  return {
    metric, range, thread: head.threads.some(({ name }) => name === thread) ? thread : null,
    focus: parts.getAll("focus"), ignore: parts.has("m") ? parts.getAll("ignore") : ignoreFor(metric), tab: tabs.includes(tab) ? tab : "flame",
    inverted: parts.get("i") === "1", byThread: parts.get("threads") !== "0", fn: parts.has("fn") && fn > 0 ? fn : null,
  };
}

// `replace`: it is no step of its own that Back would undo, as while a brush is dragged.
export function change(part: Partial<View>, replace = false): void {
  const next = { ...view.value, ...part };
  if (next.metric === "heap-peak" && next.range) next.metric = "heap-live";  // the peak is known of the whole recording
  const before = toHash(view.value), after = toHash(next);
  if (before === after && !replace) return;
  view.value = next;
  if (replace) history.replaceState(null, "", `#${after}`); else history.pushState(null, "", `#${after}`);
}

export const metric = computed(() => doc.head.metrics.find(({ name }) => name === view.value.metric) ?? { name: "cpu", title: "CPU time", unit: "samples", table: "" });
export const selection = computed<Selection>(() => {
  const v = view.value;
  return { metric: v.metric, from: v.range?.[0] ?? 0, to: v.range?.[1] ?? doc.head.slices, thread: v.thread, focus: v.focus, ignore: v.ignore };
});
const selectionKey = computed(() => JSON.stringify(selection.value));
export const taken = computed(() => { selectionKey.value; return take(doc, selection.peek()); });
const treeOptions = computed(() => `${view.value.inverted},${view.value.byThread}`);
export const tree = computed(() => {
  treeOptions.value;
  return buildTree(doc, taken.value, { threads: view.peek().byThread, inverted: view.peek().inverted });
});
export const children = computed(() => childrenOf(tree.value));
export const plainTree = computed(() => buildTree(doc, taken.value, { threads: false, inverted: false }));
export const functions = computed(() => functionTable(doc, plainTree.value));
export const functionOf = computed(() => new Map(functions.value.map((row) => [row.place, row])));

export const isIdleHidden = () => view.value.ignore.includes(idlePattern);
export const toggleIdle = () => change({ ignore: isIdleHidden() ? view.value.ignore.filter((p) => p !== idlePattern) : [...view.value.ignore, idlePattern] });

// The command that prints the same numbers.
export function command(v: View): string {
  const { head } = doc, words = ["fathom", "report", quoted(head.file), ...head.arguments.map(quoted), "--metric", v.metric];
  if (v.range && v.range[0] > 0) words.push("--from", secondsText(v.range[0] * head.slice_ms));
  if (v.range && v.range[1] < head.slices) words.push("--until", secondsText(v.range[1] * head.slice_ms));
  if (v.thread !== null) words.push("--thread", quoted(v.thread));
  for (const pattern of v.focus) words.push("--focus", quoted(pattern));
  for (const pattern of v.ignore) words.push("--ignore", quoted(pattern));
  return words.join(" ");
}
export function report(): Record<string, unknown> {  // what tests compare with the program's own report
  return { total: taken.value.total, unit: metric.value.unit, command: command(view.value), functions: functions.value
    .map((row) => ({ name: doc.name[row.place], module: doc.module[row.place], self: Math.round(row.self), total: Math.round(row.total) })) };
}
