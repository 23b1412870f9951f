// The spans of a recording over time and by length: where they are drawn, which lie in a box, and the words that choose them. Pure.
import type { Doc, SpanKind, SpanRows } from "./types";
import { quoted, seconds, withCommas } from "./words";

// From the bottom of a lane to its top, the logarithm of the lengths; ns.
interface LengthScale { least: number; most: number }
export function lengthScale(spans: SpanRows, kind: number): LengthScale {
  let least = Infinity, most = 1;
  for (let i = 0; i < spans.kind.length; i++) if (spans.kind[i] === kind) { least = Math.min(least, Math.max(1, spans.length[i])); most = Math.max(most, spans.length[i]); }
  return { least: Math.min(least, most / 2), most };
}
// The height of a length, as a part of the lane: 0 is the bottom.
export const partOf = ({ least, most }: LengthScale, length: number) => Math.min(1, Math.max(0, Math.log(Math.max(length, 1) / least) / Math.log(most / least)));
export const lengthAt = ({ least, most }: LengthScale, part: number) => least * Math.pow(most / least, Math.min(1, Math.max(0, part)));

export interface SpanBox { from: number; to: number; least: number; most: number }  // ns; `to` and `most` are exclusive
// Rows of this kind that overlap the time of the box, and have such a length.
export function spansIn(spans: SpanRows, kind: number, box: SpanBox): number[] {
  const rows = [];
  for (let i = 0; i < spans.kind.length; i++)
    if (spans.kind[i] === kind && spans.length[i] >= box.least && spans.length[i] < box.most && spans.start[i] < box.to && spans.start[i] + spans.length[i] >= box.from) rows.push(i);
  return rows;
}

// A number of seconds with three digits, never above `ns`, or always above it: a choice holds the spans that it was made from.
function secondsBelow(ns: number): number {
  if (ns <= 0) return 0;
  const unit = Math.pow(10, Math.floor(Math.log10(ns)) - 2), out = Math.max(1, Math.floor(ns / unit)) * unit;
  return +(Math.min(out, ns) / 1e9).toPrecision(12);
}
function secondsAbove(ns: number): number {
  const unit = Math.max(1, Math.pow(10, Math.floor(Math.log10(Math.max(ns, 1))) - 2));
  return +((Math.floor(ns / unit) + 1) * unit / 1e9).toPrecision(12);
}

// --span NAME --slower-than A --faster-than B.
export interface SpanChoice { name: string; slower: number; faster: number | null }  // seconds
export function choiceOf(spans: SpanRows, kind: SpanKind, rows: number[]): SpanChoice {
  let least = Infinity, most = 0;
  for (const row of rows) { least = Math.min(least, spans.length[row]); most = Math.max(most, spans.length[row]); }
  return { name: kind.name, slower: secondsBelow(least), faster: most < kind.most_ns ? secondsAbove(most) : null };
}
// One in twenty, and at least one: p95 may be the length of most spans.
export function slowestOf(spans: SpanRows, kind: number, of: SpanKind): SpanChoice {
  const lengths = spans.length.filter((_, row) => spans.kind[row] === kind).sort();
  const count = Math.max(1, Math.floor(of.count / 20));
  return { name: of.name, slower: secondsBelow(lengths[Math.max(0, lengths.length - count)] ?? 0), faster: null };
}
export function chosenBy(spans: SpanRows, kind: number, { slower, faster }: SpanChoice): number {
  let count = 0;
  for (let i = 0; i < spans.kind.length; i++) if (spans.kind[i] === kind && spans.length[i] >= slower * 1e9 && (faster === null || spans.length[i] < faster * 1e9)) count++;
  return count;
}
export const choiceWords = ({ name, slower, faster }: SpanChoice) => ["--span", quoted(name), ...(slower > 0 ? ["--slower-than", `${slower}`] : []), ...(faster !== null ? ["--faster-than", `${faster}`] : [])].join(" ");
export const choiceText = ({ name, slower, faster }: SpanChoice) =>
  `span ${name}${slower > 0 ? `, at least ${seconds(slower)}` : ""}${faster !== null ? `, less than ${seconds(faster)}` : ""}`;
export const choiceQuery = ({ name, slower, faster }: SpanChoice) =>
  new URLSearchParams({ span: name, ...(slower > 0 ? { "slower-than": `${slower}` } : {}), ...(faster !== null ? { "faster-than": `${faster}` } : {}) }).toString();

// The kind to which the recording was cut: its name, or a part of it that only one has.
export function cutKind(doc: Doc): number {
  const cut = doc.head.spans?.cut, kinds = doc.head.spans?.kinds ?? [];
  if (!cut) return -1;
  const exact = kinds.findIndex(({ name }) => name === cut.name);
  return exact >= 0 ? exact : kinds.findIndex(({ name }) => name.includes(cut.name));
}
export const kindText = (kind: SpanKind) => `${withCommas(kind.count + kind.untimed)} spans, half of them at most ${seconds(kind.p50_ns / 1e9)}, 95 % at most ${seconds(kind.p95_ns / 1e9)}, the longest ${seconds(kind.most_ns / 1e9)}`;
