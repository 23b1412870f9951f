// Memory, CPU and waiting on one time axis. Dragging selects a range; all views follow.
import { useLayoutEffect, useRef } from "preact/hooks";
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { cellsOf, labelOf, nodesWith, overTime, together } from "./aggregate";
import { CanvasTable } from "./canvas_table";
import { canCompare } from "./compare";
import { change, doc, heatLanes, hovered, lineName, view } from "./state";
import { Kind, type Cells, type Line } from "./types";
import { bytes, percent, quantity, seconds, secondsText, withCommas } from "./words";

interface Band { name: string; color: string; values: Float64Array; dashed?: boolean }
interface Lane { title: string; note: string; top: string; most: number; bands: Band[]; lines: Band[]; kind: "memory" | "cpu" | "wait" | "faults" | "io" | "series"; heat?: Heat; limit?: number }
// The values of each time slice; several slices form a column.
interface Heat { values: Float64Array; column: number; ms: number; readMs?: number }  // `readMs`: the interval between readings, for values that are read periodically

const laneHeight = 62, lowHeight = 44, heatHeight = 124, axisHeight = 20, gap = 10, stripHeight = 14, markHeight = 14;
const bandColors = ["#b8862f", "#4f93c9", "#3f9a78", "#b06aa0", "#8a8f2f", "#6f7fc4", "#9b6b52", "#8d95a3"];
const causeColors = ["#c8504e", "#7a63bd", "#c98a2b", "#3f8fb0", "#8a9a3a", "#a9648f", "#8d95a3"];
const rssParts = [["memory.rss_anon", "anonymous", "#3d7edb"], ["memory.rss_file", "files", "#9bbcea"], ["memory.rss_shmem", "shared", "#cfd9e6"]] as const;

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

function groups(metric: string, per: number, keyOf: (cell: number) => number, names: string[], colors: string[]): Band[] {
  const values = overTime(doc, metric, per, names.length, keyOf), buckets = Math.ceil(doc.head.slices / per);
  // The last part may be shorter than the others.
  const ns = (b: number) => Math.max(1, Math.min(per * doc.head.slice_ms * 1e6, doc.head.duration_ns - b * per * doc.head.slice_ms * 1e6));
  const scale = metric === "cpu" ? doc.head.period_ns : 1;
  const sums = values.map((row) => row.reduce((a, b) => a + b, 0));
  const order = sums.map((_, i) => i).filter((i) => sums[i] > 0).sort((a, b) => sums[b] - sums[a]);
  const bands = order.slice(0, colors.length - 1).map((i, rank) => ({ name: names[i], color: colors[rank], values: values[i].map((v, b) => v * scale / ns(b)) }));
  const rest = order.slice(colors.length - 1);
  if (rest.length) bands.push({
    name: `${rest.length} others`, color: colors[colors.length - 1],
    values: new Float64Array(buckets).map((_, b) => scale / ns(b) * rest.reduce((sum, i) => sum + values[i][b], 0)),
  });
  return bands;
}

const heightOf = (lane: Lane) => lane.heat ? heatHeight : lane.kind === "faults" || lane.kind === "io" ? lowHeight : laneHeight;

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
const heatNote = ({ kind, heat }: Lane) => `a column is ${seconds(heat!.ms / 1000).replace(/\.0+ /, " ")}, from below up; strong: ${kind === "memory" || kind === "series" ? "far above its least" : "much"}`
  + (heat!.readMs && heat!.readMs > heat!.ms / 10 ? `; read every ${seconds(heat!.readMs / 1000)}: nothing finer is known` : "");

