// Compares two times of one recording, like `fathom diff FILE --base A:B --new C:D`: each function's figure on both sides, and
// whether it changed by more than noise. Pure.
import { cellValues, cellsOf, entryAt, sizedCells, takenNodes } from "./aggregate";
import { changeBetween, figureOf, holmLevel, judgeAll } from "./statistics";
import { Kind, type Change, type Comparison, type Doc, type Range, type Scale, type Selection, type Taken } from "./types";

const usualPieces = 20, leastForPieces = 2, leastSamples = 10, leastShare = 0.001;

// The peak is only known for the whole recording.
export const canCompare = (metric: string) => metric !== "heap-peak";
const isLevel = (metric: string) => metric === "heap-live" || metric === "heap-peak";

class Side {
  readonly pieces: number; readonly length: number; readonly seconds: number;
  constructor(doc: Doc, readonly range: Range, isTime: boolean) {
    const { slice_ms, duration_ns } = doc.head, width = slice_ms * 1e6, count = range[1] - range[0];
    this.seconds = Math.max(0, Math.min(range[1] * width, duration_ns) - range[0] * width) * 1e-9;
    const cut = isTime && this.seconds >= leastForPieces;
    this.length = cut ? Math.ceil(count / usualPieces) : count;
    this.pieces = cut ? Math.max(1, Math.floor(count / this.length)) : 1;
  }
  // The rest at the end is an additional, last piece.
  pieceOf(slice: number): number { return Math.min(this.pieces, Math.floor((slice - this.range[0]) / this.length)); }
  get stretch(): number { return (this.range[1] - this.range[0]) / (this.pieces * this.length); }
}

// Rows with the pieces of both sides: base first.
class Rows {
  private values: Float64Array;
  constructor(rows: number, private sides: [Side, Side]) { this.values = new Float64Array(rows * this.width); }
  private get width(): number { return this.sides[0].pieces + this.sides[1].pieces + 2; }
  add(row: number, side: number, piece: number, value: number) { this.values[row * this.width + (side ? this.sides[0].pieces + 1 : 0) + piece] += value; }
  of(row: number, side: number): Float64Array {
    const from = row * this.width + (side ? this.sides[0].pieces + 1 : 0);
    return this.values.subarray(from, from + this.sides[side].pieces + 1);
  }
  key(row: number): string { return this.values.subarray(row * this.width, (row + 1) * this.width).join(); }
  addAll(row: number, other: Rows, from: number) { for (let i = 0; i < this.width; i++) this.values[row * this.width + i] += other.values[from * this.width + i]; }
}

const numbered = (texts: string[]) => {
  const numbers = new Map<string, number>();
  return { of: Uint32Array.from(texts, (text) => { if (!numbers.has(text)) numbers.set(text, numbers.size); return numbers.get(text)!; }), count: numbers.size };
};

