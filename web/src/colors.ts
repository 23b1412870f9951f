// The colours of the page. Pure. Owners and groups of code have the hues of the flame graphs in SVG (flame_graph_colors.cpp), in
// both themes; a test compares both tables, and checks the contrast of each with its text.
import { Kind, type Doc } from "./types";

type Hue = readonly [light: string, dark: string];
const inks = ["#14171c", "#ffffff"] as const;  // dark and light text on boxes
export const ownerHues = {
  thread: ["#d5d9e0", "#3b414b"], kernel: ["#e1924b", "#774001"], runtime: ["#c2c6cc", "#5b5f63"], allocator: ["#d77e86", "#77313a"],
  generated: ["#99ecb1", "#307549"], cause: ["#f6d9c9", "#5a4840"], unknown: ["#f4f4f4", "#3a3d42"], other: ["#e9e7df", "#6e6d67"],
} as const satisfies Record<string, Hue>;
export const groupHues: readonly Hue[] = [
  ["#79bef4", "#215c86"], ["#f3e484", "#796b11"], ["#ae84cf", "#5a3873"], ["#95e2f7", "#2c6e80"],
  ["#bfcc6b", "#5b6301"], ["#e19bd3", "#77416d"], ["#67b5af", "#125b57"], ["#c7b18c", "#655336"],
];
// Self cost as a share of the total.
export const shareHues: readonly Hue[] = [["#e9edf2", "#3b414b"], ["#fbe3c0", "#5c4a2c"], ["#f8c98a", "#6f4d1c"], ["#f0a35a", "#7d460f"], ["#dd7a3c", "#8a3a06"]];
// Kinds of waits, in lanes, tracks and flame graphs of waiting: one colour each in every recording, and in SVG (time_colors.cpp).
const waitKinds: readonly (readonly [name: string, hue: Hue, causes: string])[] = [
  ["run queue", ownerHues.allocator, "run queue,CPU quota"], ["locks and other threads", groupHues[0], "futex,file lock,ipc"],
  ["files", groupHues[2], "file read,file write,file sync,other file work,io_uring,asynchronous I/O,writeback"],
  ["sockets, pipes and polls", groupHues[3], "socket,pipe,poll"], ["sleep", groupHues[6], "sleep,signal"], ["memory", groupHues[5], "page fault,memory reclaim,memory map"], ["other waits", groupHues[7], ""],
];
export const causeHues: readonly Hue[] = waitKinds.map(([, hue]) => hue);
export const causeKinds: readonly string[] = waitKinds.map(([name]) => name);
const kindsOfCauses = new Map(waitKinds.flatMap(([, , causes], kind) => causes.split(",").map((cause) => [cause, kind] as const)));
// By the text of a cause; a row of the two tables above.
export const causeKindOf = (cause: string) => kindsOfCauses.get(cause) ?? waitKinds.length - 1;
// Threads in the lane of the CPU.
export const bandHues: readonly Hue[] = [["#b8862f", "#c9983f"], ["#4f93c9", "#5b9fd4"], ["#3f9a78", "#4cab88"], ["#b06aa0", "#c07cb0"], ["#8a8f2f", "#a2a740"], ["#6f7fc4", "#8392d6"], ["#9b6b52", "#b58368"], ["#8d95a3", "#8d95a3"]];
export const memoryHues: readonly Hue[] = [["#3d7edb", "#4a8ae6"], ["#9bbcea", "#345a94"], ["#cfd9e6", "#5f6b7d"]];
export const faultHues: readonly Hue[] = [["#7f97a0", "#7f97a0"], ["#3d5660", "#b9c8ce"]];
export const stallHue: Hue = ["#6f8f5f", "#86a875"];
export const runningHue: Hue = ["#5b9a3c", "#6fb24d"];

let theme: 0 | 1 = 0;
export const setDark = (dark: boolean) => { theme = dark ? 1 : 0; };
export const toned = (hue: Hue) => hue[theme];

// Relative luminance and contrast as WCAG 2.1 defines them.
function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}
const inkOf = new Map<string, string>();
// The text that is easier to read on a fill.
export function inkOn(fill: string): string {
  let found = inkOf.get(fill);
  if (!found) inkOf.set(fill, (found = contrast(inks[0], fill) >= contrast(inks[1], fill) ? inks[0] : inks[1]));
  return found;
}

// The hash of the program, so that a group has the same hue in both pictures.
export function hash(text: string): bigint {
  const bits = (1n << 64n) - 1n;
  let out = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) out = (out ^ BigInt(byte)) * 0x100000001b3n & bits;
  out ^= out >> 32n;
  out = out * 0x9e3779b97f4a7c15n & bits;
  return out ^ out >> 29n;
}

