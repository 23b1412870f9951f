// Adds up the selected values, from columns of running sums: values of cells, the call tree, tables. Pure. The sums equal those
// of `fathom report` with the same options, to the unit (tests/browser/page_browser_test.cpp).
import { plainShape } from "./shape";
import { makeSkeleton, outermostOf, type Skeleton } from "./skeleton";
import { ShapeKind, type Around, type Cells, type CostTable, type Costs, type Doc, type FunctionRow, type Selection, type Shape, type Sizes, type Sums, type Taken, type Tree } from "./types";
import { placeMatcher } from "./words";

const wanted = 1, unwanted = 2;
// For each node: whether the selection takes the time spent there.
export function takenNodes(doc: Doc, focus: string[], ignore: string[]): Uint8Array {
  const out = new Uint8Array(doc.nodes).fill(1);
  if (!focus.length && !ignore.length) return out;
  const marks = new Uint8Array(doc.places);
  for (const [patterns, mark] of [[focus, wanted], [ignore, unwanted]] as const)
    for (const matches of patterns.map((pattern) => placeMatcher(doc, pattern)))
      for (let i = 1; i < doc.places; i++) if (matches(i)) marks[i] |= mark;
  const all = new Uint8Array(doc.nodes);
  for (let i = 1; i < doc.nodes; i++) all[i] = all[doc.parent[i]] | marks[doc.place[i]];
  for (let i = 0; i < doc.nodes; i++) out[i] = !(all[i] & unwanted) && (!focus.length || all[i] & wanted) ? 1 : 0;
  return out;
}

// For each cell of the heap: whether it requested blocks of these sizes; null: all are taken.
export function sizedCells(doc: Doc, cells: Cells, sizes: Sizes | null): Uint8Array | null {
  const { shapes } = doc;
  if (!sizes || !shapes || cells !== doc.heap) return null;
  const out = new Uint8Array(cells.node.length);
  for (let i = 0; i < shapes.cell.length; i++)
    if (shapes.kind[i] === ShapeKind.size && shapes.blocks[i] > 0 && shapes.bucket[i] >= sizes[0] && shapes.bucket[i] < sizes[1]) out[shapes.cell[i]] = 1;
  return out;
}

// The first entry of cell `i` at or after `slice`.
export function entryAt(cells: Cells, i: number, slice: number): number {
  let low = cells.first[i], high = cells.first[i + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cells.slice[middle] < slice) low = middle + 1; else high = middle;
  }
  return low;
}

// Of a metric that the recording does not have, such as waiting in one of CPU time alone.
const nothing: CostTable = { thread: new Uint32Array(0), node: new Uint32Array(0), first: new Uint32Array(1), slice: new Uint16Array(0), sums: new Uint32Array(1) };
// A table of its own; null: the metric is one of the heap's.
const tableOf = (doc: Doc, metric: string): CostTable | null => doc.costs.get(metric) ?? (doc.heap && metric.startsWith("heap-") ? null : nothing);
export const cellsOf = (doc: Doc, metric: string): Cells => tableOf(doc, metric) ?? doc.heap!;

export function cellValuesOf(table: CostTable, from: number, to: number): Float64Array {
  const out = new Float64Array(table.node.length);
  for (let i = 0; i < out.length; i++) out[i] = table.sums[entryAt(table, i, to)] - table.sums[entryAt(table, i, from)];
  return out;
}

// Running sums over entries of what was added, and for metrics that count live amounts, of what was removed.
function flowOf(doc: Doc, metric: string): { came: Sums; went: Float64Array | null } {
  const table = tableOf(doc, metric), heap = doc.heap!;
  if (table) return { came: table.sums, went: null };
  if (metric === "heap-allocations") return { came: heap.sumAllocatedBlocks, went: null };
  return { came: heap.sumAllocatedBytes, went: metric === "heap-allocated" ? null : heap.sumFreedBytes };
}

function addFlow(cells: Cells, i: number, came: Sums, went: Float64Array | null, bucketOf: Uint16Array, out: Float64Array): void {
  const end = cells.first[i + 1];
  for (let j = cells.first[i], before = came[j]; j < end; j++) {
    const after = came[j + 1];
    const slice = cells.slice[j];
    // What was live at the start is part of a level, and of no flow.
    if (slice >= 0 || went) out[slice >= 0 ? bucketOf[slice] : 0] += after - before - (went ? went[j + 1] - went[j] : 0);
    before = after;
  }
}

