// The function that a cost belongs to, for readers: the program's own code, not the library in which it was measured. Pure.
import { Kind, type Doc } from "./types";

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

// A wait: the nearest function of the program's own code above it; otherwise the nearest one. 0: there is none.
export function waiterOf(doc: Doc, node: number): number {
  let nearest = 0;
  for (let at = doc.parent[node]; at !== 0; at = doc.parent[at]) {
    const place = doc.place[at];
    if (doc.kind[place] === Kind.code) return place;
    if (!nearest && doc.kind[place] !== Kind.cause) nearest = place;
  }
  return nearest;
}
