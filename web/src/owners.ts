// The function that a cost belongs to, for readers: the program's own code, not the library in which it was measured. Pure.
import { Kind, Whose, type Doc, type Taken } from "./types";

// Memory: the nearest function that belongs to neither an allocator nor a language library; otherwise the caller of the innermost
// one.
export function askerOf(doc: Doc, node: number): number {
  let nearest = 0;
  for (let at = node; at !== 0; at = doc.parent[at]) {
    const place = doc.place[at], kind: Kind = doc.kind[place];
    if (kind === Kind.code) return place;
    if (kind !== Kind.allocator) nearest ||= place;
  }
  return nearest || doc.place[node];
}

// A wait, as in the sentences of the program: the nearest function of the own code above it, else of a package that was linked
// in, else of a lock or runtime in the program, else the nearest one. 0: there is none.
export function waiterOf(doc: Doc, node: number): number {
  const none = Whose.runtime + 2;
  let found = 0, rank: number = none;
  for (let at = doc.parent[node]; at !== 0 && rank > Whose.own; at = doc.parent[at]) {
    const place = doc.place[at], kind = doc.kind[place];
    if (kind === Kind.cause) continue;
    const of = kind === Kind.code ? doc.whose[place] : none - 1;
    if (of < rank) { rank = of; found = place; }
  }
  return found;
}

// What a selection costs, by the function that readers look for: of waits the code that waits, of memory the code that asked for it,
// of CPU time the function itself. The largest first.
export function ownersOf(doc: Doc, taken: Taken): [place: number, value: number][] {
  const out = new Map<number, number>(), { cells, values, metric } = taken, owner = metric === "off-cpu" ? waiterOf : doc.costs.has(metric) ? (_: Doc, node: number) => doc.place[node] : askerOf;
  for (let i = 0; i < values.length; i++) {
    const node = cells.node[i];
    if (!values[i] || doc.kind[doc.place[node]] === Kind.idle) continue;
    const place = owner(doc, node);
    if (place) out.set(place, (out.get(place) ?? 0) + values[i]);
  }
  return [...out].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
}
