// Values that were read over time. Pure.
import type { Doc, Line } from "./types";

// The last value read at or before a time; otherwise the first one.
export function valueAt(line: Line, ms: number): number {
  let low = 0, high = line.ms.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.ms[middle] <= ms) low = middle + 1; else high = middle;
  }
  return line.value[Math.max(0, low - 1)];
}

const resident = ["memory.rss_anon", "memory.rss_file", "memory.rss_shmem"];
export interface Course { start: number; end: number; most: number; mostAt: number }
// Resident memory of all processes from `from` to `to` ms; null if it was not read.
export function residentIn(doc: Doc, from: number, to: number): Course | null {
  const lines = doc.lines.filter(({ name, ms }) => resident.includes(name) && ms.length > 0);
  if (!lines.length) return null;
  // A process has no memory before its first reading.
  const at = (ms: number) => lines.reduce((sum, line) => sum + (ms < line.ms[0] && lines.some((other) => other.ms[0] < line.ms[0]) ? 0 : valueAt(line, ms)), 0);
  const out = { start: at(from), end: at(to), most: -1, mostAt: from };
  const times = [from, to, ...lines.flatMap((line) => Array.from(line.ms).filter((ms) => ms >= from && ms <= to))];
  for (const ms of new Set(times)) { const value = at(ms); if (value > out.most) { out.most = value; out.mostAt = ms; } }
  return out;
}