// The value of every cell in a range of slices, for this metric alone.
export function cellValues(doc: Doc, metric: string, from: number, to: number): Float64Array {
  const table = tableOf(doc, metric);
  if (table) return cellValuesOf(table, from, to);
  const heap = doc.heap!, out = new Float64Array(heap.node.length);
  for (let i = 0; i < out.length; i++) {
    const start = heap.first[i], low = entryAt(heap, i, from), high = entryAt(heap, i, to);
    // Estimates of removed amounts may leave a tiny difference, positive or negative.
    const live = (until: number) => {
      const left = heap.sumAllocatedBytes[until] - heap.sumAllocatedBytes[start] - heap.sumFreedBytes[until] + heap.sumFreedBytes[start];
      const came = heap.sumAllocatedBytes[heap.first[i + 1]] - heap.sumAllocatedBytes[start];
      return left <= 1e-9 * came ? 0 : left;
    };
    switch (metric) {
      case "heap-allocated": out[i] = heap.sumAllocatedBytes[high] - heap.sumAllocatedBytes[low]; break;
      case "heap-allocations": out[i] = heap.sumAllocatedBlocks[high] - heap.sumAllocatedBlocks[low]; break;
      case "heap-growth": out[i] = Math.max(0, live(high) - live(low)); break;
      case "heap-peak": out[i] = heap.peakBytes[i]; break;
      default: out[i] = live(high);
    }
  }
  return out;
}

// The selected values; `whole` is the total without the selection's patterns.
export function take(doc: Doc, selection: Selection): Taken {
  const cells = cellsOf(doc, selection.metric);
  const values = cellValues(doc, selection.metric, selection.from, selection.to);
  const nodes = takenNodes(doc, selection.focus, selection.ignore), sized = sizedCells(doc, cells, selection.sizes);
  let total = 0, whole = 0;
  for (let i = 0; i < values.length; i++) {
    if (selection.thread !== null && doc.head.threads[cells.thread[i]].name !== selection.thread) { values[i] = 0; continue; }
    whole += values[i];
    if (!nodes[cells.node[i]] || sized && !sized[i]) values[i] = 0;
    total += values[i];
  }
  return { metric: selection.metric, cells, values, total: Math.round(total), whole: Math.round(whole) };
}

export const treeOf = (parent: Uint32Array, place: Uint32Array, { self, total }: Costs, base?: Costs): Tree =>
  ({ parent, place, count: parent.length, selfOf: (node) => self[node], totalOf: (node) => total[node], base });
export const costsOf = ({ count, selfOf, totalOf }: Tree): Costs =>
  ({ self: Float64Array.from({ length: count }, (_, i) => selfOf(i)), total: Float64Array.from({ length: count }, (_, i) => totalOf(i)) });

// Places of a tree: functions, then threads, then modules whose calls were merged, then the kernel's calls as one.
export const labelCount = (doc: Doc) => doc.places + doc.head.threads.length + doc.modules.length + 1;
export const isThread = (doc: Doc, place: number) => place >= doc.places && place < doc.places + doc.head.threads.length;
export function labelOf(doc: Doc, place: number): string {
  if (place === 0) return "all";
  if (place < doc.places) return doc.name[place];
  const thread = place - doc.places, { threads } = doc.head;
  if (place === labelCount(doc) - 1) return "kernel";
  return thread < threads.length ? threads[thread].name : `${doc.modules[thread - threads.length]} (all of it)`;
}

// Grows call by call; `child` finds the child with that place, `next` only the one added last.
class Draft {
  parent = [0]; place = [0]; self = [0]; base = [0];
  private ids = new Map<number, number>();
  private last = new Map<number, number>();
  constructor(private width: number) {}
  private add(parent: number, place: number): number {
    const id = this.parent.length;
    this.parent.push(parent); this.place.push(place); this.self.push(0); this.base.push(0);
    return id;
  }
  child(parent: number, place: number): number {
    const key = parent * this.width + place;
    let id = this.ids.get(key);
    if (id === undefined) this.ids.set(key, (id = this.add(parent, place)));
    return id;
  }
  next(parent: number, place: number): number {
    let id = this.last.get(parent);
    if (id === undefined || this.place[id] !== place) this.last.set(parent, (id = this.add(parent, place)));
    return id;
  }
  finish(compared: boolean): Tree {
    return finished(Uint32Array.from(this.parent), Uint32Array.from(this.place), Float64Array.from(this.self), compared ? Float64Array.from(this.base) : null);
  }
}

function finished(parent: Uint32Array, place: Uint32Array, self: Float64Array, base: Float64Array | null): Tree {
  const added = (of: Float64Array) => {
    const total = of.slice();
    for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
    return { self: of, total };
  };
  return treeOf(parent, place, added(self), base ? added(base) : undefined);
}

