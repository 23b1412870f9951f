// The calls of a document after transforms: functions removed, modules merged, recursion folded. Sums do not change: the self
// cost of a removed call goes to its caller. Pure.
import { Kind, type Doc, type Shape } from "./types";
import { placeMatcher } from "./words";

// "merge:NAME" removes a function, "hide:PATTERN" all that match, "collapse:MODULE" joins calls inside a module into one,
// "from:PATTERN" removes everything above the first call that matches: stacks without a match belong to the root, and the
// matching focus leaves them out. "own" keeps the program's own code, "recursion" turns recursive calls into one call,
// "runtime" removes language libraries, "plumbing" only those of their frames that pass time on to the program's code, and "kernel"
// joins what the kernel does for one call.
export const wholeEdits = ["plumbing", "kernel", "own", "recursion", "runtime"] as const;
export const isEdit = (text: string) => (wholeEdits as readonly string[]).includes(text) || /^(merge|collapse|hide|from):./s.test(text);

// Numbers nodes in the order of a walk down the tree, so that the calls below a node follow it.
function inOrder({ parent, place, of }: Shape): Shape {
  const count = parent.length;
  let i = 1;
  for (let last = 0; i < count; last = i++) {  // up from the previous node to the caller of this one
    while (last > parent[i]) last = parent[last];
    if (last !== parent[i]) break;
  }
  if (i >= count) return { parent, place, of };
  const sizes = new Uint32Array(count).fill(1), rank = new Uint32Array(count), next = new Uint32Array(count);
  for (let i = count - 1; i > 0; i--) sizes[parent[i]] += sizes[i];
  next[0] = 1;
  for (let i = 1; i < count; i++) {
    rank[i] = next[parent[i]];
    next[parent[i]] += sizes[i];
    next[i] = rank[i] + 1;
  }
  const out = { parent: new Uint32Array(count), place: new Uint32Array(count), of: new Uint32Array(of.length) };
  for (let i = 0; i < count; i++) { out.parent[rank[i]] = rank[parent[i]]; out.place[rank[i]] = place[i]; }
  for (let i = 0; i < of.length; i++) out.of[i] = rank[of[i]];
  return out;
}

let plain: { doc: Doc; shape: Shape } | null = null;
export function plainShape(doc: Doc): Shape {
  if (plain?.doc === doc) return plain.shape;
  const of = new Uint32Array(doc.parent.length);
  for (let i = 0; i < of.length; i++) of[i] = i;
  plain = { doc, shape: inOrder({ parent: doc.parent, place: doc.place, of }) };
  return plain.shape;
}

// By node: a library's frame that passes time on: code of the program is below it, and the function itself costs next to nothing.
// "start_thread" and "FnOnce::call_once" do; a sort that calls a comparison has a cost of its own, and stays.
const passing = new WeakMap<Doc, Uint8Array>();
const leastOwn = 0.01;  // self cost as a share of the total
function passesOn(doc: Doc): Uint8Array {
  let known = passing.get(doc);
  if (known) return known;
  known = new Uint8Array(doc.nodes);
  passing.set(doc, known);
  if (!doc.kind.includes(Kind.runtime)) return known;
  const { parent, place: placeOf, kind } = doc, cost = new Float64Array(doc.nodes), self = new Float64Array(doc.places), total = new Float64Array(doc.places);
  for (const table of doc.costs.values()) {
    const all = table.sums[table.sums.length - 1] || 1;  // metrics have different units
    for (let i = 0; i < table.node.length; i++) {
      const part = (table.sums[table.first[i + 1]] - table.sums[table.first[i]]) / all;
      cost[table.node[i]] += part;
      self[placeOf[table.node[i]]] += part;
    }
  }
  const below = new Uint8Array(doc.nodes);  // code of the program is below
  for (let i = doc.nodes - 1; i > 0; i--) {
    const place = placeOf[i], above = parent[i];
    if (below[i] || kind[place] === Kind.code) below[above] = 1;
    if (below[i] && kind[place] === Kind.runtime) known[i] = 1;
    cost[above] += cost[i];
    total[place] += cost[i];
  }
  for (let i = 1; i < doc.nodes; i++) if (known[i] && self[placeOf[i]] > leastOwn * total[placeOf[i]]) known[i] = 0;
  return known;
}
// The folds that a page begins with: those that change anything.
export function firstEdits(doc: Doc): string[] {
  return [...(passesOn(doc).includes(1) ? ["plumbing"] : []), ...(doc.kind.includes(Kind.kernel) ? ["kernel"] : [])];
}

// The pattern where stacks begin.
export const startsOf = (edits: string[]) => edits.filter((edit) => edit.startsWith("from:")).map((edit) => edit.slice(5));

export function shapeOf(doc: Doc, edits: string[]): Shape {
  if (!edits.length) return plainShape(doc);
  const one = (kind: string) => new Set(edits.filter((edit) => edit.startsWith(kind)).map((edit) => edit.slice(kind.length)));
  const merged = one("merge:"), collapsed = one("collapse:"), first = doc.places + doc.head.threads.length;
  const own = edits.includes("own"), recursion = edits.includes("recursion"), runtime = edits.includes("runtime");
  const passes = edits.includes("plumbing") ? passesOn(doc) : null, kernel = edits.includes("kernel");
  const hides = [...one("hide:")].map((pattern) => placeMatcher(doc, pattern)), starts = startsOf(edits).map((pattern) => placeMatcher(doc, pattern));
  // By place, and then by node: whether stacks begin here. Idle waits have no stack, and stay.
  const isStart = Uint8Array.from(doc.name, (_, i) => i > 0 && starts.some((fits) => fits(i)) ? 1 : 0), started = new Uint8Array(doc.parent.length);
  // What becomes of a place: 0: removed; otherwise the place that replaces it.
  const becomes = new Uint32Array(doc.places);
  for (let place = 1; place < doc.places; place++) {
    const kind: Kind = doc.kind[place];
    const foreign = kind === Kind.runtime || kind === Kind.allocator || kind === Kind.kernel || kind === Kind.unknown;
    if (merged.has(doc.name[place]) || hides.some((fits) => fits(place)) || own && foreign || runtime && kind === Kind.runtime) continue;
    becomes[place] = kernel && kind === Kind.kernel ? first + doc.modules.length : collapsed.has(doc.module[place]) ? first + doc.modules.indexOf(doc.module[place]) : place;
  }
  const parent = [0], place = [0], of = new Uint32Array(doc.parent.length), width = first + doc.modules.length + 1;
  const ids = new Map<number, number>();
  for (let i = 1; i < of.length; i++) {
    const above = of[doc.parent[i]], as = becomes[doc.place[i]];
    started[i] = started[doc.parent[i]] | isStart[doc.place[i]];
    if (starts.length && !started[i] && i < doc.nodes) continue;
    if (as === 0 || passes?.[i] || as >= first && place[above] === as) { of[i] = above; continue; }
    if (recursion) {
      let up = above;
      while (up !== 0 && place[up] !== as) up = parent[up];
      if (up !== 0) { of[i] = up; continue; }
    }
    const key = above * width + as;
    let id = ids.get(key);
    if (id === undefined) {
      ids.set(key, (id = parent.length));
      parent.push(above);
      place.push(as);
    }
    of[i] = id;
  }
  return inOrder({ parent: Uint32Array.from(parent), place: Uint32Array.from(place), of });
}
