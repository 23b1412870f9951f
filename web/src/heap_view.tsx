// The heap in the selection: what grew between its two ends and which code allocated it, sizes and lifetimes, single blocks.
import { useComputed, useSignal } from "@preact/signals";
import { askerOf } from "./owners";
import { entryAt, sizedCells, takenNodes } from "./aggregate";
import { Name } from "./name_view";
import { change, doc, heapLists, selection, showSizes, view } from "./state";
import { ShapeKind } from "./types";
import { amount, bytes, percent, seconds, secondsText, withCommas } from "./words";

// Heap cells that the selected threads and patterns take.
const cellsTaken = () => {
  const heap = doc.heap!, { thread, focus, ignore, sizes } = selection.value, nodes = takenNodes(doc, focus, ignore), sized = sizedCells(doc, heap, sizes);
  return Array.from(heap.node, (node, cell) => nodes[node] === 1 && (!sized || sized[cell] === 1) && (thread === null || doc.head.threads[heap.thread[cell]].name === thread));
};

interface Site { place: number; before: number; after: number; allocated: number; calls: number; freed: number }
function Sites() {
  const by = useSignal<"growth" | "after" | "allocated" | "calls">("growth"), all = useSignal(false);
  const rows = useComputed(() => {
    const heap = doc.heap!, { from, to } = selection.value, takes = cellsTaken(), sites = new Map<number, Site>();
    for (let cell = 0; cell < heap.node.length; cell++) {
      if (!takes[cell]) continue;
      const place = askerOf(doc, heap.node[cell]), start = heap.first[cell], low = entryAt(heap, cell, from), high = entryAt(heap, cell, to);
      let row = sites.get(place);
      if (!row) sites.set(place, (row = { place, before: 0, after: 0, allocated: 0, calls: 0, freed: 0 }));
      const live = (until: number) => heap.sumAllocatedBytes[until] - heap.sumAllocatedBytes[start] - heap.sumFreedBytes[until] + heap.sumFreedBytes[start];
      row.before += live(low);
      row.after += live(high);
      row.allocated += heap.sumAllocatedBytes[high] - heap.sumAllocatedBytes[low];
      row.calls += heap.sumAllocatedBlocks[high] - heap.sumAllocatedBlocks[low];
      row.freed += heap.sumFreedBytes[high] - heap.sumFreedBytes[low];
    }
    return [...sites.values()].filter((row) => row.before || row.after || row.allocated || row.freed);
  });
  const key = (row: Site) => by.value === "growth" ? row.after - row.before : row[by.value];
  const sorted = [...rows.value].sort((a, b) => key(b) - key(a)), sum = (of: (row: Site) => number) => rows.value.reduce((total, row) => total + of(row), 0);
  const { from, to } = selection.value, time = (slice: number) => `${secondsText(slice * doc.head.slice_ms)} s`;
  const head = (name: typeof by.value, text: string) => <th aria-sort={by.value === name ? "descending" : "none"}><button class="link" onClick={() => { by.value = name; }}>{text}{by.value === name ? " ↓" : ""}</button></th>;
  const signed = (value: number) => `${value > 0.5 ? "+" : value < -0.5 ? "−" : ""}${bytes(Math.abs(value))}`;
  const shown = all.value ? sorted : sorted.slice(0, 100);
  return (<>
    <p>Between {time(from)} and {to === doc.head.slices ? "the end" : time(to)} the heap {sum((r) => r.after) >= sum((r) => r.before) ? "grew" : "shrank"} by <b id="heap-growth">{bytes(Math.abs(sum((r) => r.after - r.before)))}</b>, from {bytes(sum((r) => r.before))} to {bytes(sum((r) => r.after))}; {bytes(sum((r) => r.allocated))} came in {withCommas(sum((r) => r.calls))} calls, {bytes(sum((r) => r.freed))} went. <span class="quiet">The marks are the start and the end of the selected time.</span></p>
    <table id="sites" class="fill"><thead><tr><th>live at the start</th>{head("after", "at the end")}{head("growth", "growth")}{head("allocated", "allocated")}{head("calls", "calls")}<th>freed of its own</th><th class="left">asked for by</th></tr></thead>
      <tbody>{shown.map((row) => <tr key={row.place} class={view.value.fn === row.place ? "on" : ""}><td>{bytes(Math.max(0, row.before))}</td><td>{bytes(Math.max(0, row.after))}</td><td>{signed(row.after - row.before)}</td><td>{bytes(row.allocated)}</td><td>{withCommas(row.calls)}</td><td>{bytes(row.freed)}</td>
        <td class="left function">{row.place ? <Name place={row.place} title={`${doc.name[row.place]}: only what it allocated`} to={() => change({ focus: [...view.value.focus.filter((p) => p !== doc.name[row.place]), doc.name[row.place]], fn: row.place })} /> : "(no stack)"}</td></tr>)}</tbody></table>
    {sorted.length > shown.length && <button onClick={() => { all.value = true; }}>{sorted.length - shown.length} more</button>}</>);
}