// The places that a tree has. A Set of a million nodes would take a good part of the first drawing.
export function placesIn(doc: Doc, tree: Tree): number[] {
  const seen = new Uint8Array(labelCount(doc));
  for (let i = 0; i < tree.count; i++) seen[tree.place[i]] = 1;
  return [...seen.keys()].filter((place) => seen[place]);
}

// For each thread, or for all (0): the cost in each node of the shape, and at the other time of a comparison.
type Spent = Map<number, { own: Float64Array; base: Float64Array | null }>;
function spentIn(doc: Doc, taken: Taken, shape: Shape, threads: boolean): Spent {
  const out: Spent = new Map(), count = shape.parent.length, { base, values } = taken;
  for (let i = 0; i < values.length; i++) {
    if (values[i] === 0 && !base?.[i]) continue;
    const thread = threads ? taken.cells.thread[i] : 0, node = shape.of[doc.shown[taken.cells.node[i]]];
    let of = out.get(thread);
    if (!of) out.set(thread, (of = { own: new Float64Array(count), base: base ? new Float64Array(count) : null }));
    of.own[node] += values[i];
    if (of.base) of.base[node] += base![i];
  }
  return out;
}

const skeletons = new WeakMap<Shape, Map<Cells, (Skeleton | undefined)[]>>();

function forward(doc: Doc, taken: Taken, shape: Shape, threads: boolean): Tree {
  let known = skeletons.get(shape);
  if (!known) skeletons.set(shape, (known = new Map()));
  let kinds = known.get(taken.cells);
  if (!kinds) known.set(taken.cells, (kinds = []));
  const skeleton = kinds[+threads] ??= makeSkeleton(doc, taken.cells, shape, threads), { parent, place, order, first, own, end } = skeleton;
  const costs = (values: Float64Array) => {
    const sums = new Float64Array(order.length + 1);
    for (let i = 0, sum = 0; i < order.length; i++) sums[i + 1] = sum += values[order[i]];
    // Samples and waits are whole numbers. Estimates of the heap may leave a tiny difference instead of zero.
    const hair = doc.costs.has(taken.metric) ? 0 : 1e-9 * sums[order.length];
    const between = (from: number, to: number) => { const value = sums[to] - sums[from]; return Math.abs(value) <= hair ? 0 : value; };
    return { selfOf: (node: number) => between(first[node], own[node]), totalOf: (node: number) => between(first[node], end[node]) };
  };
  const tree: Tree = { parent, place, count: parent.length, ...costs(taken.values) };
  if (taken.base) tree.base = costsOf({ ...tree, ...costs(taken.base) });
  if (!threads && shape === plainShape(doc)) tree.outermost = skeleton.outermost ??= outermostOf(skeleton, labelCount(doc));
  return tree;
}

interface TreeOptions { threads: boolean; inverted: boolean }
export function buildTree(doc: Doc, taken: Taken, options: TreeOptions, shape: Shape = plainShape(doc)): Tree {
  if (!options.inverted) return forward(doc, taken, shape, options.threads);
  const spent = spentIn(doc, taken, shape, options.threads), compared = taken.base !== undefined;
  const draft = new Draft(labelCount(doc));
  for (const [thread, { own, base }] of spent)
    for (let node = 0; node < own.length; node++) {
      if (own[node] === 0 && !base?.[node]) continue;
      let at = 0;
      for (let up = node; up !== 0; up = shape.parent[up]) at = draft.child(at, shape.place[up]);
      if (options.threads) at = draft.child(at, doc.places + thread);
      draft.self[at] += own[node];
      if (base) draft.base[at] += base[node];
    }
  return draft.finish(compared);
}

// The same in time order: in each part of the time the cost in it, and a call that continues from one part to the next is one
// box.
export function buildTimeTree(doc: Doc, selection: Selection, shape: Shape, threads: boolean, most: number): Tree {
  const { from, to, metric } = selection, cells = cellsOf(doc, metric), nodes = takenNodes(doc, selection.focus, selection.ignore);
  const { came } = flowOf(doc, metric), sized = sizedCells(doc, cells, selection.sizes);
  const parts = Math.min(most, to - from), values = new Map<number, number>();
  const width = (threads ? doc.head.threads.length : 1) * shape.parent.length, one = shape.parent.length;
  for (let i = 0; i < cells.node.length; i++) {
    if (!nodes[cells.node[i]] || sized && !sized[i] || selection.thread !== null && doc.head.threads[cells.thread[i]].name !== selection.thread) continue;
    const row = (threads ? cells.thread[i] * one : 0) + shape.of[doc.shown[cells.node[i]]];
    for (let j = entryAt(cells, i, from), end = entryAt(cells, i, to); j < end; j++) {
      const key = Math.floor((cells.slice[j] - from) * parts / (to - from)) * width + row;
      values.set(key, (values.get(key) ?? 0) + came[j + 1] - came[j]);
    }
  }
  const draft = new Draft(labelCount(doc)), path: number[] = [];
  for (const key of Float64Array.from(values.keys()).sort()) {
    const row = key % width, thread = Math.floor(row / one);
    let at = threads ? draft.child(0, doc.places + thread) : 0;
    path.length = 0;
    for (let up = row % one; up !== 0; up = shape.parent[up]) path.push(shape.place[up]);
    while (path.length) at = draft.next(at, path.pop()!);
    draft.self[at] += values.get(key)!;
  }
  return draft.finish(false);
}

