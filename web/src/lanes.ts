// What the lanes show over time: memory, CPU, waiting, faults, stalls, a chosen series, and a track for each thread.
import { cellsOf, overTime } from "./aggregate";
import { bandHues, causeHues, causeKindOf, causeKinds, faultHues, memoryHues, runningHue, stallHue, toned } from "./colors";
import { kindText } from "./spans";
import { doc, lineName } from "./state";
import { Kind, type Cells, type Line } from "./types";
import { bytes, causeText, percent, quantity, seconds, withCommas } from "./words";

interface Band { name: string; color: string; values: Float64Array; dashed?: boolean }
export interface Lane { title: string; note: string; top: string; most: number; bands: Band[]; lines: Band[]; kind: "memory" | "cpu" | "wait" | "faults" | "io" | "series" | "track" | "span"; span?: number; heat?: Heat; limit?: number }
// The values of each time slice; several slices form a column.
export interface Heat { values: Float64Array; column: number; ms: number; readMs?: number }  // `readMs`: the interval between readings, for values that are read periodically

export const heatHeight = 124, trackHeight = 20, spanHeight = 64;
const rssParts = [["memory.rss_anon", "anonymous", memoryHues[0]], ["memory.rss_file", "files", memoryHues[1]], ["memory.rss_shmem", "shared", memoryHues[2]]] as const;

// A series at equal steps: uses the last earlier value, so that a gap keeps its value. `ends`: zero before its first reading,
// and after its last if other series continue.
function resampled(line: Line, per: number, ends = false): Float64Array {
  const buckets = Math.ceil(doc.head.slices / per), out = new Float64Array(buckets), width = per * doc.head.slice_ms;
  let at = 0, value = line.value[0] ?? 0;
  for (let b = 0; b < buckets; b++) {
    let most = -1;
    for (; at < line.ms.length && line.ms[at] < (b + 1) * width; at++) { value = line.value[at]; most = Math.max(most, value); }
    out[b] = most < 0 ? value : most;
  }
  const longestGap = Math.max(2 * width, 3 * (line.ms[line.ms.length - 1] - line.ms[0]) / Math.max(1, line.ms.length - 1));
  if (ends)
    for (let b = 0; b < buckets; b++)
      if ((b + 1) * width <= line.ms[0] || b * width > line.ms[line.ms.length - 1] + longestGap) out[b] = 0;
  return out;
}

// The parts of a metric, the largest first; `colors` by rank, or by name.
function groups(metric: string, per: number, keyOf: (cell: number) => number, names: string[], colors: (rank: number, name: string) => string, most: number): Band[] {
  const values = overTime(doc, metric, per, names.length, keyOf), buckets = Math.ceil(doc.head.slices / per);
  // The last part may be shorter than the others.
  const ns = (b: number) => Math.max(1, Math.min(per * doc.head.slice_ms * 1e6, doc.head.duration_ns - b * per * doc.head.slice_ms * 1e6));
  const scale = metric === "cpu" ? doc.head.period_ns : 1;
  const sums = values.map((row) => row.reduce((a, b) => a + b, 0));
  const order = sums.map((_, i) => i).filter((i) => sums[i] > 0).sort((a, b) => sums[b] - sums[a]);
  // A rest of one is no shorter than its name.
  const named = order.length <= most ? order.length : most - 1, bands = order.slice(0, named).map((i, rank) => ({ name: names[i], color: colors(rank, names[i]), values: values[i].map((v, b) => v * scale / ns(b)) }));
  const rest = order.slice(named);
  if (rest.length) bands.push({
    name: `${rest.length} others`, color: toned(bandHues[bandHues.length - 1]),
    values: new Float64Array(buckets).map((_, b) => scale / ns(b) * rest.reduce((sum, i) => sum + values[i][b], 0)),
  });
  return bands;
}

