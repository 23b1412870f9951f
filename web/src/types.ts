// The types of the page, in one place: the document, a selection, trees, changes. No code, so that any file may include it.

// ---- the document (docs/page.md)
// `weight`: the value of one independent sample; 0: every event was counted.
// `compared`: on a page of two recordings.
export interface Metric { name: string; title: string; unit: string; table: string; weight: number; compared?: ComparedHead }
// The result of `fathom diff` for both sides. A side's values times its factor are figures.
export interface ComparedHead {
  unit: Unit; seconds: [base: number, fresh: number]; factors: [base: number, fresh: number]; looked_at: number; level: number; judged: boolean;
  headline: string; legend: string; doubts: string[];
}
interface ThreadName { name: string; threads: number }
interface SeriesHead { name: string; unit: string; pid: number; columns: string }
// `subject`: what the sentence is about ("CPU"); "": the text says it.
interface Claim { subject?: string; text: string; metric: string; focus: string }
export interface Head {
  version: number; file: string; compared_with?: string; runs?: { base: string[]; new: string[] }; arguments: string[]; target: string; event: string; frequency_hz: number;
  period_ns: number; start_unix_ms: number; duration_ns: number; cpus: string; host: string;
  memory_limit: number;  // bytes; 0: none known
  marks: { s: number; name: string }[];  // named moments, in time order
  slice_ms: number; slices: number;
  folded: { calls: number; share: number };
  words: { headline: string; quality: string; claims: Claim[]; complaints: string[] };
  metrics: Metric[]; threads: ThreadName[]; series: SeriesHead[]; texts: string[];
  waits: { objects: { name: string; kind: WaitedFor }[]; shorter: number };
  heap: { knows_blocks: boolean } | null;
  courses?: { step_s: [base: number, fresh: number]; lines: { name: string; unit: string; columns: string }[] };  // of two recordings
  spans?: { kinds: SpanKind[]; cut: { name: string; slower_s: number; faster_s: number | null } | null; can_ask: boolean } | null;
  modules: { name: string; build_id: string; symbols: string }[];
  columns: Record<string, [kind: string, offset: number, bytes: number, count: number]>;
}

// `untimed`: spans of another clock, of which only the length is known; they are in no row.
export interface SpanKind { name: string; count: number; untimed: number; p50_ns: number; p95_ns: number; most_ns: number }
// By start; ns from the start of the recording. `thread`: a text of the head; 0: none, or several.
export interface SpanRows { kind: Uint32Array; start: Float64Array; length: Float64Array; thread: Uint32Array }

export const enum Kind { code, kernel, runtime, allocator, generated, unknown, cause, idle, folded }

// Whose code a place is: the user's own, a package that was linked in, or a language's library, lock or runtime.
export const enum Whose { own, linked, runtime }

export const enum WaitedFor { other, lock, file }

// The entries of cell i are at first[i] to first[i + 1], in time order. Only running sums of the values are kept: sums[j] is
// the sum of all entries before j.
export type Sums = Float64Array | Uint32Array;
export interface Cells { thread: Uint32Array; node: Uint32Array; first: Uint32Array; slice: Uint16Array | Int32Array }
export interface CostTable extends Cells { sums: Sums }
export interface HeapTable extends Cells {
  peakBytes: Float64Array;
  sumAllocatedBytes: Float64Array; sumAllocatedBlocks: Float64Array; sumFreedBytes: Float64Array; sumFreedBlocks: Float64Array;
}
// Values at equal steps of both recordings.
export interface CourseLine { name: string; unit: string; base: Float64Array; fresh: Float64Array }
export interface Line { name: string; unit: string; pid: number; ms: Float64Array; value: Float64Array }

// The longest single waits, in time order. Threads are rows of the head's names plus one: 0 is none.
interface WaitRows {
  start: Float64Array; waited: Float64Array; queued: Float64Array;  // ns, from the start of the recording
  thread: Uint32Array; tid: Uint32Array; waker: Uint32Array; wakerTid: Uint32Array;
  node: Uint32Array; wakerNode: Uint32Array; object: Uint32Array; weight: Uint32Array;
}
// The number of blocks of a heap cell with 2^(bucket - 1) up to 2^bucket bytes, or ns.
export const enum ShapeKind { size, lifetime, age }
interface Shapes { cell: Uint32Array; kind: Uint8Array; bucket: Uint8Array; blocks: Float64Array }
export interface Blocks { cell: Uint32Array; address: Float64Array; size: Float64Array; allocated: Float64Array; blocks: Float64Array }

