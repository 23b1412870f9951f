// Which thread caused a wait in the end: the thread that ended a wait has often waited itself in the meantime, and another
// thread ended that wait. The rules are those of `fathom report --waits` (analysis/waits/wait_chains.cpp), for the waits on the
// page. Pure.
import type { Doc, Hop } from "./types";

const mostHops = 8, leastNs = 100_000, leastShare = 0.3;

type ByThread = Map<number, number[]>;  // rows of the waits by thread number, in time order
export function byThread({ waits }: Doc): ByThread {
  const out: ByThread = new Map();
  for (let i = 0; i < waits.start.length; i++) {
    if (waits.waited[i] < leastNs) continue;
    const rows = out.get(waits.tid[i]);
    if (rows) rows.push(i); else out.set(waits.tid[i], [i]);
  }
  return out;
}

// A thread's wait that fills the largest part of a time range and ends in it: otherwise the thread could not have woken another
// one then.
function longestWithin({ waits }: Doc, rows: number[], from: number, to: number): [row: number, from: number, to: number] | null {
  let best: [number, number, number] | null = null;
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (waits.start[rows[middle]] < from) low = middle + 1; else high = middle;
  }
  for (let i = Math.max(0, low - 1); i < rows.length && waits.start[rows[i]] < to; i++) {
    const end = waits.start[rows[i]] + waits.waited[rows[i]], begin = Math.max(from, waits.start[rows[i]]);
    if (end > to || end <= from || best && end - begin <= best[2] - best[1]) continue;
    best = [rows[i], begin, end];
  }
  return best && best[2] - best[1] >= leastShare * (to - from) ? best : null;
}

export function chainOf(doc: Doc, threads: ByThread, first: number): Hop[] {
  const { waits } = doc, hops: Hop[] = [], seen = new Set<number>();
  let row = first, from = waits.start[row], to = from + waits.waited[row];
  for (;;) {
    seen.add(waits.tid[row]);
    hops.push({ row, ns: to - from, waker: waits.waker[row], wakerTid: waits.wakerTid[row] });
    if (!waits.waker[row] || hops.length === mostHops || seen.has(waits.wakerTid[row])) return hops;
    const next = longestWithin(doc, threads.get(waits.wakerTid[row]) ?? [], from, to);
    if (!next) return hops;
    [row, from, to] = next;
  }
}