// Seconds, or the next longer round time for which a column has at least ten slices.
function heatOf(values: () => Float64Array): Heat | undefined {
  const ms = [1000, 10_000, 60_000, 600_000, 3_600_000].find((unit) => unit >= 10 * doc.head.slice_ms);
  if (!ms || doc.head.slices < 2) return undefined;
  return { values: values(), column: Math.round(ms / doc.head.slice_ms), ms };
}
const heatOfCells = (metric: string, key: (cell: number) => number) => heatOf(() => overTime(doc, metric, 1, 1, (cell) => key(cell) < 0 ? -1 : 0)[0]);
const added = (bands: Float64Array[]) => bands.reduce((sum, band) => sum.map((value, i) => value + band[i]), new Float64Array(bands[0]?.length ?? 0));
// A series knows no more than its readings: if they are far apart, the values between them are constant or spread evenly.
function heatOfSeries(lines: Line[], values: () => Float64Array): Heat | undefined {
  const heat = heatOf(values), steps = lines.filter(({ ms }) => ms.length > 1).map(({ ms }) => (ms[ms.length - 1] - ms[0]) / (ms.length - 1));
  return heat && steps.length ? { ...heat, readMs: Math.min(...steps) } : heat;
}
// Memory is never far from its earlier values: strong colour means far above the minimum.
const aboveLeast = (values: Float64Array) => { const least = values.reduce((a, b) => Math.min(a, b), Infinity); return values.map((value) => value - least); };

// The growth of a counter, over all processes, per second of each part; `unit`: the counter's value that counts as one.
function rates(name: string, per: number, unit: number): Float64Array {
  const out = new Float64Array(Math.ceil(doc.head.slices / per)), width = per * doc.head.slice_ms;
  for (const line of doc.lines)
    if (line.name === name)
      for (let i = 1; i < line.ms.length; i++) {
        // Growth between two readings is assumed to be even.
        const came = Math.max(0, line.value[i] - line.value[i - 1]) / unit, from = line.ms[i - 1] / width, to = Math.max(line.ms[i] / width, from + 1e-9);
        for (let b = Math.floor(from); b < to && b < out.length; b++) out[b] += came * (Math.min(b + 1, to) - Math.max(b, from)) / (to - from);
      }
  return out.map((value, b) => value * 1000 / Math.max(1, Math.min(width, doc.head.duration_ns / 1e6 - b * width)));
}

const linesOf = (...names: string[]) => doc.lines.filter(({ name }) => names.includes(name));

// The meaning of the colour's strength, and how much of the detail is real.
export const heatNote = ({ kind, heat }: Lane) => `a column is ${seconds(heat!.ms / 1000).replace(/\.0+ /, " ")}, from below up; strong: ${kind === "memory" || kind === "series" ? "far above its least" : "much"}`
  + (heat!.readMs && heat!.readMs > heat!.ms / 10 ? `; read every ${seconds(heat!.readMs / 1000)}: nothing finer is known` : "");

