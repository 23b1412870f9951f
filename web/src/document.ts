// The document in a page: a head in JSON and columns of numbers (docs/page.md). Decoded once into typed arrays.
import { nothing } from "./statistics";
import { Kind, type Change, type Compared, type ComparedHead, type Comparison, type CostTable, type Doc, type Head, type HeapTable, type Sums } from "./types";

// Newer browsers decode base64 themselves.
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, base64);
  const text = atob(base64.trim()), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  return packed;
}

export async function unpack(base64: string): Promise<Uint8Array> {
  const packed = bytesOf(base64), stream = new DecompressionStream("gzip"), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
  writer.write(packed).catch(() => {});  // the reader reports an error in it
  writer.close().catch(() => {});
  // The last four bytes contain the unpacked size: the data goes directly to its final place.
  const out = new Uint8Array(new DataView(packed.buffer).getUint32(packed.length - 4, true));
  for (let at = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return out;
    out.set(value, at);
    at += value.length;
  }
}

// Columns are read in separate loops by result type: most numbers have one byte, and those must be as cheap as possible.
// Numbers have up to 53 bits: above 32 they are combined by multiplication.
class Varints {
  private at = 0;
  constructor(private bytes: Uint8Array) {}
  private long(value: number): number {
    let byte = 0;
    for (let scale = 128; ; scale *= 128) {
      byte = this.bytes[this.at++];
      value += (byte & 0x7f) * scale;
      if (!(byte & 0x80)) return value;
    }
  }
  next(): number {
    const byte = this.bytes[this.at++];
    return byte < 0x80 ? byte : this.long(byte & 0x7f);
  }
  difference(): number {
    const byte = this.bytes[this.at++];
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
    const value = this.long(byte & 0x7f);
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}

function numbers(bytes: Uint8Array, kind: string, count: number): Float64Array {
  const out = new Float64Array(count), from = new Varints(bytes);
  if (kind === "f") new Uint8Array(out.buffer).set(bytes);  // little-endian, like every machine with a browser
  else if (kind === "d") for (let i = 0, last = 0; i < count; i++) out[i] = last += from.difference();
  else for (let i = 0; i < count; i++) out[i] = from.next();
  return out;
}

function wholeNumbers(bytes: Uint8Array, kind: string, count: number): Uint32Array {
  const out = new Uint32Array(count), from = new Varints(bytes);
  if (kind === "d") for (let i = 0, last = 0; i < count; i++) out[i] = last += from.difference();
  else for (let i = 0; i < count; i++) out[i] = from.next();
  return out;
}

// -1 for what was live at the start: it is before all slices, so no selection counts it as allocated.
function sliceNumbers(bytes: Uint8Array, count: number): Int32Array {
  const out = new Int32Array(count), from = new Varints(bytes);
  for (let i = 0, last = 0; i < count; i++) out[i] = last += from.difference();
  return out;
}

// The entries of all cells, in one loop, because there are millions: an entry of one sample only has its slice. False if a
// running sum does not fit into `sums`.
function readEntries(first: Uint32Array, steps: Varints, values: Varints, slice: Uint16Array, sums: Sums): boolean {
  let value = 0, sum = 0;
  for (let cell = 0, i = 0; cell + 1 < first.length; cell++)
    for (let end = first[cell + 1], at = -1; i < end; i++) {
      const step = steps.next();
      slice[i] = at += (step >>> 1) + 1;
      sum += step & 1 ? value += values.difference() : 1;
      sums[i + 1] = sum;
      if (sums[i + 1] !== sum) return false;
    }
  return true;
}

function runningSums(values: Float64Array): Float64Array {
  const sums = new Float64Array(values.length + 1);
  for (let i = 0, sum = 0; i < values.length; i++) sums[i + 1] = sum += values[i];
  return sums;
}

export function readDocument(bytes: Uint8Array): Doc {
  const mark = "fathom page\n";
  if (new TextDecoder().decode(bytes.subarray(0, mark.length)) !== mark) throw new Error("this is no document of fathom");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(mark.length, true);
  const body = mark.length + 4;
  const head: Head = JSON.parse(new TextDecoder().decode(bytes.subarray(body, body + length)));
  if (head.version !== 1) throw new Error(`the document has version ${head.version}, and this page knows 1`);
  const read = <T,>(name: string, as: (bytes: Uint8Array, kind: string, count: number) => T): T => {
    const [kind, offset, size, count] = head.columns[name];
    return as(bytes.subarray(body + length + offset, body + length + offset + size), kind, count);
  };
  const column = (name: string) => read(name, numbers), whole = (name: string) => read(name, wholeNumbers);
  const sumsOfReals = (name: string) => runningSums(column(name));
  const texts = (name: string) => Array.from(column(name), (row) => head.texts[row]);

  const kind = new Uint8Array(column("place.kind"));
  const back = whole("node.back"), placeOf = whole("node.place"), nodes = back.length;
  // Loops and typed arrays, because there may be a million nodes.
  const isIdle = kind.map((one) => one === Kind.idle ? 1 : 0), idlePlaces: number[] = [], idle = new Map<number, number>();
  const shown = new Uint32Array(nodes), up = back;
  for (let i = 0; i < nodes; i++) {
    up[i] = i - up[i];
    shown[i] = i;
    if (!isIdle[placeOf[i]]) continue;
    let at = idle.get(placeOf[i]);
    if (at === undefined) idle.set(placeOf[i], (at = nodes + idlePlaces.push(placeOf[i]) - 1));
    shown[i] = at;
  }
  const withIdle = (of: Uint32Array, more: number[]) => { const out = new Uint32Array(nodes + more.length); out.set(of); out.set(more, nodes); return out; };
  const parent = idlePlaces.length ? withIdle(up, idlePlaces.map(() => 0)) : up, place = idlePlaces.length ? withIdle(placeOf, idlePlaces) : placeOf;
  const cells = (table: string) => {
    const counts = column(`${table}.entries`), first = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) first[i + 1] = first[i] + counts[i];
    return { thread: whole(`${table}.thread`), node: whole(`${table}.node`), first };
  };
  const costsOf = (table: string): CostTable => {
    const of = cells(table), count = of.first[of.first.length - 1], slice = new Uint16Array(count);
    const varints = (name: string) => read(name, (bytes) => new Varints(bytes));
    const filled = (sums: Sums) => readEntries(of.first, varints(`${table}.slice`), varints(`${table}.value`), slice, sums) ? sums : null;
    // Half the size if they fit into 32 bits.
    return { ...of, slice, sums: filled(new Uint32Array(count + 1)) ?? filled(new Float64Array(count + 1))! };
  };
  const costs = new Map<string, CostTable>();
  for (const metric of head.metrics) if (metric.table !== "heap") costs.set(metric.name, costsOf(metric.name));
  let heap: HeapTable | null = null;
  if (head.columns["heap.thread"]) {
    heap = {
      ...cells("heap"), slice: read("heap.slice", (of, _, count) => sliceNumbers(of, count)), peakBytes: column("heap.peak_bytes"),
      sumAllocatedBytes: sumsOfReals("heap.allocated_bytes"), sumAllocatedBlocks: sumsOfReals("heap.allocated_blocks"),
      sumFreedBytes: sumsOfReals("heap.freed_bytes"), sumFreedBlocks: sumsOfReals("heap.freed_blocks"),
    };
  }
  // Five figures per change, and flags: judged, beyond noise.
  const changes = (name: string): Change[] => {
    const values = column(`${name}.values`);
    return Array.from(whole(`${name}.flags`), (flags, i) => ({ ...nothing,
      base: values[5 * i], fresh: values[5 * i + 1], change: values[5 * i + 2], error: values[5 * i + 3], p: values[5 * i + 4], lookedAt: (flags & 1) !== 0, beyondNoise: (flags & 2) !== 0 }));
  };
  const comparisonOf = (name: string, of: ComparedHead): Comparison => {
    const from = `compared.${name}`, functions = new Map<number, Compared>(), rows = changes(`${from}.places`), ofThreads = changes(`${from}.threads`);
    whole(`${from}.places`).forEach((place, i) => { functions.set(place, { place, self: rows[2 * i], total: rows[2 * i + 1] }); });
    return {
      unit: of.unit, seconds: of.seconds, factors: of.factors, whole: changes(`${from}.whole`)[0], functions,
      threads: new Map(Array.from(whole(`${from}.threads`), (row, i) => [row, ofThreads[i]])), lookedAt: of.looked_at, level: of.level,
    };
  };
  const module = texts("place.module"), name = texts("place.name");
  const short = head.columns["place.short"] ? texts("place.short").map((text, i) => text || name[i]) : name;
  return {
    compared: head.compared_with === undefined ? null : new Map(head.metrics.flatMap((one) => one.compared ? [[one.name, comparisonOf(one.name, one.compared)]] : [])),
    modules: [...new Set(module)].filter(Boolean),
    byObject: costsOf("object"),
    waits: {
      start: column("wait.start_ns"), waited: column("wait.waited_ns"), queued: column("wait.queued_ns"), thread: whole("wait.thread"),
      tid: whole("wait.tid"), waker: whole("wait.waker"), wakerTid: whole("wait.waker_tid"), node: whole("wait.node"),
      wakerNode: whole("wait.waker_node"), object: whole("wait.object"), weight: whole("wait.weight"),
    },
    courses: (head.courses?.lines ?? []).map((line) => ({ name: line.name, unit: line.unit, base: column(`${line.columns}.base`), fresh: column(`${line.columns}.new`) })),
    spans: head.spans ? { kind: whole("span.kind"), start: column("span.start_ns"), length: column("span.length_ns"), thread: whole("span.thread") } : null,
    shapes: heap && { cell: whole("shape.cell"), kind: new Uint8Array(column("shape.kind")), bucket: new Uint8Array(column("shape.bucket")), blocks: column("shape.blocks") },
    blocks: heap && { cell: whole("block.cell"), address: column("block.address"), size: column("block.size"), allocated: column("block.allocated_ns"), blocks: column("block.blocks") },
    head, nodes, parent, place, shown,
    places: kind.length, name, short, module, crate: texts("place.crate"),
    file: texts("place.file"), line: whole("place.line"), lastLine: whole("place.last_line"), kind, whose: head.columns["place.whose"] ? new Uint8Array(column("place.whose")) : new Uint8Array(kind.length), costs, heap,
    lines: head.series.map((series) => ({
      name: series.name, unit: series.unit, pid: series.pid, ms: column(`${series.columns}.ms`), value: column(`${series.columns}.value`),
    })),
  };
}