const kinds = [[ShapeKind.size, "Sizes of what was allocated"], [ShapeKind.lifetime, "Lifetimes of what was freed"], [ShapeKind.age, "Ages of what is live at the end"]] as const;
const edge = (kind: ShapeKind, bucket: number) => bucket === 0 ? "0" : kind === ShapeKind.size ? bytes(2 ** bucket) : seconds(2 ** bucket / 1e9);
function Sizes() {
  const sums = useComputed(() => {
    const takes = cellsTaken(), { shapes } = doc, out = kinds.map(() => new Float64Array(65));
    for (let i = 0; i < shapes!.cell.length; i++) if (takes[shapes!.cell[i]]) out[shapes!.kind[i]][shapes!.bucket[i]] += shapes!.blocks[i];
    return out;
  });
  const { sizes } = view.value, isChosen = (bucket: number) => sizes !== null && bucket >= sizes[0] && bucket < sizes[1];
  const choose = (bucket: number, upTo: boolean) =>
    showSizes(upTo && sizes ? [Math.min(bucket, sizes[0]), Math.max(bucket + 1, sizes[1])] : sizes && isChosen(bucket) && sizes[1] === sizes[0] + 1 ? null : [bucket, bucket + 1]);
  return (
    <div class="two">{kinds.map(([kind, title]) => {
      const of = sums.value[kind], total = of.reduce((a, b) => a + b, 0), most = Math.max(...of);
      const quantile = (share: number) => { let sum = 0, bucket = 0; while (bucket < 64 && (sum += of[bucket]) < share * total) bucket++; return edge(kind, bucket); };
      if (!(total > 0)) return <div><h3>{title}</h3><p class="quiet">None.</p></div>;
      const first = of.findIndex((value) => value > 0), last = of.reduce((at, value, i) => value > 0 ? i : at, 0);
      return <div><h3>{title}</h3><p class="quiet">{withCommas(total)} blocks; half are below {quantile(0.5)}, 99 % below {quantile(0.99)}.</p>
        <table class="histogram" id={`histogram-${kind}`}><thead><tr><th>below</th><th>blocks</th><th>share</th></tr></thead><tbody>{[...of].slice(first, last + 1).map((value, i) => <tr key={i} class={kind === ShapeKind.size && isChosen(first + i) ? "on" : ""}><td>{kind === ShapeKind.size ? <button class="link" aria-pressed={isChosen(first + i)} title="only call sites that allocated such blocks; with Shift, up to this size" onClick={(event) => choose(first + i, event.shiftKey)}>{edge(kind, first + i)}</button> : edge(kind, first + i)}</td><td>{withCommas(value)}</td><td class="bar-cell" style={{ "--share": value / most } as never}>{percent(value / total)}</td></tr>)}</tbody></table></div>;
    })}<p class="quiet wide">Each row counts the values from the row above it up to its own number. Sizes and lifetimes are of the whole recording: the selected time does not change them; threads, patterns and a chosen size do. Click a size to select the call sites that allocated such blocks, with all their memory; Shift-click selects all sizes up to there.</p></div>);
}

function Blocks() {
  const least = useSignal(""), oldest = useSignal(false), end = doc.head.duration_ns;
  const rows = useComputed(() => {
    const takes = cellsTaken(), { blocks } = doc, { from, to } = selection.value, width = doc.head.slice_ms * 1e6;
    const out = [];
    for (let i = 0; i < blocks!.cell.length; i++)
      if (takes[blocks!.cell[i]] && blocks!.allocated[i] >= from * width && (to === doc.head.slices || blocks!.allocated[i] < to * width)) out.push(i);
    return out;
  });
  if (!doc.head.heap?.knows_blocks) return <p class="empty">This recording has no single blocks. Record them with: fathom record --heap --each-block</p>;
  const size = Number(least.value) || 0, of = doc.blocks!, found = rows.value.filter((i) => of.size[i] >= size).sort((a, b) => oldest.value ? of.allocated[a] - of.allocated[b] : of.size[b] - of.size[a]);
  return (<>
    <p><label>at least <input class="number" type="text" inputMode="numeric" value={least.value} onInput={(event) => { least.value = event.currentTarget.value; }} /> bytes</label> <label><input type="checkbox" checked={oldest.value} onChange={() => { oldest.value = !oldest.value; }} /> oldest first</label>
      {" "}<span class="quiet">{withCommas(found.length)} that are live at the end and were allocated in the selected time, of the {withCommas(of.cell.length)} largest and oldest.</span></p>
    <table id="blocks" class="fill"><thead><tr><th>size</th><th>allocated at</th><th>age</th><th>address</th><th>stands for</th><th class="left">thread</th><th class="left">asked for by</th></tr></thead>
      <tbody>{found.slice(0, 300).map((i) => { const place = askerOf(doc, doc.heap!.node[of.cell[i]]); return <tr key={i}><td title={`${withCommas(of.size[i])} bytes`}>{bytes(of.size[i])}</td><td>{(of.allocated[i] / 1e9).toFixed(3)} s</td><td>{seconds(Math.max(0, end - of.allocated[i]) / 1e9)}</td><td class="name">0x{of.address[i].toString(16)}</td><td>{of.blocks[i] > 1.005 ? amount(of.blocks[i], "blocks") : ""}</td>
        <td class="left">{doc.head.threads[doc.heap!.thread[of.cell[i]]].name}</td><td class="left function">{place ? <Name place={place} /> : "(no stack)"}</td></tr>; })}</tbody></table></>);
}

const listNames = { sites: "growth between two marks", sizes: "sizes and lifetimes", blocks: "single blocks" };
export function Heap() {
  const of = view.value.heap;
  if (!doc.heap) return <p class="empty">This recording has no heap. Record it with: fathom record --heap</p>;
  return (
    <div class="scroll"><p class="lists" role="group" aria-label="Heap">{heapLists.map((list) => <button class="link" aria-pressed={of === list} onClick={() => change({ heap: list })}>{listNames[list]}</button>)}</p>
      {of === "sites" ? <Sites /> : of === "sizes" ? <Sizes /> : <Blocks />}</div>);
}