export function lanesOf(per: number, series: string | null, heat: string | null, thread: string | null): Lane[] {
  const out: Lane[] = [], { head } = doc, buckets = Math.ceil(head.slices / per);
  const stacked = (bands: Band[]) => Math.max(0, ...Array.from({ length: buckets }, (_, b) => bands.reduce((sum, band) => sum + band.values[b], 0)));
  const mean = (bands: Band[]) => bands.reduce((sum, band) => sum + band.values.reduce((a, b) => a + b, 0), 0) / buckets;
  // For all processes together, each from its first reading to its last.
  const processes = new Set(doc.lines.filter(({ name }) => name === "memory.rss_anon").map(({ pid }) => pid)).size;
  const together = (name: string, parts: number) => {
    const lines = doc.lines.filter((one) => one.name === name);
    return lines.length ? added(lines.map((line) => resampled(line, parts, name === "heap.live" ? lines.length > 1 : processes > 1))) : null;
  };
  const rss = rssParts.flatMap(([name, label, color]) => {
    const values = together(name, per);
    return values?.some((value) => value > 0) ? [{ name: label, color: toned(color), values }] : [];
  });
  const lines: Band[] = [];
  for (const [name, label, dashed] of [["heap.live", "live heap", false], ["memory.allocator_slack", "allocator slack", true]] as const) {
    const values = together(name, per);
    if (values) lines.push({ name: label, color: "", values, dashed });
  }
  if (rss.length || lines.length) {
    const most = Math.max(stacked(rss), ...lines.map((line) => Math.max(...line.values))), limit = head.memory_limit;
    out.push({
      title: "Memory", note: `${rss.length ? `resident${processes > 1 ? ` of ${processes} processes` : ""}` : "live heap"}; ● its peak${limit ? `; limit ${bytes(limit)}` : ""}`,
      top: bytes(Math.max(most, limit)), most: Math.max(most, limit), bands: rss, lines, kind: "memory", limit: limit || undefined,
      heat: heat === "memory" ? heatOf(() => aboveLeast(rss.length ? added(rssParts.flatMap(([name]) => together(name, 1) ?? [])) : together("heap.live", 1)!)) : undefined,
    });
  }
  const names = head.threads.map(({ name }) => name);
  const ofThread = (cells: Cells, cell: number) => thread === null || names[cells.thread[cell]] === thread ? 0 : -1;
  if (doc.costs.has("cpu") && head.period_ns > 0) {
    const cells = cellsOf(doc, "cpu"), bands = groups("cpu", per, (cell) => cells.thread[cell], names, (rank) => toned(bandHues[rank]), bandHues.length);
    const most = stacked(bands);
    if (bands.length) out.push({ title: "CPU", note: `${mean(bands).toFixed(2)}${head.cpus ? ` of ${head.cpus}` : ""} cores`, top: most.toFixed(most < 10 ? 1 : 0), most, bands, lines: [], kind: "cpu", heat: heat === "cpu" ? heatOfCells("cpu", (cell) => ofThread(cells, cell)) : undefined });
  }
  if (doc.costs.has("off-cpu")) {
    const cells = cellsOf(doc, "off-cpu"), causes = new Map<number, number>();
    for (let place = 1; place < doc.places; place++)
      if (doc.kind[place] === Kind.cause) causes.set(place, causeKindOf(causeText(doc.name[place])));
    const cause = (cell: number) => ofThread(cells, cell) < 0 ? -1 : causes.get(doc.place[cells.node[cell]]) ?? -1;
    const bands = groups("off-cpu", per, cause, [...causeKinds], (_, name) => toned(causeHues[causeKinds.indexOf(name)]), causeKinds.length);
    const most = stacked(bands);
    if (bands.length) out.push({ title: "Waiting", note: thread === null ? "threads, without idle ones" : `of ${thread}`, top: most.toFixed(most < 10 ? 1 : 0), most, bands, lines: [], kind: "wait", heat: heat === "wait" ? heatOfCells("off-cpu", cause) : undefined });
  }
  const faults = [["memory.minor_faults", "minor faults", faultHues[0]], ["memory.major_faults", "major faults", faultHues[1]]] as const;
  const pageFaults = faults.map(([name, label, color]) => ({ name: label, color: toned(color), values: rates(name, per, 1) })).filter(({ values }) => values.some((value) => value > 0));
  if (pageFaults.length) {
    const most = stacked(pageFaults);
    out.push({ title: "Faults", note: "a second", top: withCommas(most), most, bands: pageFaults, lines: [], kind: "faults",
      heat: heat === "faults" ? heatOfSeries(linesOf(...faults.map(([name]) => name)), () => added(faults.map(([name]) => rates(name, 1, 1)))) : undefined });
  }
  const stalled = ["cgroup.io_stall_some", "system.io_stall_some"].find((name) => doc.lines.some((line) => line.name === name));
  const stalls = stalled ? rates(stalled, per, 1e6) : null;  // seconds per second
  if (stalls?.some((value) => value >= 0.001))
    out.push({ title: "I/O", note: `stalls of the ${stalled!.split(".")[0] === "system" ? "machine" : "group"}`, top: percent(Math.max(...stalls)), most: Math.max(...stalls), bands: [{ name: "a task waits for a device", color: toned(stallHue), values: stalls }], lines: [], kind: "io",
      heat: heat === "io" ? heatOfSeries(linesOf(stalled!), () => rates(stalled!, 1, 1e6)) : undefined });
  const chosen = doc.lines.find((line) => lineName(line) === series);
  if (chosen) {
    const values = resampled(chosen, per), most = Math.max(0, ...values);
    out.push({ title: "Series", note: chosen.name, top: quantity(most, chosen.unit), most, bands: [], lines: [{ name: lineName(chosen), color: "", values }], kind: "series",
      heat: heat === "series" ? heatOfSeries([chosen], () => aboveLeast(resampled(chosen, 1))) : undefined });
  }
  return out;
}