const groupOf = (doc: Doc, place: number) => doc.crate[place] || doc.module[place].slice(doc.module[place].lastIndexOf("/") + 1);
const groups = new WeakMap<Doc, Map<string, Hue>>();
// The eight groups of code that cover most of the recording's first metric have a hue of their own; the rest shares one.
export function groupsOf(doc: Doc): Map<string, Hue> {
  let known = groups.get(doc);
  if (known) return known;
  const spent = new Float64Array(doc.nodes), table = doc.costs.get("cpu") ?? doc.costs.values().next().value, area = new Map<string, number>();
  if (table) for (let i = 0; i < table.node.length; i++) spent[table.node[i]] += table.sums[table.first[i + 1]] - table.sums[table.first[i]];
  else if (doc.heap) for (let i = 0; i < doc.heap.node.length; i++) spent[doc.heap.node[i]] += doc.heap.sumAllocatedBytes[doc.heap.first[i + 1]] - doc.heap.sumAllocatedBytes[doc.heap.first[i]];
  const ofPlace = new Float64Array(doc.places), { parent, place: placeOf } = doc;
  let all = 0;
  for (let i = doc.nodes - 1; i > 0; i--) { spent[parent[i]] += spent[i]; ofPlace[placeOf[i]] += spent[i]; }
  for (let place = 1; place < doc.places; place++) {
    const group = groupOf(doc, place);
    if (doc.kind[place] !== Kind.code) continue;
    all += ofPlace[place];
    if (group) area.set(group, (area.get(group) ?? 0) + ofPlace[place]);
  }
  const largest = [...area].sort((a, b) => b[1] - a[1]).slice(0, groupHues.length).filter(([, value]) => value >= all / 50), taken = new Set<number>();
  known = new Map();
  for (const [group] of largest) {
    let at = Number(hash(group) % BigInt(groupHues.length));
    while (taken.has(at)) at = (at + 1) % groupHues.length;
    taken.add(at);
    known.set(group, groupHues[at]);
  }
  groups.set(doc, known);
  return known;
}

const ownerNames = ["other", "kernel", "runtime", "allocator", "generated", "unknown", "cause", "other", "unknown"] as const;
function hueOf(doc: Doc, place: number): Hue {
  if (place >= doc.places + doc.head.threads.length) return place < doc.places + doc.head.threads.length + doc.modules.length ? ownerHues.other : ownerHues.kernel;
  if (place === 0 || place >= doc.places) return ownerHues.thread;
  const kind: Kind = doc.kind[place];
  return kind === Kind.code ? groupsOf(doc).get(groupOf(doc, place)) ?? ownerHues.other : ownerHues[ownerNames[kind]];
}
export const colorOf = (doc: Doc, place: number) => toned(hueOf(doc, place));
const hashedHues = new Map<string, Hue>();
export function hashed(text: string): string {
  let hue = hashedHues.get(text);
  if (!hue) hashedHues.set(text, (hue = groupHues[Number(hash(text) % BigInt(groupHues.length))]));
  return toned(hue);
}
// `own`: the fraction of the box that is the call's self cost.
export function colorBy(doc: Doc, by: string, place: number, own: number): string {
  if (place === 0 || place >= doc.places || by === "crate") return colorOf(doc, place);
  if (by === "kind") return toned(doc.kind[place] === Kind.code ? groupHues[0] : ownerHues[ownerNames[doc.kind[place]]]);
  if (by === "self") return toned(shareHues[Math.min(shareHues.length - 1, Math.ceil(own * (shareHues.length - 1)))]);
  return hashed(doc.name[place]);
}

// What the colours mean, of those that `places` have: for a legend.
export interface LegendItem { label: string; color: string }
export function legendOf(doc: Doc, by: string, places: Iterable<number>): LegendItem[] {
  if (by === "self") return shareHues.map((hue, i) => ({ label: `${i * 25} %`, color: toned(hue) }));
  if (by !== "crate" && by !== "kind") return [];
  const out = new Map<string, LegendItem>(), words = ["other code", "kernel", "language library", "allocator", "generated code", "no name", "reason of a wait", "idle", "smaller calls"];
  for (const place of places) {
    if (place === doc.places + doc.head.threads.length + doc.modules.length) out.set("kernel", { label: "kernel", color: colorOf(doc, place) });
    if (place === 0 || place >= doc.places) continue;
    const kind: Kind = doc.kind[place], group = kind === Kind.code && by === "crate" && groupsOf(doc).has(groupOf(doc, place)) ? groupOf(doc, place) : "";
    const label = group || (kind === Kind.code && by === "kind" ? "own code" : words[kind]);
    if (!out.has(label)) out.set(label, { label, color: colorBy(doc, by, place, 0) });
  }
  const rank = (label: string) => { const at = [...groupsOf(doc).keys()].indexOf(label); return at < 0 ? 100 + words.indexOf(label) : at; };
  return [...out.values()].sort((a, b) => rank(a.label) - rank(b.label));
}

// Changes: blue is less and orange more, the strongest is gone and new; grey is noise.
const steps = [0.1, 1 / 3, 0.9995];
export const noiseHue: Hue = ["#d6d8dc", "#4a4f57"];
export const lessHues: readonly Hue[] = [["#bed3e8", "#40566e"], ["#92b9de", "#345c86"], ["#6099cf", "#2c629e"], ["#3477bb", "#2668b4"]];
export const moreHues: readonly Hue[] = [["#fadcb6", "#68543c"], ["#f8be7a", "#82582a"], ["#f0963c", "#9c5a1a"], ["#de6e14", "#b2580c"]];
export function changeColor(base: number, fresh: number, beyondNoise: boolean): string {
  if (!beyondNoise || base === fresh) return toned(noiseHue);
  const part = Math.abs(fresh - base) / Math.max(base, fresh);
  return toned((fresh > base ? moreHues : lessHues)[steps.filter((step) => part >= step).length]);
}
