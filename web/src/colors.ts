// The colours of frames and of changes. Pure.
// Colours that colour-blind people can distinguish (after Okabe and Ito, 2008), lighter for black text.
import { Kind, type Doc } from "./types";
const kinds = ["#8fbfe8", "#e89a5f", "#cdd6de", "#c3a6dd", "#b9c98a", "#bfc3c9", "#e08a86", "#d5d5d5", "#bfc3c9"];
const shares = ["#e9edf2", "#fbe3c0", "#f8c98a", "#f0a35a", "#dd7a3c"];  // self cost as a share of the total
// `own`: the fraction of the box that is the call's self cost.
export function colorBy(doc: Doc, by: string, place: number, own: number): string {
  if (by === "crate" || place === 0 || place >= doc.places) return colorOf(doc, place);
  if (by === "kind") return kinds[doc.kind[place]] ?? kinds[0];
  if (by === "self") return shares[Math.min(shares.length - 1, Math.ceil(own * (shares.length - 1)))];
  return hashed(doc.name[place]);
}
const crates = ["#8fbfe8", "#e8bd6d", "#8fcbb0", "#d6a3c9", "#c9c276", "#a9b6e6", "#d9a88e", "#9fd0d6", "#c3b1a0", "#b5cf8f"];
export function colorOf(doc: Doc, place: number): string {
  if (place === 0 || place >= doc.places) return "#c8ccd6";
  switch (doc.kind[place]) {
    case Kind.kernel: return "#e89a5f";
    case Kind.runtime: return "#cdd6de";
    case Kind.allocator: return "#c3a6dd";
    case Kind.generated: return "#b9c98a";
    case Kind.cause: return "#e08a86";
    case Kind.idle: return "#d5d5d5";
    case Kind.unknown: case Kind.folded: return "#bfc3c9";
  }
  return hashed(doc.crate[place] || doc.module[place]);
}
export function hashed(text: string): string {
  let hash = 5381;
  for (let i = 0; i < text.length; i++) hash = (hash * 33 + text.charCodeAt(i)) >>> 0;
  return crates[hash % crates.length];
}

const steps = [0.1, 1 / 3, 0.9995];
const less = ["#bed3e8", "#92b9de", "#6099cf", "#3477bb"], more = ["#fadcb6", "#f8be7a", "#f0963c", "#de6e14"];
// Blue is less and orange more, the darkest is removed and new; grey is noise.
export function changeColor(base: number, fresh: number, beyondNoise: boolean): string {
  if (!beyondNoise || base === fresh) return "#d6d8dc";
  const part = Math.abs(fresh - base) / Math.max(base, fresh);
  return (fresh > base ? more : less)[steps.filter((step) => part >= step).length];
}