export function compare(doc: Doc, selection: Selection, base: Range): Comparison {
  const { head } = doc, { metric } = selection, cells = cellsOf(doc, metric), table = doc.costs.get(metric);
  const info = head.metrics.find(({ name }) => name === metric), isTime = metric === "cpu" || metric === "off-cpu";
  const sides: [Side, Side] = [new Side(doc, base, isTime), new Side(doc, [selection.from, selection.to], isTime)];
  const nodes = takenNodes(doc, selection.focus, selection.ignore), sized = sizedCells(doc, cells, selection.sizes);
  const self = new Rows(doc.places, sides), total = new Rows(doc.places, sides), threads = new Rows(head.threads.length, sides), whole = new Rows(1, sides);
  const seen = new Int32Array(doc.places).fill(-1), path: number[] = [];
  const values = table ? null : sides.map(({ range }) => cellValues(doc, metric, ...range));
  for (let i = 0; i < cells.node.length; i++) {
    if (!nodes[cells.node[i]] || sized && !sized[i]) continue;
    if (selection.thread !== null && head.threads[cells.thread[i]].name !== selection.thread) continue;
    path.length = 0;
    const add = (side: number, piece: number, value: number) => {
      if (value === 0) return;
      if (!path.length)
        for (let at = doc.shown[cells.node[i]]; at !== 0; at = doc.parent[at]) if (seen[doc.place[at]] !== i) { seen[doc.place[at]] = i; path.push(doc.place[at]); }
      if (path.length) self.add(path[0], side, piece, value);
      // A wait counts for its cause and for the function that waits.
      if (path.length > 1 && doc.kind[path[0]] === Kind.cause) self.add(path[1], side, piece, value);
      for (const place of path) total.add(place, side, piece, value);
      threads.add(cells.thread[i], side, piece, value);
      whole.add(0, side, piece, value);
    };
    sides.forEach((side, s) => {
      if (values) return add(s, 0, values[s][i]);
      for (let j = entryAt(cells, i, side.range[0]), end = entryAt(cells, i, side.range[1]); j < end; j++) add(s, side.pieceOf(cells.slice[j]), table!.sums[j + 1] - table!.sums[j]);
    });
  }

  const sumOf = (row: Float64Array) => row.reduce((a, b) => a + b, 0), wholes = [whole.of(0, 0), whole.of(0, 1)];
  const period = metric === "cpu" ? head.period_ns : 1;
  const byShare = isTime && !(period > 0);
  const scales = sides.map((side, s): Scale => {
    const ticks = metric === "cpu" && period > 0 ? side.seconds * 1e9 / period : 0;
    return {
      pieces: side.pieces, whole: side.stretch, weight: info?.weight ?? 0, ofWhole: byShare,
      factor: isLevel(metric) ? 1 : side.seconds > 0 ? (isTime ? period * 1e-9 : 1) / side.seconds : 0,
      most: ticks > 0 ? ticks * Math.max(1, Math.ceil(sumOf(wholes[s]) / ticks)) : 0,
    };
  });
  const changes: Change[] = [], chances: number[] = [], tested = new Set<string>();
  const wholeChange = changeBetween(figureOf(wholes[0], wholes[0], scales[0]), figureOf(wholes[1], wholes[1], scales[1]));
  const test = (rows: Rows, row: number): Change => {
    const of = [rows.of(row, 0), rows.of(row, 1)];
    const change = changeBetween(figureOf(of[0], wholes[0], scales[0]), figureOf(of[1], wholes[1], scales[1]));
    const weight = info?.weight ?? 0, samples = weight > 0 ? (sumOf(of[0]) + sumOf(of[1])) / weight : leastSamples;
    change.lookedAt = samples >= leastSamples && change.base + change.fresh >= leastShare * (wholeChange.base + wholeChange.fresh);
    changes.push(change);
    // Figures with the same values everywhere count as one test.
    if (change.lookedAt) { const key = rows.key(row); if (!tested.has(key)) { tested.add(key); chances.push(change.p); } }
    return change;
  };
  const result: Comparison = {
    unit: byShare ? "share" : metric === "cpu" ? "cores" : isTime ? "threads" : isLevel(metric) ? "bytes" : metric === "heap-allocations" ? "per second" : "bytes per second",
    seconds: [sides[0].seconds, sides[1].seconds],
    factors: [0, 1].map((s) => byShare ? 1 / Math.max(1, sumOf(wholes[s])) : scales[s].factor) as [number, number],
    whole: byShare ? wholeChange : test(whole, 0), functions: new Map(), threads: new Map(), lookedAt: 0, level: 0.05,
  };
  const any = (change: Change) => change.base !== 0 || change.fresh !== 0;
  const modules = numbered(doc.module), crates = numbered(doc.crate);
  const byModule = new Rows(modules.count, sides), byCrate = new Rows(crates.count, sides);
  for (let place = 1; place < doc.places; place++) {
    const row = { place, self: test(self, place), total: test(total, place) };
    if (any(row.total)) result.functions.set(place, row);
    byModule.addAll(modules.of[place], self, place);
    if (doc.crate[place] && doc.kind[place] !== Kind.cause) byCrate.addAll(crates.of[place], self, place);
  }
  for (let row = 0; row < head.threads.length; row++) { const change = test(threads, row); if (any(change)) result.threads.set(row, change); }
  // `fathom diff` also has tables of these, and judges all of them together.
  for (let row = 0; row < modules.count; row++) test(byModule, row);
  for (let row = 0; row < crates.count; row++) test(byCrate, row);
  result.lookedAt = chances.length;
  result.level = holmLevel(chances);
  judgeAll(changes, result.level);
  return result;
}

// The base values of the same cells, in addition to those of the selection.
export function withBase(doc: Doc, taken: Taken, selection: Selection, base: Range): Taken {
  const values = cellValues(doc, selection.metric, ...base), nodes = takenNodes(doc, selection.focus, selection.ignore);
  const sized = sizedCells(doc, taken.cells, selection.sizes);
  for (let i = 0; i < values.length; i++) {
    const other = selection.thread !== null && doc.head.threads[taken.cells.thread[i]].name !== selection.thread;
    if (other || !nodes[taken.cells.node[i]] || sized && !sized[i]) values[i] = 0;
  }
  return { ...taken, base: values };
}