// Recursion counts once: `total` is the cost where the function is anywhere on the stack. For a tree that is not inverted.
export function functionTable(doc: Doc, tree: Tree): FunctionRow[] {
  const self = new Float64Array(doc.places), total = new Float64Array(doc.places), seen = new Int32Array(doc.places).fill(-1);
  if (tree.outermost)
    for (let node = 1; node < tree.count; node++) {
      const all = tree.totalOf(node), place = tree.place[node];
      if (all === 0) continue;
      seen[place] = node;
      self[place] += tree.selfOf(node);
      if (tree.outermost[node]) total[place] += all;
    }
  else for (let node = 1; node < tree.count; node++) {
    const value = tree.selfOf(node);
    if (value === 0) continue;
    let leaf = true;
    for (let at = node; at !== 0; at = tree.parent[at]) {
      const place = tree.place[at];
      if (place >= doc.places) continue;
      if (leaf) { self[place] += value; leaf = false; }
      if (seen[place] !== node) { total[place] += value; seen[place] = node; }
    }
  }
  const rows: FunctionRow[] = [];
  for (let place = 1; place < doc.places; place++)
    if (seen[place] !== -1) rows.push({ place, self: self[place], total: total[place] });
  return rows;
}

// Around one function: callers add up to its total, and so do callees and self. Under recursion, the callers of the outermost
// call and the callees of the innermost. Caller 0 is the start of the thread.
export function around(doc: Doc, tree: Tree, place: number): Around {
  const callers = new Map<number, number>(), callees = new Map<number, number>();
  let self = 0, total = 0;
  for (let node = 1; node < tree.count; node++) {
    const value = tree.selfOf(node);
    if (value === 0) continue;
    let inner = 0, outer = 0, below = 0;
    for (let at = node, last = 0; at !== 0; last = at, at = tree.parent[at]) {
      if (tree.place[at] !== place) continue;
      if (!inner) { inner = at; below = last; }
      outer = at;
    }
    if (!outer) continue;
    total += value;
    if (inner === node) self += value;
    else callees.set(tree.place[below], (callees.get(tree.place[below]) ?? 0) + value);
    const caller = tree.place[tree.parent[outer]] < doc.places ? tree.place[tree.parent[outer]] : 0;
    callers.set(caller, (callers.get(caller) ?? 0) + value);
  }
  const sorted = (rows: Map<number, number>) => [...rows].sort((a, b) => b[1] - a[1]);
  return { self, total, callers: sorted(callers), callees: sorted(callees) };
}

// The number of slices to join so that the whole has at most `most` parts.
export const together = (doc: Doc, most: number) => Math.max(1, Math.ceil(doc.head.slices / Math.max(1, most)));
// The cost in each `per` slices, in cells for which `row` returns a number: [row][part]. For live bytes, the value at the end
// of each part.
export function overTime(doc: Doc, metric: string, per: number, rows: number, row: (cell: number) => number): Float64Array[] {
  const buckets = Math.ceil(doc.head.slices / per);
  const out = Array.from({ length: rows }, () => new Float64Array(buckets));
  const cells = cellsOf(doc, metric), { came, went } = flowOf(doc, metric), level = went !== null;
  const bucketOf = Uint16Array.from({ length: doc.head.slices }, (_, slice) => Math.floor(slice / per));
  for (let i = 0; i < cells.node.length; i++) {
    const to = row(i);
    if (to >= 0) addFlow(cells, i, came, went, bucketOf, out[to]);
  }
  if (level) for (const line of out) for (let b = 1; b < buckets; b++) line[b] += line[b - 1];
  return out;
}

// By node: whether a function is on its path.
export function nodesWith(doc: Doc, place: number): Uint8Array {
  const out = new Uint8Array(doc.nodes);
  for (let i = 1; i < doc.nodes; i++) out[i] = out[doc.parent[i]] | (doc.place[i] === place ? 1 : 0);
  return out;
}
