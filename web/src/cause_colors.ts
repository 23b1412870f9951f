// The colours of what threads wait for, the same in lanes, tracks and the flame graph of waiting.
import { causeHues, ownerHues, toned, type LegendItem } from "./colors";
import { doc, tree } from "./state";
import { Kind, type Doc, type Tree } from "./types";

export const causeText = (name: string) => name.replace(/^\[(wait: )?|\]$/g, "");
// One colour per cause everywhere: the run queue has the first, the others by their time in the whole recording.
let ranked: { doc: Doc; causes: string[] } | null = null;
export function causeRank(name: string): number {
  if (ranked?.doc !== doc) {
    const sums = new Map<string, number>(), table = doc.costs.get("off-cpu");
    for (let i = 0; table && i < table.node.length; i++) {
      const place = doc.place[table.node[i]];
      if (doc.kind[place] === Kind.cause) sums.set(causeText(doc.name[place]), (sums.get(causeText(doc.name[place])) ?? 0) + table.sums[table.first[i + 1]] - table.sums[table.first[i]]);
    }
    ranked = { doc, causes: [...sums].filter(([cause]) => cause !== "run queue").sort((a, b) => b[1] - a[1]).map(([cause]) => cause) };
  }
  const at = ranked.causes.indexOf(name);
  return name === "run queue" ? 0 : at < 0 ? causeHues.length - 1 : Math.min(causeHues.length - 1, at + 1);
}
export const causeColor = (name: string) => toned(causeHues[causeRank(name)]);

// By node of the tree: the rank of the cause in which most of its time goes; 255: none.
const dominants = new WeakMap<Tree, Uint8Array>();
const ranks = causeHues.length;
function dominantOf(t: Tree): Uint8Array {
  let known = dominants.get(t);
  if (known) return known;
  const spent = new Float64Array(t.count * ranks);
  known = new Uint8Array(t.count).fill(255);
  for (let node = t.count - 1; node >= 0; node--) {
    const place = t.place[node], own = t.selfOf(node);
    // Inverted trees begin with the cause: what is above it is of this cause.
    let cause = place < doc.places && doc.kind[place] === Kind.cause ? node : 0;
    for (let up = node; !cause && up !== 0; up = t.parent[up]) if (t.place[up] < doc.places && doc.kind[t.place[up]] === Kind.cause) cause = up;
    if (cause && own > 0) spent[node * ranks + causeRank(causeText(doc.name[t.place[cause]]))] += own;
    let best = 0;
    for (let rank = 0; rank < ranks; rank++) {
      const value = spent[node * ranks + rank];
      if (value > best) { best = value; known[node] = rank; }
      if (node > 0) spent[t.parent[node] * ranks + rank] += value;
    }
  }
  dominants.set(t, known);
  return known;
}
export function causeColorAt(node: number): string {
  const rank = dominantOf(tree.value)[node];
  return toned(node === 0 || rank === 255 ? ownerHues.thread : causeHues[rank]);
}
export function causeLegend(): LegendItem[] {
  const seen = new Set(dominantOf(tree.value)), out = new Map<number, string>();
  for (let place = 1; place < doc.places; place++) {
    if (doc.kind[place] !== Kind.cause) continue;
    const name = causeText(doc.name[place]), rank = causeRank(name);
    if (seen.has(rank)) out.set(rank, rank === ranks - 1 && out.has(rank) ? "other causes" : name);
  }
  return [...out].sort((a, b) => a[0] - b[0]).map(([rank, label]) => ({ label, color: toned(causeHues[rank]) }));
}
