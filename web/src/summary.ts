// What the recording says, a line per subject: of the whole the program's own sentences, of a selected time what the page adds
// up, and of two times what changed, the largest change first. Pure.
import { buildTree, entryAt, functionTable, take } from "./aggregate";
import { askerOf, waiterOf } from "./owners";
import { residentIn } from "./series";
import { canCompare, compare } from "./compare";
import { Kind, type Change, type Comparison, type Doc, type Selection } from "./types";
import { amount, bytes, causeText, causeWords, figure, ofBase, percent, seconds, secondsText, subjectOf } from "./words";

interface Part { text: string; place?: number; strong?: boolean }
export interface SummaryLine { subject: string; parts: Part[]; doubt: string; metric: string; place: number; change?: Change }

// No line of a file, and no number that is a part of a name.
const figures = /(?<![\w:.])[±+−]?\d[\d,.]*(?:\s?(?:%|[KMGT]iB(?:\/s)?|B|[mun]?s|h|min|cores?|samples|times))?(?=[\s,.;:)]|$)/;
// A function's name in a sentence, if it cannot be a word of it.
const isName = (word: string) => /::|_|[a-z][A-Z]|\(|\d/.test(word);

const named = new WeakMap<Doc, Map<string, number>>();
function placesByShortName(doc: Doc): Map<string, number> {
  let known = named.get(doc);
  if (!known) named.set(doc, (known = new Map()));
  else return known;
  for (let place = 1; place < doc.places; place++) {
    const before = known.get(doc.short[place]);
    if (doc.kind[place] !== Kind.cause && doc.kind[place] !== Kind.idle && (before === undefined || doc.kind[place] === Kind.code && doc.kind[before] !== Kind.code)) known.set(doc.short[place], place);
  }
  return known;
}

// A sentence of the program with its first figure in bold and its functions as links. A remark in brackets at its end is its
// doubt.
export function lineOf(doc: Doc, claim: { subject?: string; text: string; metric: string; focus: string }): SummaryLine {
  const remark = /^(.{20,}?[.!?]?)\s*\(([^()]{24,})\)[.]?$/s.exec(claim.text), text = remark ? remark[1] : claim.text;
  const places = placesByShortName(doc), place = claim.focus ? Math.max(0, doc.name.indexOf(claim.focus, 1)) : 0, parts: Part[] = [];
  const plain = (piece: string) => { if (piece) parts.push({ text: piece }); };
  let from = 0;
  for (const found of text.matchAll(/[^\s,;]+/g)) {
    const word = found[0].replace(/[.:]+$/, ""), at = places.get(word);
    if (at === undefined || !(isName(word) || place && doc.short[place] === word)) continue;
    plain(text.slice(from, found.index));
    parts.push({ text: word, place: place && doc.short[place] === word ? place : at });
    from = found.index + word.length;
  }
  plain(text.slice(from));
  for (let i = 0; i < parts.length; i++) {
    const figure = parts[i].place === undefined ? figures.exec(parts[i].text) : null;
    if (!figure) continue;
    const before = parts[i].text.slice(0, figure.index), after = parts[i].text.slice(figure.index + figure[0].length);
    parts.splice(i, 1, ...(before ? [{ text: before }] : []), { text: figure[0], strong: true }, ...(after ? [{ text: after }] : []));
    break;
  }
  return { subject: claim.subject ?? "", parts, doubt: remark ? remark[2] : "", metric: claim.metric, place };
}

export function wholeSummary(doc: Doc): SummaryLine[] {
  return doc.head.words.claims.map((claim) => lineOf(doc, { ...claim, subject: claim.subject ?? subjectOf(claim.metric) }));
}

const largest = (of: Map<number, number>) => [...of].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
const list = (doc: Doc, rows: [number, number][], whole: number): Part[] =>
  rows.slice(0, 3).filter(([, value], i) => i === 0 || value >= 0.05 * whole).flatMap(([place, value], i) => [{ text: i ? ", " : "" }, { text: doc.short[place], place }, { text: ` (${percent(value / whole)})` }]);

const few = 100;  // samples: below it a share of a tenth is off by more than half

function ofCpu(doc: Doc, selection: Selection, secondsLong: number): SummaryLine | null {
  const taken = take(doc, { ...selection, metric: "cpu" });
  const rows = functionTable(doc, buildTree(doc, taken, { threads: false, inverted: false })).filter(({ place, self }) => self > 0 && doc.kind[place] !== Kind.cause).sort((a, b) => b.self - a.self);
  const ns = taken.total * doc.head.period_ns, used: Part = { text: ns > 0 ? seconds(ns / 1e9) : amount(taken.total, "samples"), strong: true };
  if (!rows.length) return { subject: "CPU", parts: [{ text: "no sample", strong: true }, { text: " in this time" }], doubt: "", metric: "cpu", place: 0 };
  return { subject: "CPU", parts: [used, { text: `${ns > 0 ? `, ${(ns / 1e9 / secondsLong).toFixed(2)} cores` : ""}; most in ` }, ...list(doc, rows.map(({ place, self }) => [place, self]), taken.total)],
    doubt: taken.total < few ? `only ${amount(taken.total, "samples")}: shares are rough` : "", metric: "cpu", place: rows[0].place };
}

function ofWaiting(doc: Doc, selection: Selection): SummaryLine | null {
  const taken = take(doc, { ...selection, metric: "off-cpu" }), causes = new Map<number, number>(), inside = new Map<number, number>();
  let all = 0;
  for (let i = 0; i < taken.values.length; i++) {
    const node = taken.cells.node[i], place = doc.place[node], value = taken.values[i];
    if (!value || doc.kind[place] === Kind.idle) continue;
    all += value;
    causes.set(place, (causes.get(place) ?? 0) + value);
    const waiter = waiterOf(doc, node);
    if (waiter) inside.set(waiter, (inside.get(waiter) ?? 0) + value);
  }
  if (!(all > 0)) return { subject: "Waiting", parts: [{ text: "none", strong: true }, { text: " without idle threads" }], doubt: "", metric: "off-cpu", place: 0 };
  const cause = ([place, value]: [number, number]) => `${seconds(value / 1e9)} ${causeWords(doc.name[place])}`, where = largest(inside);
  return { subject: "Waiting", parts: [{ text: seconds(all / 1e9), strong: true }, { text: `: ${largest(causes).slice(0, 3).filter(([, value], i) => i === 0 || value >= 0.05 * all).map(cause).join(", ")}${where.length ? "; mostly in " : ""}` },
    ...list(doc, where.slice(0, 1), all)], doubt: "", metric: "off-cpu", place: 0 };
}

function ofMemory(doc: Doc, from: number, to: number): SummaryLine | null {
  const of = residentIn(doc, from, to), signed = (value: number) => `${value < 0 ? "−" : "+"}${bytes(Math.abs(value))}`;
  return of && { subject: "Memory", parts: [{ text: bytes(of.end), strong: true }, { text: ` resident at the end, ${signed(of.end - of.start)} in this time; ${bytes(of.most)} at most, at ${secondsText(Math.round(of.mostAt))} s` }], doubt: "", metric: doc.heap ? "heap-live" : "", place: 0 };
}

function ofHeap(doc: Doc, selection: Selection): SummaryLine | null {
  const { heap } = doc;
  if (!heap) return null;
  const grown = new Map<number, number>();
  let before = 0, after = 0;
  for (let cell = 0; cell < heap.node.length; cell++) {
    if (selection.thread !== null && doc.head.threads[heap.thread[cell]].name !== selection.thread) continue;
    const start = heap.first[cell], live = (until: number) => heap.sumAllocatedBytes[until] - heap.sumAllocatedBytes[start] - heap.sumFreedBytes[until] + heap.sumFreedBytes[start];
    const old = live(entryAt(heap, cell, selection.from)), now = live(entryAt(heap, cell, selection.to)), place = askerOf(doc, heap.node[cell]);
    before += old;
    after += now;
    grown.set(place, (grown.get(place) ?? 0) + now - old);
  }
  const rows = largest(grown), change = after - before;
  return { subject: "Heap", parts: [{ text: `${change < 0 ? "−" : "+"}${bytes(Math.abs(change))}`, strong: true }, { text: `, from ${bytes(Math.max(0, before))} to ${bytes(Math.max(0, after))} live${rows.length ? "; most growth in " : ""}` },
    ...rows.slice(0, 1).flatMap(([place, value]) => [{ text: doc.short[place], place }, { text: ` (+${bytes(value)})` }])], doubt: "", metric: "heap-growth", place: rows[0]?.[0] ?? 0 };
}

// Of a part of the time, or of one thread.
export function selectedSummary(doc: Doc, selection: Selection): SummaryLine[] {
  const plain = { ...selection, focus: [], ignore: [], sizes: null }, { slice_ms, duration_ns } = doc.head;
  const [from, to] = [selection.from * slice_ms, Math.min(selection.to * slice_ms, duration_ns / 1e6)];
  return [doc.costs.has("cpu") ? ofCpu(doc, plain, Math.max(1e-9, (to - from) / 1000)) : null, doc.costs.has("off-cpu") ? ofWaiting(doc, plain) : null, selection.thread === null ? ofMemory(doc, from, to) : null, ofHeap(doc, plain)].filter((line) => line !== null);
}
// How far its numbers can be trusted.
export function selectedQuality(doc: Doc, selection: Selection): string {
  if (!doc.costs.has("cpu")) return "";
  const { total } = take(doc, { ...selection, metric: "cpu", focus: [], ignore: [], sizes: null });
  return `${amount(total, "samples")} in this time${total > 0 ? `: a share of 10 % is exact to ± ${(196 * Math.sqrt(0.09 / total)).toFixed(1)} points` : ""}`;
}

const placeText = (doc: Doc, place: number) => doc.kind[place] === Kind.cause ? causeText(doc.name[place]) : doc.short[place];
const changed = ({ base, fresh }: Change) => base <= 0 ? fresh > 0 ? 1 : 0 : fresh <= 0 ? 1 : Math.abs(fresh - base) / Math.max(base, fresh);
function changeLine(doc: Doc, metric: string, c: Comparison): SummaryLine {
  const moved = [...c.functions.values()].filter(({ self }) => self.beyondNoise).sort((a, b) => Math.abs(b.self.change) - Math.abs(a.self.change)), { whole } = c;
  // Of waiting, what was waited for: the functions at the end of these stacks are the kernel's.
  const causes = moved.filter(({ place }) => doc.kind[place] === Kind.cause), rows = causes.length ? causes : moved;
  const interval = whole.error > 0 ? ` (${figure(whole.change, c.unit, whole.error, true)} ± ${figure(whole.error, c.unit)})` : "";
  const effect = `${whole.beyondNoise ? ofBase(whole) ? `, ${ofBase(whole)}` : "" : ", no more than noise"}${interval}`;
  return { subject: subjectOf(metric), metric, place: rows[0]?.place ?? 0, change: whole, doubt: "",
    parts: [...(c.unit === "share" ? [{ text: rows.length ? "as shares of its time, most changed: " : "no function's share of it changed by more than noise" }]
      : [{ text: `${figure(whole.base, c.unit)} → ${figure(whole.fresh, c.unit)}`, strong: true }, { text: `${effect}${rows.length ? "; most changed: " : ""}` }]),
      ...rows.slice(0, 2).flatMap(({ place, self }, i) => [{ text: i ? ", " : "" }, { text: placeText(doc, place), place }, { text: ` (${figure(self.base, c.unit)} → ${figure(self.fresh, c.unit)})` }])] };
}
// What changed most comes first: changes beyond noise, by their part of the larger side, and then the rest.
export function sortedChanges(lines: SummaryLine[]): SummaryLine[] {
  const weight = ({ change }: SummaryLine) => change ? (change.beyondNoise ? 2 : 0) + changed(change) : 0;
  return [...lines].sort((a, b) => weight(b) - weight(a));
}
const comparable = (doc: Doc) => doc.head.metrics.filter(({ name }) => canCompare(name) && name !== "heap-allocated" && name !== "heap-growth");
export function changeSummary(doc: Doc, selection: Selection, base: [number, number], ignoreFor: (metric: string) => string[]): SummaryLine[] {
  return sortedChanges(comparable(doc).map(({ name }) => changeLine(doc, name, compare(doc, { ...selection, metric: name, focus: [], ignore: ignoreFor(name), sizes: null }, base))));
}
export const filesSummary = (doc: Doc): SummaryLine[] => sortedChanges(doc.head.metrics.flatMap(({ name }) => doc.compared!.has(name) ? [changeLine(doc, name, doc.compared!.get(name)!)] : []));
