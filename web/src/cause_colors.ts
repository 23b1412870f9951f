// The colours of what threads wait for, the same in lanes, tracks and the flame graph of waiting.
import { causeHues, causeKindOf, causeKinds, ownerHues, toned, type LegendItem } from "./colors";
import { doc, tree } from "./state";
import { Kind, type Tree } from "./types";
import { causeText } from "./words";

export const causeColor = (name: string) => toned(causeHues[causeKindOf(name)]);

// By node of the tree: the kind of wait in which most of its time goes; 255: none.
const dominants = new WeakMap<Tree, Uint8Array>();
const kinds = causeHues.length;
function dominantOf(t: Tree): Uint8Array {
  let known = dominants.get(t);
  if (known) return known;
  const spent = new Float64Array(t.count * kinds);
  known = new Uint8Array(t.count).fill(255);
  for (let node = t.count - 1; node >= 0; node--) {
    const place = t.place[node], own = t.selfOf(node);
    // Inverted trees begin with the cause: what is above it is of this cause.
    let cause = place < doc.places && doc.kind[place] === Kind.cause ? node : 0;
    for (let up = node; !cause && up !== 0; up = t.parent[up]) if (t.place[up] < doc.places && doc.kind[t.place[up]] === Kind.cause) cause = up;
    if (cause && own > 0) spent[node * kinds + causeKindOf(causeText(doc.name[t.place[cause]]))] += own;
    let best = 0;
    for (let kind = 0; kind < kinds; kind++) {
      const value = spent[node * kinds + kind];
      if (value > best) { best = value; known[node] = kind; }
      if (node > 0) spent[t.parent[node] * kinds + kind] += value;
    }
  }
  dominants.set(t, known);
  return known;
}
export function causeColorAt(node: number): string {
  const kind = dominantOf(tree.value)[node];
  return toned(node === 0 || kind === 255 ? ownerHues.thread : causeHues[kind]);
}
export function causeLegend(): LegendItem[] {
  const seen = new Set(dominantOf(tree.value));
  return causeKinds.flatMap((label, kind) => seen.has(kind) ? [{ label, color: toned(causeHues[kind]) }] : []);
}