// A lane for each kind of span, over time and by length; the rest is in the view of spans.
const mostSpanLanes = 3;
export const spanLanes = (): Lane[] => (doc.head.spans?.kinds ?? []).slice(0, mostSpanLanes).map((kind, i) => (
  { title: kind.name, note: `${kindText(kind)}; the higher, the longer. Click a span for its time; drag a box for the spans in it`, top: seconds(kind.most_ns / 1e9), most: 1, bands: [], lines: [], kind: "span", span: i }));

// A track for each name of threads, the busiest first: how many of them run, are in the run queue, or wait for something else.
const mostTracks = 24;
export function tracksOf(per: number): Lane[] {
  const cpu = doc.costs.get("cpu"), waits = doc.costs.get("off-cpu"), { threads, period_ns, slice_ms, duration_ns } = doc.head;
  if (!cpu && !waits) return [];
  const buckets = Math.ceil(doc.head.slices / per), ns = (b: number) => Math.max(1, Math.min(per * slice_ms * 1e6, duration_ns - b * per * slice_ms * 1e6));
  const runs = cpu && period_ns > 0 ? overTime(doc, "cpu", per, threads.length, (cell) => cpu.thread[cell]) : [];
  const kinds = causeKinds.length;
  const waited = waits ? overTime(doc, "off-cpu", per, threads.length * kinds, (cell) => {
    const place = doc.place[waits.node[cell]];
    if (doc.kind[place] !== Kind.cause) return -1;
    return waits.thread[cell] * kinds + causeKindOf(causeText(doc.name[place]));
  }) : [];
  const rows = threads.map(({ name, threads: count }, i) => {
    const bands: Band[] = [];
    const add = (label: string, color: string, values: Float64Array | undefined, scale: number) => { if (values?.some((value) => value > 0)) bands.push({ name: label, color, values: values.map((value, b) => value * scale / ns(b)) }); };
    add("running", toned(runningHue), runs[i], period_ns);
    causeKinds.forEach((kind, row) => add(kind, toned(causeHues[row]), waited[i * kinds + row], 1));
    const busy = bands.reduce((sum, { values }) => sum + values.reduce((a, b) => a + b, 0), 0);
    let most = 0;
    for (let b = 0; b < buckets; b++) most = Math.max(most, bands.reduce((sum, { values }) => sum + values[b], 0));
    return { lane: { title: name, note: `${count > 1 ? `${count} threads; ` : ""}running, in the run queue, waiting`, top: "", most: Math.max(most, Math.min(count, 1)), bands, lines: [], kind: "track" as const }, busy };
  });
  return rows.filter(({ busy }) => busy > 0).sort((a, b) => b.busy - a.busy).slice(0, mostTracks).map(({ lane }) => lane);
}
