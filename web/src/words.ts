// Readable numbers and names; the same words as in the program (analysis/core/words.h).
import { foldGenerics } from "./names";
import { Kind, type Change, type Doc, type Metric, type Sizes, type Unit } from "./types";

const digits = (value: number) => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
export const withCommas = (value: number) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");

export function seconds(value: number): string {
  if (value === 0) return "0 s";
  if (value < 0.001) return `${digits(value * 1e6)} us`;
  if (value < 1) return `${digits(value * 1e3)} ms`;
  if (value < 600) return `${digits(value)} s`;
  const minutes = Math.floor(value / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(value % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
export function bytes(value: number): string {
  let unit = 0;
  for (value = Math.abs(value) < 1 ? Math.round(value) : value; value >= 1024 && unit < 4; unit++) value /= 1024;
  return unit === 0 ? `${Math.round(value)} B` : `${digits(value)} ${["", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}
export function amount(value: number, unit: string): string {
  if (unit === "ns") return seconds(value / 1e9);
  if (unit === "bytes") return bytes(value);
  return `${withCommas(value)} ${Math.round(value) === 1 && unit.endsWith("s") ? unit.slice(0, -1) : unit}`;
}
// In a table below the total, which has the unit: a number alone for what is counted.
export const cellOf = (value: number, unit: string) => unit === "ns" || unit === "bytes" ? amount(value, unit) : withCommas(value);
// Metrics in the words of a conversation.
const metricNames: Record<string, string> = {
  cpu: "CPU time", "off-cpu": "Waiting", wall: "Wall-clock time", "heap-live": "Live memory", "heap-allocated": "Allocated memory", "heap-allocations": "Number of allocations",
  "heap-growth": "Memory growth", "heap-peak": "Memory at the peak", "heap-leaked": "Memory never freed",
};
// As the subject of a line.
const subjects: Record<string, string> = { cpu: "CPU", "off-cpu": "Waiting", "heap-live": "Heap", "heap-allocated": "Allocated", "heap-allocations": "Allocations", "heap-growth": "Growth", "heap-peak": "Peak" };
export const subjectOf = (name: string) => subjects[name] ?? name;
export const metricName = (metric: Pick<Metric, "name" | "title"> | undefined) => metric ? metricNames[metric.name] ?? metric.title : "";

// "[wait: futex]" as "futex", and in a sentence, behind a time: "for a lock or another thread".
export const causeText = (name: string) => name.replace(/^\[(wait: )?|\]$/g, "");
const causeProse: Record<string, string> = {
  futex: "for a lock or another thread", "run queue": "for a CPU", sleep: "asleep", poll: "for events", "page fault": "for page faults", "file read": "reading files", "file write": "writing files",
  "file sync": "for fsync", socket: "for sockets", pipe: "for pipes", child: "for a child to end", signal: "for a signal", "memory map": "changing the address space",
};
export const causeWords = (name: string) => causeProse[causeText(name)] ?? `for ${causeText(name)}`;

// A value of a series, in its own unit.
export function quantity(value: number, unit: string): string {
  if (unit === "bytes") return bytes(value);
  if (unit === "ns" || unit === "us") return seconds(value / (unit === "ns" ? 1e9 : 1e6));
  const text = Number.isInteger(value) || value >= 1000 ? withCommas(value) : value.toPrecision(3);
  return unit && unit !== "count" ? `${text} ${unit}` : text;
}
export function percent(share: number): string {
  const value = 100 * share;
  return `${value >= 99.95 ? "100" : value >= 10 || value === 0 ? value.toFixed(value === 0 ? 0 : 1) : value >= 0.095 ? value.toFixed(1) : value.toFixed(2)} %`;
}
// A figure of a comparison, with no more digits than its error allows.
export function figure(value: number, unit: Unit, error = 0, sign = false): string {
  const mark = sign && value > 0 ? "+" : value < 0 ? "−" : "", size = Math.abs(value);
  if (unit === "cores" || unit === "threads" || unit === "share") {
    const known = 100 * (error > 0 ? error : size);
    return `${mark}${(100 * size).toFixed(known >= 0.995 || known === 0 ? 1 : known >= 0.0995 ? 2 : 3)} %`;
  }
  if (unit === "per second") return `${mark}${size >= 100 ? withCommas(size) : digits(size)}/s`;
  if (unit === "count") return `${mark}${size >= 100 ? withCommas(size) : digits(size)}`;
  if (unit === "ns") return `${mark}${seconds(size / 1e9)}`;
  return `${mark}${bytes(size)}${unit === "bytes" ? "" : "/s"}`;
}
// "+51.2 %", "12 times", "new"
export function ofBase(change: Change): string {
  if (change.base <= 0) return change.fresh > 0 ? "new" : "";
  if (change.fresh <= 0) return "gone";
  const ratio = change.fresh / change.base;
  return ratio >= 10 ? `${ratio.toFixed(0)} times` : `${ratio >= 1 ? "+" : "−"}${Math.abs(100 * (ratio - 1)).toFixed(1)} %`;
}
// Parts of names, or /expressions/, as in --focus and --ignore.
function matcher(pattern: string): (name: string) => boolean {
  if (pattern.length > 2 && pattern.startsWith("/") && pattern.endsWith("/")) {
    try {
      const expression = new RegExp(pattern.slice(1, -1));
      return (name) => expression.test(name);
    } catch { return () => false; }
  }
  return (name) => pattern !== "" && name.includes(pattern);
}

const groupOf = (pattern: string) => /^(module|crate):(?!:)(.+)$/s.exec(pattern);
// Places by name, or all places of a module or a crate: "module:NAME", "crate:NAME".
export function placeMatcher(doc: Doc, pattern: string): (place: number) => boolean {
  const group = groupOf(pattern), matches = matcher(group ? group[2] : pattern);
  if (!group) return (place) => matches(doc.name[place]);
  const of = group[1] === "module" ? doc.module : doc.crate;
  return (place) => doc.kind[place] !== Kind.cause && doc.kind[place] !== Kind.idle && matches(of[place]);
}
// The pattern that matches this module or crate, and no other whose name contains it.
export function groupPattern(kind: "module" | "crate", name: string, all: string[]): string {
  const alone = !name.startsWith("/") && !all.some((other) => other !== name && other.includes(name));
  return `${kind}:${alone ? name : `/^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$/`}`;
}
// The text on a chip: "module libc.so", "crate serde", "waits for futex".
export function patternText(word: string, pattern: string): string {
  const group = groupOf(pattern), wait = /^\[wait: (.+)\]$/s.exec(pattern);
  const text = group ? `${group[1]} ${group[2].replace(/^\/\^(.*)\$\/$/s, "$1").replace(/\\(.)/g, "$1")}` : wait ? `waits for ${wait[1]}` : null;
  return text === null ? `${word} ${foldGenerics(pattern)}` : word === "focus" ? text : `${word} ${text}`;
}

// Sizes of blocks by powers of two, as --asked-size accepts and prints them: "64:127", "64KiB:1MiB", "1MiB:", ":100", "4096".
const leastOf = ([first]: Sizes) => first === 0 ? 0 : 2 ** (first - 1);
const known = 53;  // above it, the smallest excluded size has no exact number here
export const askedSize = (sizes: Sizes) => `${leastOf(sizes)}:${sizes[1] > known ? "" : 2 ** (sizes[1] - 1) - 1}`;
export function sizesFrom(text: string): Sizes | null {
  const read = /^([\d.]*)\s*([KMG]?)(i?)B?(?:(:)([\d.]*)\s*([KMG]?)(i?)B?)?$/i.exec(text.trim());
  if (!read || !read[1] && !read[5]) return null;
  const value = (digits: string, unit: string, binary: string) => Number(digits) * (binary ? 1024 : 1000) ** ("KMG".indexOf(unit.toUpperCase() || "-") + 1);
  const bits = (size: number) => size < 1 ? 0 : Math.floor(Math.log2(size)) + 1;
  const least = read[1] ? value(read[1], read[2], read[3]) : 0, most = !read[4] ? least : read[5] ? value(read[5], read[6], read[7]) : Infinity;
  return !(least <= most) || !(least < 2 ** 63) ? null : [bits(least), most < 2 ** 63 ? bits(most) + 1 : 65];
}
export function sizesText(sizes: Sizes): string {
  const [least, most] = [leastOf(sizes), 2 ** (sizes[1] - 1)];
  return sizes[1] > known ? `sizes from ${bytes(least)}` : least === 0 ? `sizes below ${bytes(most)}` : `sizes ${bytes(least)} – ${bytes(most)}`;
}

// Seconds from the start, as for --from: no superfluous digits.
export const secondsText = (ms: number) => (ms / 1000).toString();

// "src/server.rs:12–40"; "" if no line is known.
export function fileOf(doc: Doc, place: number): string {
  const [first, last] = [doc.line[place] ?? 0, doc.lastLine[place]];
  return first ? `${doc.file[place].split("/").slice(-2).join("/")}:${last > first ? `${first}–${last}` : first}` : "";
}
export function whereOf(doc: Doc, place: number): string {
  if (place === 0 || place >= doc.places) return "";
  const [first, last] = [doc.line[place], doc.lastLine[place]];
  const file = doc.file[place].split("/").slice(-3).join("/");
  const lines = first === 0 ? "" : last > first ? `:${first}–${last}` : `:${first}`;
  return [first ? file + lines : "", doc.module[place]].filter(Boolean).join(" · ");
}

// Quotes it as one word for a shell.
export const quoted = (text: string) => /^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