function lanes(per: number, series: string | null, heat: string | null, thread: string | null): Lane[] {
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
    return values?.some((value) => value > 0) ? [{ name: `RSS: ${label}`, color, values }] : [];
  });
  const lines: Band[] = [];
  for (const [name, label, dashed] of [["heap.live", "heap live", false], ["memory.allocator_slack", "allocator slack", true]] as const) {
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
    const cells = cellsOf(doc, "cpu"), bands = groups("cpu", per, (cell) => cells.thread[cell], names, bandColors);
    const most = stacked(bands);
    if (bands.length) out.push({ title: "CPU", note: `${mean(bands).toFixed(2)}${head.cpus ? ` of ${head.cpus}` : ""} cores`, top: most.toFixed(most < 10 ? 1 : 0), most, bands, lines: [], kind: "cpu", heat: heat === "cpu" ? heatOfCells("cpu", (cell) => ofThread(cells, cell)) : undefined });
  }
  if (doc.costs.has("off-cpu")) {
    const cells = cellsOf(doc, "off-cpu"), causes = new Map<number, number>(), labels: string[] = [];
    for (let place = 1; place < doc.places; place++)
      if (doc.kind[place] === Kind.cause) { causes.set(place, labels.length); labels.push(doc.name[place].replace(/^\[(wait: )?|\]$/g, "")); }
    const cause = (cell: number) => ofThread(cells, cell) < 0 ? -1 : causes.get(doc.place[cells.node[cell]]) ?? -1;
    const bands = groups("off-cpu", per, cause, labels, causeColors);
    const most = stacked(bands);
    if (bands.length) out.push({ title: "Waiting", note: thread === null ? "threads, without idle ones" : `of ${thread}`, top: most.toFixed(most < 10 ? 1 : 0), most, bands, lines: [], kind: "wait", heat: heat === "wait" ? heatOfCells("off-cpu", cause) : undefined });
  }
  const faults = [["memory.minor_faults", "minor faults", "#7f97a0"], ["memory.major_faults", "major faults", "#3d5660"]] as const;
  const pageFaults = faults.map(([name, label, color]) => ({ name: label, color, values: rates(name, per, 1) })).filter(({ values }) => values.some((value) => value > 0));
  if (pageFaults.length) {
    const most = stacked(pageFaults);
    out.push({ title: "Faults", note: "a second", top: withCommas(most), most, bands: pageFaults, lines: [], kind: "faults",
      heat: heat === "faults" ? heatOfSeries(linesOf(...faults.map(([name]) => name)), () => added(faults.map(([name]) => rates(name, 1, 1)))) : undefined });
  }
  const stalled = ["cgroup.io_stall_some", "system.io_stall_some"].find((name) => doc.lines.some((line) => line.name === name));
  const stalls = stalled ? rates(stalled, per, 1e6) : null;  // seconds per second
  if (stalls?.some((value) => value >= 0.001))
    out.push({ title: "I/O", note: `stalls of the ${stalled!.split(".")[0] === "system" ? "machine" : "group"}`, top: percent(Math.max(...stalls)), most: Math.max(...stalls), bands: [{ name: "somebody waits for a device", color: "#6f8f5f", values: stalls }], lines: [], kind: "io",
      heat: heat === "io" ? heatOfSeries(linesOf(stalled!), () => rates(stalled!, 1, 1e6)) : undefined });
  const chosen = doc.lines.find((line) => lineName(line) === series);
  if (chosen) {
    const values = resampled(chosen, per), most = Math.max(0, ...values);
    out.push({ title: "Series", note: chosen.name, top: quantity(most, chosen.unit), most, bands: [], lines: [{ name: lineName(chosen), color: "", values }], kind: "series",
      heat: heat === "series" ? heatOfSeries([chosen], () => aboveLeast(resampled(chosen, 1))) : undefined });
  }
  return out;
}

// Round times, at most one per 90 pixels.
function ticks(width: number): number[] {
  const total = doc.head.duration_ns / 1e9;
  let step = 0.001;
  for (const unit of [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000])
    for (const factor of [1, 2, 5]) if (total / step > width / 90) step = unit * factor;
  const out = [];
  for (let i = 0; i * step <= total; i++) out.push(i * step);
  return out;
}

