// Documents as docs/page.md describes them, written by this and by no code of the program, of samples by chance.

class Columns {
  table = {};
  bytes = [];
  #put(name, kind, count, write) {
    const offset = this.bytes.length;
    write();
    this.table[name] = [kind, offset, this.bytes.length - offset, count];
  }
  #varint(value) {
    for (let left = BigInt(value); ; left >>= 7n) {
      if (left < 128n) return void this.bytes.push(Number(left));
      this.bytes.push(Number(left & 127n) | 128);
    }
  }
  unsigned(name, values) { this.#put(name, "u", values.length, () => values.forEach((value) => this.#varint(value))); }
  // Each as its distance from the one before, with the sign in the lowest bit.
  differences(name, values) {
    let last = 0n;
    this.#put(name, "d", values.length, () => values.forEach((value) => {
      const step = BigInt(value) - last;
      last = BigInt(value);
      this.#varint(step < 0n ? -2n * step - 1n : 2n * step);
    }));
  }
  reals(name, values) {
    this.#put(name, "f", values.length, () => values.forEach((value) => this.bytes.push(...new Uint8Array(new Float64Array([value]).buffer))));
  }
  // Entries { thread, node, slice, value }: cells by thread and node, their entries in order of time.
  entries(table, entries) {
    const cells = new Map();
    for (const entry of entries) {
      const key = `${entry.thread} ${entry.node}`;
      if (!cells.has(key)) cells.set(key, { ...entry, of: new Map() });
      const { of } = cells.get(key);
      of.set(entry.slice, (of.get(entry.slice) ?? 0) + entry.value);
    }
    const all = [...cells.values()], runs = all.map(({ of }) => [...of].sort((a, b) => a[0] - b[0]));
    this.unsigned(`${table}.thread`, all.map(({ thread }) => thread));
    this.unsigned(`${table}.node`, all.map(({ node }) => node));
    this.unsigned(`${table}.entries`, runs.map((run) => run.length));
    const values = runs.flatMap((run) => run.map(([, value]) => value));
    this.#put(`${table}.slice`, "e", values.length, () => runs.forEach((run) => run.forEach(([slice, value], i) =>
      this.#varint(2 * (slice - (i ? run[i - 1][0] + 1 : 0)) + (value === 1 ? 0 : 1)))));
    this.differences(`${table}.value`, values.filter((value) => value !== 1));
  }
}

export function randomOf(seed) {
  let state = seed;
  return (below) => {  // after Marsaglia's xorshift
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    return (state >>> 0) % below;
  };
}

