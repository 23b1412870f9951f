// Memory, CPU and waiting on one time axis. Dragging selects a range; all views follow.
import { useLayoutEffect, useRef } from "preact/hooks";
import { computed, signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { cellsOf, labelOf, nodesWith, overTime, together } from "./aggregate";
import { CanvasTable } from "./canvas_table";
import { canCompare } from "./compare";
import { keyHint } from "./key_names";
import { heatHeight, heatNote, lanesOf, spanHeight, spanLanes, trackHeight, tracksOf, type Heat, type Lane } from "./lanes";
import { lengthAt, lengthScale, partOf } from "./spans";
import { chooseBox, chooseSpan, Slowest } from "./spans_view";
import { change, dark, doc, heatLanes, hovered, lineName, view, writeAddress } from "./state";
import { bytes, quantity, seconds, secondsText } from "./words";

const usualHeight = 30, leastFitted = 16, leastHeight = 14, gap = 4, axisHeight = 16, stripHeight = 6, markHeight = 14, closedHeight = 14;
// How a user has arranged the lanes; not a part of the selection.
const arranged = signal<{ order: string[]; closed: string[] }>({ order: [], closed: [] });
// The height that a user has chosen, and without one the height at which all lanes fit above the view.
const chosenHeight = signal<number | null>(null), fittedHeight = signal(usualHeight), panelHeight = signal<number | null>(null);
const laneHeight = computed(() => chosenHeight.value ?? fittedHeight.value);
const keyOf = (lane: Lane) => lane.kind === "track" || lane.kind === "span" ? `${lane.kind} ${lane.title}` : lane.kind;
const isClosed = (lane: Lane) => arranged.value.closed.includes(keyOf(lane));
const heightAt = (lane: Lane, usual: number) => (isClosed(lane) ? closedHeight : lane.heat ? heatHeight : lane.kind === "span" ? spanHeight : lane.kind === "track" ? Math.max(trackHeight, usual * 0.6) : usual) - gap;
const heightOf = (lane: Lane) => heightAt(lane, laneHeight.value);
function inOrder(lanes: Lane[]): Lane[] {
  const { order } = arranged.value, at = (lane: Lane) => { const found = order.indexOf(keyOf(lane)); return found < 0 ? order.length : found; };
  return [...lanes].sort((a, b) => at(a) - at(b));
}
const toggleClosed = (lane: Lane) => { const { order, closed } = arranged.value, key = keyOf(lane); arranged.value = { order, closed: closed.includes(key) ? closed.filter((one) => one !== key) : [...closed, key] }; };

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

// Each span lasts from left to right, at the height of its length: many of them make the heat map.
function drawSpans(pen: CanvasRenderingContext2D, kind: number, base: number, width: number, hot: string, line: string) {
  const spans = doc.spans!, scale = lengthScale(spans, kind), high = spanHeight - gap - 4, perNs = width / doc.head.slices / doc.head.slice_ms / 1e6;
  pen.fillStyle = hot;
  pen.globalAlpha = 0.55;
  for (let i = 0; i < spans.kind.length; i++)
    if (spans.kind[i] === kind) pen.fillRect(spans.start[i] * perNs, base - 3 - partOf(scale, spans.length[i]) * high, Math.max(2, spans.length[i] * perNs), 3);
  pen.globalAlpha = 1;
  pen.fillStyle = line;
  pen.fillRect(0, base, width, 1);
}

// A legend for each lane with more than one colour. Tracks have the colours of the lane of waits, and another one for running.
function legendsOf(lanes: Lane[]): { title: string; lane: Lane; bands: Lane["bands"] }[] {
  const out: { title: string; lane: Lane; bands: Lane["bands"] }[] = [], known = new Set<string>();
  for (const lane of lanes) {
    const shared = lane.kind === "wait" || lane.kind === "track", bands = [...lane.bands, ...lane.lines].filter(({ name }) => !shared || !known.has(name));
    if (shared) bands.forEach(({ name }) => known.add(name));
    if (!bands.length || bands.length === 1 && (lane.kind === "faults" || lane.kind === "io")) continue;
    const last = out[out.length - 1];
    if (lane.kind === "track" && last?.lane.kind === "track") last.bands.push(...bands);
    else out.push({ title: lane.kind === "track" ? "Threads" : lane.title, lane, bands });
  }
  return out;
}

export function Lanes() {
  const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), width = useSignal(900);
  const boxed = useSignal<{ lane: Lane; bottom: number; x0: number; y0: number; x1: number; y1: number } | null>(null);
  const drag = useSignal<{ start: number; end: number; base: boolean } | null>(null), at = useSignal<number | null>(null);
  const per = useComputed(() => together(doc, width.value / 4));
  const tracks = useComputed(() => view.value.tracks), series = useComputed(() => view.value.series), heat = useComputed(() => view.value.heat), thread = useComputed(() => view.value.thread), made = useComputed(() => { dark.value; return [...lanesOf(per.value, series.value, heat.value, thread.value), ...spanLanes(), ...(tracks.value ? tracksOf(per.value) : [])]; }), all = useComputed(() => inOrder(made.value));
  const axis = useRef<HTMLCanvasElement>(null), panel = useRef<HTMLElement>(null);
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
  const height = useComputed(() => above + all.value.reduce((sum, lane) => sum + heightOf(lane) + gap, 0));

  // Lanes shrink until all of them fit, and the legend if there is room for it; otherwise a button opens it. What does not
  // fit even so scrolls, and the last lane in sight is never cut.
  const legend = useRef<HTMLDivElement>(null), hasLegend = useSignal(true), legendOpen = useSignal(false), inSight = useSignal<number | null>(null);
  const fit = () => {
    const section = panel.current, items = legend.current?.firstElementChild;
    if (!section || !items) return;
    const app = section.parentElement!, others = [...app.querySelectorAll<HTMLElement>(":scope > :is(header, .bar, nav, .crumbs, .compared)")].reduce((sum, one) => sum + one.offsetHeight, 0);
    const scrolls = matchMedia("(max-height: 560px)").matches || matchMedia("print").matches;  // then the page has no fixed height
    const view = app.querySelector<HTMLElement>(":scope > main")!, free = panelHeight.value ?? (scrolls ? Infinity : innerHeight - Math.max(240, Math.ceil(parseFloat(getComputedStyle(view).flexBasis) || 0.6 * innerHeight)) - others);
    const room = free - stripHeight - axisHeight - 7 - 4, tall = (height: number) => above + all.value.reduce((sum, lane) => sum + heightAt(lane, height) + gap, 0);
    const legendHeight = (items as HTMLElement).offsetHeight;
    hasLegend.value = tall(leastFitted) + legendHeight <= room;
    const left = hasLegend.value ? room - legendHeight : room;
    let height = usualHeight;
    while (height > leastFitted && tall(height) > left) height--;
    fittedHeight.value = height;
    let bottom = above;
    for (const lane of all.value) {
      const next = bottom + heightOf(lane) + gap;
      if (next > left) break;
      bottom = next;
    }
    inSight.value = tall(laneHeight.value) <= left || bottom === above ? null : bottom;
  };
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => { if (box.current) width.value = Math.max(200, box.current.clientWidth); fit(); });
    watch.observe(box.current!);
    for (const one of panel.current?.parentElement?.querySelectorAll(":scope > :is(header, .bar, nav)") ?? []) watch.observe(one);
    if (legend.current?.firstElementChild) watch.observe(legend.current.firstElementChild);
    watch.observe(document.documentElement);
    return () => watch.disconnect();
  }, []);
  useSignalEffect(() => { all.value; arranged.value; chosenHeight.value; panelHeight.value; fit(); });
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
    for (const time of times) { pen.beginPath(); pen.moveTo(Math.round(time / total * w) + 0.5, 0); pen.lineTo(Math.round(time / total * w) + 0.5, h); pen.stroke(); }
    let bottomOf = above;
    all.value.forEach((lane) => {
      bottomOf += heightOf(lane) + gap;
      const base = bottomOf - gap;
      if (isClosed(lane)) return;
      if (lane.span !== undefined) return drawSpans(pen, lane.span, base, w, color("--heat"), color("--line"));
      if (lane.heat) return drawHeat(pen, lane.heat, base, w, color("--heat"), color("--line"));
      const scale = lane.most > 0 ? (heightOf(lane) - 2) / lane.most : 0;
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
      // Phases as a track: each from its mark to the next one.
      marks.forEach((mark, i) => {
        const from = mark.s / total * w, to = i + 1 < marks.length ? marks[i + 1].s / total * w : w;
        pen.fillStyle = color("--base");
        pen.globalAlpha = i % 2 ? 0.14 : 0.24;
        pen.fillRect(from, 0, Math.max(1, to - from), markHeight - 2);
        pen.globalAlpha = 1;
      });
      for (const mark of marks) {
        const at = Math.round(mark.s / total * w);
        pen.fillStyle = color("--base");
        for (let y = 0; y < h; y += 6) pen.fillRect(at, y, 1, 3);
        const name = mark.name.length > 24 ? `${mark.name.slice(0, 23)}…` : mark.name, room = pen.measureText(name).width;
        if (at + 3 < free || at + 3 + room > w) continue;
        pen.fillText(name, at + 3, 10);
        free = at + 3 + room + 6;
      }
    }
    if (chosen || base) {
      const bottom = h, shown = [chosen, base].filter((range) => range !== null).map((range) => range.map((slice) => slice / slices * w)).sort((a, b) => a[0] - b[0]);
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
    if (boxed.value) { const { x0, y0, x1, y1 } = boxed.value; pen.strokeStyle = color("--accent"); pen.strokeRect(Math.min(x0, x1) + 0.5, Math.min(y0, y1) + 0.5, Math.abs(x1 - x0), Math.abs(y1 - y0)); }
    if (at.value !== null && !drag.value) { pen.fillStyle = color("--quiet"); pen.fillRect(at.value, 0, 1, h); }
    drawAxis(ratio, w, times, total, color, x);
  };
  // When the function was on a stack, and the times: below the lanes, which may scroll.
  const drawAxis = (ratio: number, w: number, times: number[], total: number, color: (name: string) => string, x: (bucket: number) => number) => {
    const element = axis.current!, pen = element.getContext("2d")!, when = moments.value, h = stripHeight + axisHeight;
    element.width = Math.round(w * ratio);
    element.height = Math.round(h * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (when) {
      const most = Math.max(...when);
      pen.fillStyle = color("--accent");
      for (let b = 0; b < when.length; b++) if (when[b] > 0) { pen.globalAlpha = 0.25 + 0.75 * when[b] / most; pen.fillRect(x(b), 1, Math.max(1, x(b + 1) - x(b)), stripHeight - 2); }
      pen.globalAlpha = 1;
    }
    pen.fillStyle = color("--quiet");
    pen.font = "11px system-ui, sans-serif";
    times.forEach((time, i) => {
      const text = time === 0 ? "0 s" : seconds(time).replace(/\.0+ /, " "), room = pen.measureText(text).width;
      pen.fillText(text, i === 0 ? 0 : Math.min(w - room, time / total * w - room / 2), h - 4);
    });
  };
  useSignalEffect(() => { all.value; height.value; drag.value; boxed.value; at.value; view.value; moments.value; draw(); });
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
  const pointOf = (event: PointerEvent): [number, number] => { const place = canvas.current!.getBoundingClientRect(); return [event.clientX - place.left, event.clientY - place.top]; };
  // The lane of spans under the pointer: a drag in it is a box of time and length.
  const boxFrom = (event: PointerEvent) => {
    const [x, y] = pointOf(event);
    let bottom = above;
    for (const lane of all.value) {
      bottom += heightOf(lane) + gap;
      if (y < bottom) return lane.span === undefined || isClosed(lane) || event.shiftKey ? null : { lane, bottom: bottom - gap, x0: x, y0: y, x1: x, y1: y };
    }
    return null;
  };
  const endBox = ({ lane, bottom, x0, y0, x1, y1 }: NonNullable<typeof boxed.value>) => {
    const spans = doc.spans!, kind = lane.span!, scale = lengthScale(spans, kind), high = spanHeight - gap - 4, perNs = width.value / doc.head.slices / doc.head.slice_ms / 1e6;
    const part = (y: number) => (bottom - y - 1.5) / high, few = 4;
    if (Math.abs(x1 - x0) < few && Math.abs(y1 - y0) < few) {
      // The nearest span that is drawn there.
      let best = -1, far = few + 3;
      for (let i = 0; i < spans.kind.length; i++) {
        if (spans.kind[i] !== kind) continue;
        const left = spans.start[i] * perNs, right = left + Math.max(2, spans.length[i] * perNs), dx = Math.max(0, left - x1, x1 - right), dy = Math.abs(bottom - 1.5 - partOf(scale, spans.length[i]) * high - y1);
        if (Math.max(dx, dy) < far) { far = Math.max(dx, dy); best = i; }
      }
      if (best >= 0) chooseSpan(best);
      return;
    }
    const all = Math.abs(x1 - x0) < few, [left, right] = all ? [0, width.value] : [Math.min(x0, x1), Math.max(x0, x1)], flat = Math.abs(y1 - y0) < few;
    const slice = (x: number, round: (value: number) => number) => Math.max(0, Math.min(doc.head.slices, round(x / width.value * doc.head.slices)));
    const range: [number, number] = [slice(left, Math.floor), slice(right, Math.ceil)], whole = range[1] - range[0] >= doc.head.slices;
    if (flat) { select(range[0], range[1], false); return; }
    chooseBox(kind, { from: left / perNs, to: right / perNs, least: part(Math.max(y0, y1)) <= 0 ? 0 : lengthAt(scale, part(Math.max(y0, y1))), most: part(Math.min(y0, y1)) >= 1 ? Infinity : lengthAt(scale, part(Math.min(y0, y1))) }, whole || all ? null : range);
  };
  // The phase between marks under the pointer, in the strip of their names.
  const phaseAt = (event: PointerEvent): number => {
    const [x, y] = pointOf(event), time = x / width.value * doc.head.duration_ns / 1e9;
    return y < above ? marks.filter((mark) => mark.s <= time).length - 1 : -1;
  };
  let timer = 0;
  const move = (event: PointerEvent) => {
    at.value = event.clientX - canvas.current!.getBoundingClientRect().left;
    if (boxed.value) { const [x1, y1] = pointOf(event); boxed.value = { ...boxed.value, x1, y1 }; return; }
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
  // Between the lanes and the view: drags, or arrow keys.
  const resize = (to: number) => {
    const lanes = Math.max(1, all.value.filter((lane) => !isClosed(lane) && !lane.heat).length), others = height.value - lanes * laneHeight.value;
    panelHeight.value = Math.max(60, Math.min(innerHeight * 0.8, to));
    chosenHeight.value = Math.max(leastHeight, Math.min(160, Math.floor((panelHeight.value - others - stripHeight - axisHeight - 30) / lanes)));
  };
  const splitter = (event: PointerEvent) => {
    const bar = event.currentTarget as HTMLElement, from = event.clientY, before = panel.current!.clientHeight;
    bar.setPointerCapture(event.pointerId);
    const move = (now: PointerEvent) => resize(before + now.clientY - from), end = () => { bar.removeEventListener("pointermove", move); bar.removeEventListener("pointerup", end); };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", end);
  };
  const splitterKeys = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") resize(panel.current!.clientHeight + (event.key === "ArrowDown" ? 20 : -20));
    else if (event.key === "Home" || event.key === "Enter") { panelHeight.value = null; chosenHeight.value = null; }
    else return;
    event.preventDefault();
  };
  const place = (lane: Lane, before: string | null) => {
    const keys = all.value.map(keyOf).filter((key) => key !== keyOf(lane)), to = before === null ? keys.length : keys.indexOf(before);
    arranged.value = { order: [...keys.slice(0, to), keyOf(lane), ...keys.slice(to)], closed: arranged.value.closed };
  };
  const titleKeys = (lane: Lane, i: number) => (event: KeyboardEvent) => {
    if (!event.altKey || event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    const keys = all.value.map(keyOf), to = event.key === "ArrowUp" ? i - 1 : i + 2;
    if (to >= 0 && i + (event.key === "ArrowUp" ? 0 : 1) < keys.length) place(lane, keys[to] ?? null);
  };
  if (doc.head.duration_ns === 0 || !made.value.length) return <div ref={box} class="untimed">{doc.head.duration_ns === 0 ? "This file has no times, so the page shows it as a whole." : "This recording has no values over time."}</div>;
  const range = view.value.range, { lanes: open, tracks: asTracks } = view.value, hasTracks = doc.costs.has("cpu") || doc.costs.has("off-cpu");
  const legends = legendsOf(all.value);
  return (
    <section class={open ? "lanes" : "lanes closed"} aria-label="Over time" ref={panel} style={panelHeight.value !== null && open ? { flex: "none", height: `${panelHeight.value}px` } : {}}>
      <div class="over" style={!open ? { display: "none" } : inSight.value !== null ? { maxHeight: `${inSight.value + 2}px` } : {}}>
        <div class="labels" style={{ paddingTop: `${above}px` }}>{all.value.map((lane, i) => <div class={`label ${lane.kind}${heightOf(lane) < 24 ? " low" : ""}`} key={keyOf(lane)} style={{ height: `${heightOf(lane) + gap}px` }} onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); const from = all.value.find((one) => keyOf(one) === event.dataTransfer!.getData("text/plain")); if (from && from !== lane) place(from, keyOf(lane)); }}>
          <b><button class="link lane-title" draggable aria-expanded={!isClosed(lane)} title={`${lane.title}: ${lane.heat ? heatNote(lane) : lane.note}. Click folds the lane; drag it, or Alt with an arrow, to move it.`} onClick={() => toggleClosed(lane)} onKeyDown={titleKeys(lane, i)} onDragStart={(event) => event.dataTransfer!.setData("text/plain", keyOf(lane))}>{lane.title}</button></b>
          {!lane.heat && !isClosed(lane) && lane.top && <i title="the top of this lane">{lane.top}</i>}<span class="note">{lane.heat ? heatNote(lane) : lane.note}</span>
          {!isClosed(lane) && lane.span !== undefined && <Slowest kind={lane.span} />}
          {!isClosed(lane) && heatLanes.some((kind) => kind === lane.kind) && <button class="link heat" data-lane={lane.kind} aria-pressed={view.value.heat === lane.kind} aria-label={lane.heat ? `${lane.title} over time` : `${lane.title} as a heat map`} title={lane.heat ? "as values over time" : "as a heat map: shows what repeats every second"} onClick={() => change({ heat: view.value.heat === lane.kind ? null : lane.kind })}>{lane.heat ? "over time" : "▦"}</button>}</div>)}</div>
        <div class="chart" ref={box}>
          <canvas ref={canvas} tabIndex={0} role="slider" aria-label="Range of time. Arrow keys move it, with Shift its end; B makes it the base of a comparison; Escape takes all." aria-valuemin={0} aria-valuemax={doc.head.slices} aria-valuenow={range?.[0] ?? 0} aria-valuetext={range ? `${secondsText(range[0] * doc.head.slice_ms)} to ${secondsText(range[1] * doc.head.slice_ms)} s` : "all"}
            style={{ width: "100%", height: `${height.value}px` }}
            onPointerDown={(event) => { const mark = phaseAt(event); if (mark >= 0) return phase(mark); boxed.value = boxFrom(event); canvas.current!.setPointerCapture(event.pointerId); if (boxed.value) return; writeAddress(); history.pushState(null, "", location.hash || "#"); drag.value = { start: sliceAt(event, Math.round), end: sliceAt(event, Math.round), base: event.shiftKey }; }}
            onPointerMove={move} onPointerLeave={() => { at.value = null; }}
            onPointerUp={(event) => { const box = boxed.value; if (box) { boxed.value = null; return endBox(box); } if (!drag.value) return; const { start, base } = drag.value; drag.value = null; const end = sliceAt(event, Math.round); if (end !== start) select(start, end, true, base); }}
            onDblClick={() => change({ range: null, base: null })} onKeyDown={keys} />
        </div>
        <div class="legend"><CanvasTable id="lanes-table" caption="Over time: memory, CPU in cores, threads that wait" table={table} /></div>
      </div>
      <div ref={legend} class={hasLegend.value ? "legend lane-legend" : `legend lane-legend apart${legendOpen.value ? " open" : ""}`} aria-label="Colours of the lanes" style={open ? {} : { display: "none" }}>
        <div>
          {legends.map(({ title, lane, bands }) => <div class="of-lane"><b>{title}</b>{bands.map((band) => lane.kind === "cpu" && doc.head.threads.some(({ name }) => name === band.name)
            ? <button class={view.value.thread === band.name ? "link on" : "link"} title="only these threads" onClick={() => change({ thread: view.value.thread === band.name ? null : band.name })}><s style={{ background: band.color }} />{band.name}</button>
            : <span><s class={band.color ? "" : band.dashed ? "line dashed" : "line"} style={band.color ? { background: band.color } : {}} />{band.name}</span>)}</div>)}
          {marks.slice(0, 20).map((mark, i) => <button class="link" title="the time from this mark to the next one" onClick={() => phase(i)}>⚑ {mark.name}</button>)}
        </div>
      </div>
      <div class="axis"><span class="lane-tools"><button class="link" aria-expanded={open} aria-label={open ? "fold all lanes" : "show the lanes"} title={open ? "fold all lanes" : "show the lanes"} onClick={() => change({ lanes: !open })}>{open ? "▾" : "▸"}{(!open || hasLegend.value) && " lanes"}</button>{hasTracks && open && <button class="link" id="tracks" aria-pressed={asTracks} title={`a track for each thread: running, in the run queue, waiting (${keyHint("tracks")})`} onClick={() => change({ tracks: !asTracks })}>threads</button>}{open && !hasLegend.value && <button class="link" id="colours" aria-expanded={legendOpen.value} title="what the colours of the lanes mean" onClick={() => { legendOpen.value = !legendOpen.value; }}>colours</button>}</span>
        <div class="times" style={open ? {} : { display: "none" }}><canvas ref={axis} style={{ width: "100%", height: `${stripHeight + axisHeight}px` }} aria-hidden="true" /></div>
        <em>drag: select{canCompare(view.value.metric) ? " · Shift-drag: compare with" : ""} · double-click: all</em></div>
      {open && <div class="splitter" role="separator" aria-orientation="horizontal" aria-label="Height of the lanes. Arrow keys change it, Enter resets it." aria-valuenow={Math.round(laneHeight.value)} aria-valuemin={leastHeight} aria-valuemax={160} tabIndex={0} onPointerDown={splitter} onKeyDown={splitterKeys} onDblClick={() => { panelHeight.value = null; chosenHeight.value = null; }} />}
    </section>);
}