// A column is a second (or Heap::ms) from bottom to top, so that events that repeat every second form a horizontal line.
function drawHeat(pen: CanvasRenderingContext2D, heat: Heat, base: number, width: number, hot: string, line: string) {
  const { slices } = doc.head, high = heatHeight / heat.column, most = heat.values.reduce((a, b) => Math.max(a, b), 0);
  pen.fillStyle = hot;
  for (let i = 0; i < heat.values.length && most > 0; i++) {
    if (!(heat.values[i] > 0)) continue;
    const column = Math.floor(i / heat.column), x = column * heat.column / slices * width, next = Math.min(slices, (column + 1) * heat.column) / slices * width, row = i % heat.column;
    pen.globalAlpha = 0.08 + 0.92 * heat.values[i] / most;
    pen.fillRect(x, base - (row + 1) * high, Math.max(1, next - x - (next - x > 4 ? 1 : 0)), Math.max(1, high));
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = line;
  pen.strokeRect(0.5, base - heatHeight + 0.5, width - 1, heatHeight);
}

export function Lanes() {
  const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), width = useSignal(900);
  const drag = useSignal<{ start: number; end: number; base: boolean } | null>(null), at = useSignal<number | null>(null);
  const per = useComputed(() => together(doc, width.value / 4));
  const series = useComputed(() => view.value.series), heat = useComputed(() => view.value.heat), thread = useComputed(() => view.value.thread), all = useComputed(() => lanes(per.value, series.value, heat.value, thread.value));
  // When the function under the pointer was on a stack.
  const looked = useSignal<number | null>(null);
  useSignalEffect(() => {
    const pointed = hovered.value, { fn } = view.value;
    const place = pointed && pointed.place > 0 && pointed.place < doc.places ? pointed.place : fn;
    const timer = setTimeout(() => { looked.value = place; }, 60);  // a pointer that moves over many boxes selects none of them
    return () => clearTimeout(timer);
  });
  const momentMetric = useComputed(() => view.value.metric);
  const moments = useComputed(() => {
    if (looked.value === null) return null;
    const on = nodesWith(doc, looked.value), cells = cellsOf(doc, momentMetric.value);
    return overTime(doc, momentMetric.value, per.value, 1, (cell) => on[cells.node[cell]] ? 0 : -1)[0];
  });
  const { marks } = doc.head, above = marks.length ? markHeight : 0;
  const height = useComputed(() => above + all.value.reduce((sum, lane) => sum + heightOf(lane) + gap, 0) + axisHeight + stripHeight);

  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => { width.value = Math.max(200, box.current!.clientWidth); });
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  const draw = () => {
    const element = canvas.current;
    if (!element) return;
    const ratio = devicePixelRatio || 1, w = width.value, h = height.value;
    element.width = Math.round(w * ratio);
    element.height = Math.round(h * ratio);
    const pen = element.getContext("2d")!, style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { slices } = doc.head, n = Math.ceil(slices / per.value), x = (bucket: number) => Math.min(slices, bucket * per.value) * w / slices;
    const dragged = drag.value && drag.value.start !== drag.value.end ? [Math.min(drag.value.start, drag.value.end), Math.max(drag.value.start, drag.value.end)] : null;
    const chosen = dragged && !drag.value!.base ? dragged : view.value.range, base = dragged && drag.value!.base ? dragged : view.value.base;
    const times = ticks(w), total = doc.head.duration_ns / 1e9;
    pen.strokeStyle = color("--line");
    for (const time of times) { pen.beginPath(); pen.moveTo(Math.round(time / total * w) + 0.5, 0); pen.lineTo(Math.round(time / total * w) + 0.5, h - axisHeight); pen.stroke(); }
    let bottomOf = above;
    all.value.forEach((lane) => {
      bottomOf += heightOf(lane) + gap;
      const base = bottomOf - gap;
      if (lane.heat) return drawHeat(pen, lane.heat, base, w, color("--heat"), color("--line"));
      const scale = lane.most > 0 ? (heightOf(lane) - 4) / lane.most : 0;
      const below = new Float64Array(n);
      for (const band of lane.bands) {
        pen.fillStyle = band.color;
        pen.beginPath();
        for (let b = 0; b < n; b++) { pen.lineTo(x(b), base - (below[b] + band.values[b]) * scale); pen.lineTo(x(b + 1), base - (below[b] + band.values[b]) * scale); }
        for (let b = n - 1; b >= 0; b--) { pen.lineTo(x(b + 1), base - below[b] * scale); pen.lineTo(x(b), base - below[b] * scale); }
        pen.fill();
        for (let b = 0; b < n; b++) below[b] += band.values[b];
      }
      for (const line of lane.lines) {
        pen.strokeStyle = color("--ink");
        pen.lineWidth = 1.4;
        pen.setLineDash(line.dashed ? [3, 3] : []);
        pen.beginPath();
        for (let b = 0; b < n; b++) pen.lineTo(x(b + 0.5), base - line.values[b] * scale);
        pen.stroke();
      }
      pen.setLineDash([]);
      if (lane.limit) { pen.strokeStyle = color("--heat"); pen.beginPath(); pen.moveTo(0, base - lane.limit * scale); pen.lineTo(w, base - lane.limit * scale); pen.stroke(); }
      pen.lineWidth = 1;
      if (lane.kind === "memory") {
        const sums = lane.bands.length ? below : lane.lines[0].values;
        let peak = 0;
        for (let b = 0; b < n; b++) if (sums[b] > sums[peak]) peak = b;
        pen.fillStyle = color("--ink");
        pen.beginPath();
        pen.arc(x(peak + 0.5), base - sums[peak] * scale, 2.5, 0, 7);
        pen.fill();
      }
      pen.strokeStyle = color("--line");
      pen.beginPath(); pen.moveTo(0, base + 0.5); pen.lineTo(w, base + 0.5); pen.stroke();
    });
    if (marks.length) {
      pen.font = "11px system-ui, sans-serif";
      let free = 0;  // where the next name fits
      for (const mark of marks) {
        const at = Math.round(mark.s / total * w);
        pen.fillStyle = color("--base");
        for (let y = 0; y < h - axisHeight; y += 6) pen.fillRect(at, y, 1, 3);
        const name = mark.name.length > 24 ? `${mark.name.slice(0, 23)}…` : mark.name, room = pen.measureText(name).width;
        if (at + 3 < free || at + 3 + room > w) continue;
        pen.fillText(name, at + 3, 10);
        free = at + 3 + room + 6;
      }
    }
    const when = moments.value;
    if (when) {
      const most = Math.max(...when), y = h - axisHeight - 12;
      pen.fillStyle = color("--accent");
      for (let b = 0; b < n; b++) if (when[b] > 0) { pen.globalAlpha = 0.25 + 0.75 * when[b] / most; pen.fillRect(x(b), y, Math.max(1, w / n), 8); }
      pen.globalAlpha = 1;
    }
    if (chosen || base) {
      const bottom = h - axisHeight, shown = [chosen, base].filter((range) => range !== null).map((range) => range.map((slice) => slice / slices * w)).sort((a, b) => a[0] - b[0]);
      pen.fillStyle = color("--page");
      pen.globalAlpha = 0.68;
      let left = chosen || !base ? 0 : w;  // with only a base, everything counts
      for (const [from, to] of shown) { if (from > left) pen.fillRect(left, 0, from - left, bottom); left = Math.max(left, to); }
      if (left < w) pen.fillRect(left, 0, w - left, bottom);
      pen.globalAlpha = 1;
      for (const [range, name, word] of [[base, "--base", "base"], [chosen, "--accent", base ? "new" : ""]] as const) {
        if (!range) continue;
        const ends = range.map((slice) => slice / slices * w);
        pen.fillStyle = color(name);
        for (const edge of ends) { pen.fillRect(Math.min(w - 2, Math.max(0, edge - 1)), 0, 2, bottom); pen.fillRect(Math.min(w - 5, Math.max(0, edge - 3)), 14, 6, 22); }
        if (range === base) { pen.globalAlpha = 0.1; pen.fillRect(ends[0], 0, ends[1] - ends[0], bottom); pen.globalAlpha = 1; }
        pen.font = "bold 11px system-ui, sans-serif";
        if (word && ends[1] - ends[0] > 40) {
          pen.fillRect(ends[0], 0, pen.measureText(word).width + 10, 14);
          pen.fillStyle = color("--page");
          pen.fillText(word, ends[0] + 5, 11);
        }
      }
    }
    if (at.value !== null && !drag.value) { pen.fillStyle = color("--quiet"); pen.fillRect(at.value, 0, 1, h - axisHeight); }
    pen.fillStyle = color("--quiet");
    pen.font = "11px system-ui, sans-serif";
    times.forEach((time, i) => {
      const text = time === 0 ? "0 s" : seconds(time).replace(/\.0+ /, " "), room = pen.measureText(text).width;
      pen.fillText(text, i === 0 ? 0 : Math.min(w - room, time / total * w - room / 2), h - 5);
    });
  };
  useSignalEffect(() => { all.value; drag.value; at.value; view.value; moments.value; draw(); });
  useLayoutEffect(() => {
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => scheme.removeEventListener("change", draw);
  }, []);

  const sliceAt = (event: PointerEvent, round: (value: number) => number) => {
    const place = canvas.current!.getBoundingClientRect();
    return Math.max(0, Math.min(doc.head.slices, round((event.clientX - place.left) / place.width * doc.head.slices)));
  };
  const select = (a: number, b: number, replace: boolean, base = false) => {
    const [from, to] = [Math.min(a, b), Math.max(a, b)], range: [number, number] | null = to > from && to - from < doc.head.slices ? [from, to] : null;
    change(base ? { base: range } : { range }, replace);
  };
  const phase = (i: number) => {
    const slice = (s: number) => Math.max(0, Math.min(doc.head.slices, Math.round(s * 1000 / doc.head.slice_ms)));
    select(slice(marks[i].s), i + 1 < marks.length ? slice(marks[i + 1].s) : doc.head.slices, false);
  };
  let timer = 0;
  const move = (event: PointerEvent) => {
    at.value = event.clientX - canvas.current!.getBoundingClientRect().left;
    if (!drag.value) return;
    drag.value = { ...drag.value, end: sliceAt(event, Math.round) };
    // During a drag the views follow, one step per frame; only the end is a step that Back undoes.
    if (!timer) timer = requestAnimationFrame(() => { timer = 0; if (drag.value) select(drag.value.start, drag.value.end, true, drag.value.base); });
  };
  const keys = (event: KeyboardEvent) => {
    const [from, to] = view.value.range ?? [0, doc.head.slices], step = Math.max(1, Math.round(doc.head.slices / 50));
    const { slices } = doc.head;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const by = event.key === "ArrowRight" ? step : -step;
      const next: [number, number] = !view.value.range ? [0, Math.ceil(slices / 5)] : event.shiftKey ? [from, Math.max(from + 1, Math.min(slices, to + by))] : [Math.max(0, Math.min(slices - (to - from), from + by)), 0];
      if (!next[1]) next[1] = next[0] + to - from;
      select(next[0], next[1], true);
    } else if (event.key === "Escape") change({ range: null });
    else return;
    event.preventDefault();
  };
  // The lanes as text: twenty parts of the time, with the mean of each band.
  const table = useComputed(() => {
    const buckets = Math.ceil(doc.head.slices / per.value), pieces = Math.min(20, buckets), bands = all.value.flatMap((lane) => [...lane.bands, ...lane.lines].map((band) => ({ lane, band })));
    const value = (lane: Lane, of: number) => lane.kind === "memory" ? bytes(of) : lane.kind === "series" ? quantity(of, doc.lines.find((line) => lineName(line) === view.value.series)?.unit ?? "") : of.toFixed(2);
    const when = moments.value, spent = (from: number, to: number) => when!.slice(from, to).reduce((a, b) => a + b, 0) / (to - from);
    return {
      head: ["from", ...bands.map(({ lane, band }) => `${lane.title}: ${band.name}`), ...(when ? [`on a stack: ${labelOf(doc, looked.value!)}`] : [])],
      rows: Array.from({ length: pieces }, (_, piece) => {
        const from = Math.floor(piece * buckets / pieces), to = Math.max(from + 1, Math.floor((piece + 1) * buckets / pieces));
        return [`${secondsText(from * per.value * doc.head.slice_ms)} s`, ...bands.map(({ lane, band }) => value(lane, band.values.slice(from, to).reduce((a, b) => a + b, 0) / (to - from))), ...(when ? [quantity(spent(from, to), "")] : [])];
      }),
    };
  });
  if (doc.head.duration_ns === 0 || !all.value.length) return <div ref={box} class="empty">{doc.head.duration_ns === 0 ? "This file has no times: it can be looked at as a whole." : "Nothing was measured over time."}</div>;
  const range = view.value.range;
  return (
    <section class="lanes" aria-label="Over time">
      <div class="labels" style={{ paddingTop: `${above}px` }}>{all.value.map((lane) => <div class="label" style={{ height: `${heightOf(lane) + gap}px` }}><b>{lane.title}</b><span>{lane.heat ? heatNote(lane) : lane.note}</span>{!lane.heat && <i>{lane.top}</i>}
        {heatLanes.some((kind) => kind === lane.kind) && <button class="link heat" data-lane={lane.kind} aria-pressed={view.value.heat === lane.kind} onClick={() => change({ heat: view.value.heat === lane.kind ? null : lane.kind })}>{lane.heat ? "over time" : "heat map"}</button>}</div>)}</div>
      <div class="chart" ref={box}>
        <canvas ref={canvas} tabIndex={0} role="slider" aria-label="Range of time. Arrow keys move it, with Shift its end; B makes it the base of a comparison; Escape takes all." aria-valuetext={range ? `${secondsText(range[0] * doc.head.slice_ms)} to ${secondsText(range[1] * doc.head.slice_ms)} s` : "all"}
          style={{ width: "100%", height: `${height.value}px` }}
          onPointerDown={(event) => { canvas.current!.setPointerCapture(event.pointerId); history.pushState(null, "", location.hash || "#"); drag.value = { start: sliceAt(event, Math.round), end: sliceAt(event, Math.round), base: event.shiftKey }; }}
          onPointerMove={move} onPointerLeave={() => { at.value = null; }}
          onPointerUp={(event) => { if (!drag.value) return; const { start, base } = drag.value; drag.value = null; const end = sliceAt(event, Math.round); if (end !== start) select(start, end, true, base); }}
          onDblClick={() => change({ range: null, base: null })} onKeyDown={keys} />
      </div>
      <div class="legend">
        {all.value.flatMap((lane) => [...lane.bands, ...lane.lines].map((band) => {
          const canFilter = lane.kind === "cpu" && doc.head.threads.some(({ name }) => name === band.name);
          return canFilter
            ? <button class={view.value.thread === band.name ? "link on" : "link"} title="only these threads" onClick={() => change({ thread: view.value.thread === band.name ? null : band.name })}><s style={{ background: band.color }} />{band.name}</button>
            : <span><s style={band.dashed ? { border: "1px dashed var(--ink)" } : { background: band.color || "var(--ink)" }} />{band.name}</span>;
        }))}
        {marks.slice(0, 20).map((mark, i) => <button class="link" title="the time from this mark to the next one" onClick={() => phase(i)}>⚑ {mark.name}</button>)}
        <em>drag: select{canCompare(view.value.metric) ? " · Shift-drag: compare with" : ""} · double-click: all</em>
      </div>
      <div class="legend"><CanvasTable id="lanes-table" caption="Over time: memory, CPU in cores, threads that wait" table={table} /></div>
    </section>);
}