export const idleKind = 7;
// `calls`: rows { parent, place } from 1 on, each parent before its children; `entries` of the metric "cpu".
export function documentOf({ names, modules = names.map(() => ""), crates = names.map(() => ""), kinds = names.map(() => 0), whose = names.map(() => 0), calls, threads, slices, entries, heap = null, spans = null, version = 1 }) {
  const texts = ["", ...new Set([...names, ...modules, ...crates])].filter((text, i) => i === 0 || text !== ""), columns = new Columns();
  const rows = (of) => [0, ...of.map((text) => texts.indexOf(text))], none = [0, ...names.map(() => 0)];
  columns.unsigned("node.back", [0, ...calls.map(({ parent }, i) => i + 1 - parent)]);
  columns.unsigned("node.place", [0, ...calls.map(({ place }) => place)]);
  columns.unsigned("place.name", rows(names));
  columns.unsigned("place.module", rows(modules));
  columns.unsigned("place.crate", rows(crates));
  for (const name of ["file", "line", "last_line"]) columns.unsigned(`place.${name}`, none);
  columns.unsigned("place.kind", [0, ...kinds]);
  columns.unsigned("place.whose", [0, ...whose]);
  columns.entries("cpu", entries);
  columns.entries("object", []);
  for (const name of ["start_ns", "waited_ns", "queued_ns", "thread", "tid", "waker", "waker_tid", "node", "waker_node", "object", "weight"]) columns.unsigned(`wait.${name}`, []);
  if (heap) {
    const each = (of) => heap.flatMap(of);
    columns.unsigned("heap.thread", heap.map(({ thread }) => thread));
    columns.unsigned("heap.node", heap.map(({ node }) => node));
    columns.unsigned("heap.entries", heap.map(({ allocated }) => allocated.length));
    columns.differences("heap.slice", each(({ allocated }) => allocated.map(([slice]) => slice)));
    columns.reals("heap.allocated_bytes", each(({ allocated }) => allocated.map(([, bytes]) => bytes)));
    for (const name of ["allocated_blocks", "freed_bytes", "freed_blocks"]) columns.reals(`heap.${name}`, each(({ allocated }) => allocated.map(() => 0)));
    columns.reals("heap.peak_bytes", heap.map(() => 0));
    columns.unsigned("shape.cell", each(({ sizes }, cell) => sizes.map(() => cell)));
    columns.unsigned("shape.kind", each(({ sizes }) => sizes.map(() => 0)));
    columns.unsigned("shape.bucket", each(({ sizes }) => sizes));
    columns.reals("shape.blocks", each(({ sizes }) => sizes.map(() => 1)));
    for (const name of ["cell", "address", "size", "allocated_ns"]) columns.unsigned(`block.${name}`, []);
    columns.reals("block.blocks", []);
  }
  // { kinds: [{ name }], rows: [{ kind, start, length, thread }] } in ns, by start; `thread` is a name of `threads`, or "".
  if (spans) {
    for (const { thread } of spans.rows) if (!texts.includes(thread)) texts.push(thread);
    columns.unsigned("span.kind", spans.rows.map(({ kind }) => kind));
    columns.differences("span.start_ns", spans.rows.map(({ start }) => start));
    columns.unsigned("span.length_ns", spans.rows.map(({ length }) => length));
    columns.unsigned("span.thread", spans.rows.map(({ thread }) => texts.indexOf(thread)));
  }
  const head = {
    version, file: "x.fathom", arguments: [], target: "x", event: "", frequency_hz: 99, period_ns: 1e9 / 99, start_unix_ms: 0, duration_ns: slices * 1e7,
    cpus: "", host: "", memory_limit: 0, marks: [], slice_ms: 10, slices, folded: { calls: 0, share: 0 }, words: { headline: "", quality: "", claims: [], complaints: [] },
    metrics: [{ name: "cpu", title: "CPU time", unit: "samples", table: "cpu", weight: 1 }, ...(heap ? [{ name: "heap-live", title: "Live heap", unit: "bytes", table: "heap", weight: 0 }] : [])], threads: threads.map((name) => ({ name, threads: 1 })), series: [], texts,
    waits: { objects: [], shorter: 0 }, heap: heap && { knows_blocks: false }, spans: spans && { kinds: spans.kinds, cut: spans.cut ?? null, can_ask: spans.can_ask ?? false }, modules: [], columns: columns.table,
  };
  const json = new TextEncoder().encode(JSON.stringify(head)), mark = new TextEncoder().encode("fathom page\n"), length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, json.length, true);
  return Uint8Array.from([...mark, ...length, ...json, ...columns.bytes]);
}

// A tree of 60 calls, of which some recur and some are waits for work; values up to what fits into 53 bits where `large`.
export function someDocument(seed, large = false) {
  const random = randomOf(seed);
  const names = ["main", "Server::serve", "json::parse", "std::sort<int>", "serve_file", "(idle: worker)", "write", "été::λ"];
  const kinds = names.map((name) => name.startsWith("(idle:") ? idleKind : 0), modules = names.map((_, i) => i % 3 === 0 ? "libc.so" : "server"), crates = names.map((name) => /^(.*?)::/.exec(name)?.[1] ?? "");
  const calls = [], threads = ["main", "worker"], slices = 40;
  const idle = names.indexOf("(idle: worker)") + 1;
  for (let i = 1; i <= 60; i++) {
    let parent = random(i);
    while (parent > 0 && calls[parent - 1].place === idle) parent = random(i);
    calls.push({ parent, place: 1 + random(names.length) });
  }
  const entries = Array.from({ length: 300 }, () => ({ thread: random(2), node: 1 + random(60), slice: random(slices), value: large ? 2 ** 43 + random(1e9) : 1 + random(200) }));
  return { names, kinds, modules, crates, calls, threads, slices, entries };
}
