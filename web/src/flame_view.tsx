// The flame graph on a canvas of the size of its window, which scrolls over rows and only draws the visible ones.
import { useLayoutEffect, useRef } from "preact/hooks";
import { computed, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { openMenu } from "./actions";
import { isThread, labelOf } from "./aggregate";
import { CanvasTable } from "./canvas_table";
import { causeColorAt } from "./cause_colors";
import { changeColor, colorBy, hashed, inkOn } from "./colors";
import { viewCommand } from "./command";
import { boxAt, layout } from "./flame_layout";
import { pictureOf } from "./flame_picture";
import { fitted } from "./names";
import { find } from "./search";
import { change, children, colorOfView, comparison, doc, functionOf, hovered, dark, inTime, metric, search, taken, tree, view, zoom } from "./state";
import type { Box } from "./types";
import { amount, figure, ofBase, percent, whereOf } from "./words";

const rowHeight = 19, font = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";

const matches = computed(() => find(doc, tree.value, Math.min(zoom.value, tree.value.count - 1), search.value));
export const useMatches = () => matches;
export const matchesNow = () => matches.value;

// Zooms to the next box whose name matches, largest first; repeated calls go through all of them.
export function goToMatch(places: Uint8Array, step: 1 | -1): void {
  const t = tree.value, found = [];
  for (let i = 1; i < t.count; i++) if (places[t.place[i]] && t.totalOf(i) > 0) found.push(i);
  if (!found.length) return;
  found.sort((a, b) => t.totalOf(b) - t.totalOf(a) || a - b);
  const at = found.indexOf(zoom.value), next = at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length;
  zoom.value = found[next];
  const place = t.place[zoom.value];
  if (place < doc.places) change({ fn: place }, true);
}

// The thread of a call, if the tree is by thread: threads are below the root.
const threadsOf = computed(() => {
  const { parent, place, count } = tree.value, out = new Uint32Array(count);
  for (let i = 1; i < count; i++) out[i] = parent[i] === 0 ? place[i] : out[parent[i]];
  return out;
});

// For a comparison: the change of the call, if its function changed by more than noise in total.
function colorAt(node: number): string {
  const t = tree.value, c = comparison.value, place = t.place[node];
  const by = colorOfView(view.value);
  if (!c && by === "cause") return causeColorAt(node);
  const thread = !c && by === "thread" && node !== 0 ? threadsOf.value[node] : 0;
  if (isThread(doc, thread)) return hashed(labelOf(doc, thread));
  if (!c || !t.base || !t.fresh) return colorBy(doc, by, place, t.totalOf(node) > 0 ? t.selfOf(node) / t.totalOf(node) : 0);
  const judged = node === 0 ? c.whole : place >= doc.places ? c.threads.get(place - doc.places) : c.functions.get(place)?.total;
  return changeColor(t.base.total[node], t.fresh.total[node], judged?.beyondNoise ?? false);
}

// Saves the graph as it is: selection, zoom, direction and colours. The subtitle is the command that prints the same numbers.
export function savePicture(): void {
  const t = tree.value, top = zoom.value < t.count ? zoom.value : 0, width = 1400, { unit, title } = metric.value;
  const rows = layout(t, children.value, top, width), style = getComputedStyle(document.documentElement), color = (name: string) => style.getPropertyValue(name).trim();
  const boxes = rows.flat().map((b) => {
    const fill = b.joined ? color("--narrow") : colorAt(b.node), name = labelOf(doc, t.place[b.node]), share = percent(b.value / t.totalOf(0));
    return { x: b.x, width: b.width, line: view.value.up ? rows.length - 1 - b.row : b.row, fill, ink: inkOn(fill), label: b.joined ? "" : name,
      hint: b.joined ? `${b.joined} calls too narrow to draw, ${share}` : `${name}: ${share}${comparison.value ? "" : `, ${amount(b.value, unit)}`}` };
  });
  const svg = pictureOf(boxes, width, `${title} of ${doc.head.target || doc.head.file}: ${amount(taken.value.total, unit)}`, viewCommand(view.value), color("--page"), color("--ink"), fitted);
  const link = document.createElement("a"), address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  link.href = address;
  link.download = `${doc.head.file.replace(/^.*\//, "").replace(/\.fathom$/, "") || "fathom"}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function Numbers({ node }: { node: number }) {
  const t = tree.value, c = comparison.value, { unit } = metric.value;
  if (!c || !t.base || !t.fresh) {
    const value = t.totalOf(node), top = Math.min(zoom.value, t.count - 1), row = functionOf.value.get(t.place[node]);
    let thread = node;
    while (t.parent[thread] !== 0) thread = t.parent[thread];
    const ofThread = isThread(doc, t.place[thread]) && !view.value.inverted && thread !== node, { weight } = metric.value;
    // Samples are random: in at most one of twenty cases the true value is further away than this.
    const error = weight > 0 ? 1.96 * Math.sqrt(value * weight) : 0;
    return <>{percent(value / t.totalOf(0))} · {amount(value, unit)} with what it calls{error > 0 && ` ± ${amount(error, unit)}`} · {amount(t.selfOf(node), unit)} itself
      {row && row.total > value && <><br />everywhere: {percent(row.total / t.totalOf(0))} · {amount(row.total, unit)}</>}
      {(top !== 0 || ofThread) && <><br />{top !== 0 && `${percent(t.totalOf(top) > 0 ? Math.min(1, value / t.totalOf(top)) : 0)} of the zoomed frame`}{top !== 0 && ofThread && " · "}{ofThread && `${percent(value / t.totalOf(thread))} of ${labelOf(doc, t.place[thread])}`}</>}</>;
  }
  const place = t.place[node], all = place > 0 && place < doc.places ? c.functions.get(place) : undefined;
  const [base, fresh] = [t.base.total[node], t.fresh.total[node]];
  return <>{figure(base, c.unit)} → {figure(fresh, c.unit)}{ofBase({ ...c.whole, base, fresh }) && ` (${ofBase({ ...c.whole, base, fresh })})`} here, with what it calls
    {all && <><br />everywhere {figure(all.total.base, c.unit)} → {figure(all.total.fresh, c.unit)}, {figure(all.total.change, c.unit, all.total.error, true)} ± {figure(all.total.error, c.unit)}{all.total.beyondNoise ? "" : ": no more than noise"}</>}</>;
}

export function Flame() {
  const scroller = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), marks = useRef<HTMLCanvasElement>(null);
  const size = useSignal({ width: 800, height: 400 }), focusBox = useSignal<Box | null>(null);
  const matches = useMatches();
  const at = useComputed(() => zoom.value < tree.value.count ? zoom.value : 0);
  const rows = useComputed(() => layout(tree.value, children.value, at.value, size.value.width));
  const spoken = useSignal("");
  const tip = useSignal<{ box: Box; x: number; y: number } | null>(null);

  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => {
      const box = scroller.current!;
      size.value = { width: Math.max(100, box.clientWidth), height: Math.max(120, box.clientHeight) };
    });
    watch.observe(scroller.current!);
    return () => watch.disconnect();
  }, []);

  // An empty sheet of the size of the window, and the lines of it that are in sight.
  const sheet = (element: HTMLCanvasElement, box: HTMLDivElement) => {
    const { width, height } = size.value, ratio = devicePixelRatio || 1;
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
    }
    const pen = element.getContext("2d")!;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return { pen, first: Math.floor(box.scrollTop / rowHeight), last: Math.min(Math.ceil((box.scrollTop + height) / rowHeight), rows.value.length) };
  };
  const rowOf = (line: number) => view.value.up ? rows.value.length - 1 - line : line;
  const placed = (b: Box): [x: number, width: number] => { const x = Math.round(b.x); return [x, Math.max(1, Math.round(b.x + b.width) - x - (b.width > 3 ? 1 : 0))]; };
  const draw = () => {
    const element = canvas.current, box = scroller.current;
    if (!element || !box) return;
    const { pen, first, last } = sheet(element, box), style = getComputedStyle(document.documentElement);
    pen.font = font;
    pen.textBaseline = "middle";
    const letter = pen.measureText("0").width, measure = (text: string) => text.length * letter;
    const narrow = style.getPropertyValue("--narrow").trim(), mark = style.getPropertyValue("--mark").trim();
    const found = matches.value?.places, top = at.value;
    let depth = 0;
    for (let above = top; above !== 0; above = tree.value.parent[above]) depth++;
    for (let line = first; line < last; line++) {
      const row = rowOf(line), y = line * rowHeight - box.scrollTop;
      for (const b of rows.value[row] ?? []) {
        const place = tree.value.place[b.node], [x, w] = placed(b);
        pen.globalAlpha = row < depth ? 0.45 : found && !found[place] ? 0.35 : 1;
        if (b.joined) {
          pen.fillStyle = narrow;
          for (let stripe = 0; stripe < w; stripe += 4) pen.fillRect(x + stripe, y, Math.min(2, w - stripe), rowHeight - 1);
          continue;
        }
        const fill = found?.[place] ? mark : colorAt(b.node);
        pen.fillStyle = fill;
        pen.fillRect(x, y, w, rowHeight - 1);
        if (w > 24) {
          const label = fitted(labelOf(doc, place), w - 8, measure);
          pen.fillStyle = inkOn(fill);
          if (label) pen.fillText(label, x + 4, y + rowHeight / 2);
        }
      }
    }
    pen.globalAlpha = 1;
  };
  // On a sheet of its own above the boxes: a pointer that moves draws no box again.
  const drawMarks = () => {
    const element = marks.current, box = scroller.current, pointed = hovered.value;
    if (!element || !box) return;
    const { pen, first, last } = sheet(element, box);
    if (!pointed) return;
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--flame-ink").trim();
    for (let line = first; line < last; line++)
      for (const b of rows.value[rowOf(line)] ?? []) {
        if (b.joined || tree.value.place[b.node] !== pointed.place) continue;
        const [x, w] = placed(b);
        pen.lineWidth = pointed.node === b.node ? 2 : 1;
        pen.strokeRect(x + 0.5, line * rowHeight - box.scrollTop + 0.5, w - 1, rowHeight - 2);
      }
  };
  // In a graph that grows upwards, callers are at the bottom.
  useSignalEffect(() => { rows.value; if (view.value.up) queueMicrotask(() => { const box = scroller.current; if (box) box.scrollTop = box.scrollHeight; }); });
  useSignalEffect(() => { view.value; rows.value; matches.value; size.value; comparison.value; dark.value; draw(); });
  useSignalEffect(() => { view.value; rows.value; hovered.value; size.value; dark.value; drawMarks(); });

  const boxFor = (event: MouseEvent): Box | null => {
    const place = canvas.current!.getBoundingClientRect();
    const line = Math.floor((event.clientY - place.top + scroller.current!.scrollTop) / rowHeight);
    return boxAt(rows.value, view.value.up ? rows.value.length - 1 - line : line, event.clientX - place.left);
  };
  const point = (box: Box | null) => { hovered.value = box && !box.joined ? { place: tree.value.place[box.node], node: box.node } : null; };
  const choose = (box: Box | null) => {
    if (!box) return;
    zoom.value = box.node;
    const place = tree.value.place[box.node];
    if (place > 0 && place < doc.places) change({ fn: place }, true);
  };
  // Its callers and callees, at all places where it is called.
  const pivot = (box: Box | null) => {
    const place = box && !box.joined ? tree.value.place[box.node] : 0;
    if (place > 0 && place < doc.places) { zoom.value = 0; change({ fn: place, tab: "callers" }); }
  };
  // Boxes by keyboard: up to the caller, down to the largest callee, sideways along the row.
  const keys = (event: KeyboardEvent) => {
    const box = focusBox.value && rows.value[focusBox.value.row]?.find((b) => b.node === focusBox.value!.node) || rows.value[0]?.[0];
    if (!box) return;
    const row = rows.value[box.row], i = row.indexOf(box);
    let next: Box | undefined;
    const down = view.value.up ? "ArrowUp" : "ArrowDown", back = view.value.up ? "ArrowDown" : "ArrowUp";
    if (event.key === down) next = rows.value[box.row + 1]?.find((b) => !b.joined && tree.value.parent[b.node] === box.node);
    else if (event.key === back) next = rows.value[box.row - 1]?.find((b) => b.node === tree.value.parent[box.node]);
    else if (event.key === "ArrowLeft") next = row[i - 1];
    else if (event.key === "ArrowRight") next = row[i + 1];
    else if (event.key === "Enter") { choose(box); event.preventDefault(); return; }
    else if (event.key === "." || event.key === "ContextMenu" || event.key === "F10" && event.shiftKey) {
      const edge = canvas.current!.getBoundingClientRect(), line = view.value.up ? rows.value.length - 1 - box.row : box.row;
      openMenu(tree.value.place[box.node], edge.left + box.x + 10, edge.top + (line + 1) * rowHeight - scroller.current!.scrollTop);
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    else return;
    event.preventDefault();
    focusBox.value = next ?? box;
    point(focusBox.value);
    const line = view.value.up ? rows.value.length - 1 - focusBox.value.row : focusBox.value.row, within = scroller.current!, y = line * rowHeight;
    if (y < within.scrollTop) within.scrollTop = y;
    else if (y + rowHeight > within.scrollTop + within.clientHeight) within.scrollTop = y + rowHeight - within.clientHeight;
    const now = focusBox.value, place = tree.value.place[now.node];
    spoken.value = now.joined ? `${now.joined} calls too narrow to draw` : `${labelOf(doc, place)}, ${percent(now.value / tree.value.totalOf(0))}`;
  };
  const height = useComputed(() => rows.value.length * rowHeight);
  const shown = tip.value, t = tree.value;
  // The drawing as text: the widest two hundred boxes, in the order of the graph.
  const table = useComputed(() => {
    const { unit } = metric.value, of = tree.value, boxes = rows.value.flat().filter((b) => b && !b.joined);
    const least = boxes.length > 200 ? boxes.map((b) => b.value).sort((a, b) => b - a)[200] : 0;
    const out = boxes.filter((b) => b.value > least || boxes.length <= 200);
    return { head: ["level", "call", "itself", "with what it calls", "share"], rows: out.map((b) => [`${b.row}`, labelOf(doc, of.place[b.node]), amount(of.selfOf(b.node), unit), amount(b.value, unit), percent(of.totalOf(0) > 0 ? b.value / of.totalOf(0) : 0)]) };
  });
  const caption = useComputed(() => `Flame graph of ${metric.value.title}, ${amount(taken.value.total, metric.value.unit)}`);
  return (
    <div class="flame" ref={scroller} onScroll={() => { draw(); drawMarks(); }}>
      <div class="graph" style={{ height: `${height.value}px` }} tabIndex={0} role="application" onKeyDown={keys}
        aria-label="Flame graph. Arrow keys move between calls, Enter zooms, Escape goes back. A table with the same numbers follows.">
        <div class="sheet"><canvas ref={canvas} style={{ width: `${size.value.width}px`, height: `${size.value.height}px` }}
          onMouseMove={(event) => { const box = boxFor(event); point(box); tip.value = box && { box, x: event.clientX, y: event.clientY }; }}
          onMouseLeave={() => { point(null); tip.value = null; }} onClick={(event) => choose(boxFor(event))} onDblClick={(event) => pivot(boxFor(event))}
          onContextMenu={(event) => { const box = boxFor(event); if (box && !box.joined) { event.preventDefault(); tip.value = null; openMenu(tree.value.place[box.node], event.clientX, event.clientY); } }} />
          <canvas ref={marks} class="marks" aria-hidden="true" style={{ width: `${size.value.width}px`, height: `${size.value.height}px` }} /></div>
      </div>
      {shown && shown.box.node < t.count && <div class="tip" style={{ left: `${Math.max(4, Math.min(shown.x + 14, innerWidth - 440))}px`, top: `${shown.y + 18 > innerHeight - 90 ? shown.y - 84 : shown.y + 18}px` }}>
        {shown.box.joined
          ? <b>{shown.box.joined} calls too narrow to draw: {comparison.value ? "" : `${amount(shown.box.value, metric.value.unit)}, `}{percent(shown.box.value / t.totalOf(0))}. Click to see them.</b>
          : <><b>{labelOf(doc, t.place[shown.box.node])}</b><br />
            <Numbers node={shown.box.node} />
            <br /><span class="quiet">{whereOf(doc, t.place[shown.box.node])}{view.value.inverted ? " · inverted: callers below" : ""}{inTime.value ? " · in order of time" : ""}</span></>}
      </div>}
      <div class="visually-hidden" role="status">{spoken.value}</div>
      <CanvasTable id="flame-table" caption={caption} table={table} />
    </div>);
}