export interface Doc {
  head: Head;
  // Nodes of the call tree. Idle waits are shown without their stack: shown[node] is then a node after `nodes` directly below
  // the root; for all others it is the node itself.
  nodes: number; parent: Uint32Array; place: Uint32Array; shown: Uint32Array;
  places: number; name: string[]; short: string[];  // `short`: the function and what it belongs to, for sentences and narrow columns
  module: string[]; crate: string[]; file: string[];
  line: Uint32Array; lastLine: Uint32Array; kind: Uint8Array; whose: Uint8Array;  // Whose
  costs: Map<string, CostTable>; heap: HeapTable | null; lines: Line[];
  modules: string[];  // the modules of places
  byObject: CostTable; waits: WaitRows;  // by the object of the wait: `thread` is then a row of head.waits.objects
  courses: CourseLine[];
  spans: SpanRows | null;
  shapes: Shapes | null; blocks: Blocks | null;
  compared: Map<string, Comparison> | null;  // for two recordings, by metric: time then has two slices, base and new
}

// ---- what is selected, and what it costs
export interface Selection {
  metric: string;
  from: number; to: number;  // slices; `to` is exclusive
  thread: string | null;     // a name
  focus: string[]; ignore: string[];
  sizes: Sizes | null;       // of the heap: only sites that requested blocks of these sizes
}
export type Sizes = [first: number, end: number];  // buckets: 2^(first - 1) bytes up to less than 2^(end - 1)

// `base`: the values of the same cells at the other time of a comparison.
export interface Taken { metric: string; cells: Cells; values: Float64Array; total: number; whole: number; base?: Float64Array }

// Nodes with parents before children; 0 is the root. `place` of a thread is places + its row of the threads.
export interface Tree {
  parent: Uint32Array; place: Uint32Array; count: number;
  selfOf(node: number): number; totalOf(node: number): number;
  outermost?: Uint8Array;  // by node: no caller is the same function; if known
  base?: Costs; fresh?: Costs;  // of a comparison
}
export interface Costs { self: Float64Array; total: Float64Array }

export interface FunctionRow { place: number; self: number; total: number }

export interface Around { self: number; total: number; callers: [place: number, value: number][]; callees: [place: number, value: number][] }

// Nodes in the order of a walk down the tree. `of`: by node of the document, which has the idle waits after its calls.
export interface Shape { parent: Uint32Array; place: Uint32Array; of: Uint32Array }

export interface Box {
  node: number;   // of the tree; for a joined box, the caller
  x: number; width: number; row: number;
  joined: number; // number of calls in it; 0: it is one call
  value: number;
}

// `places`: by place whether it matches; the other values are of node `top` and its callees.
export interface Found { places: Uint8Array; value: number; calls: number; share: number }

export interface Hop { row: number; ns: number; waker: number; wakerTid: number }  // `ns`: the part that delays the previous hop

// ---- comparisons
export interface Scale {
  pieces: number;   // of equal length, in time order; the rest after them is one more piece, which is not part of the spread
  whole: number;    // from the values of the pieces to those of the whole side: 1, or a little more if there is a rest
  factor: number;   // from a value to the figure: per second ...
  weight: number;   // the value of one independent sample; 0: every event was counted
  most: number;     // the largest possible value; 0: no limit
  ofWhole: boolean; // the figure is a share of the side's whole
}
export interface Figure { mean: number; variance: number; freedom: number }
export interface Change {
  base: number; fresh: number; change: number;
  sd: number; freedom: number; p: number;
  error: number;  // half of the interval
  lookedAt: boolean; beyondNoise: boolean;
}

export type Range = [from: number, to: number];  // slices; the end is exclusive
export type Unit = "cores" | "threads" | "share" | "ns" | "bytes" | "bytes per second" | "per second" | "count";
export interface Compared { place: number; self: Change; total: Change }
export interface Comparison {
  unit: Unit; seconds: [base: number, fresh: number]; factors: [base: number, fresh: number];
  whole: Change;
  functions: Map<number, Compared>;          // by place; includes causes of waits
  threads: Map<number, Change>;              // by row of the head's threads
  lookedAt: number; level: number;
}
