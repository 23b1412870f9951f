// The tabs, the options of the graph, and the view below them.
import { useLayoutEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { toggleEdit } from "./actions";
import { labelOf, placesIn } from "./aggregate";
import { editNames } from "./bar_view";
import { causeLegend } from "./cause_colors";
import { legendOf } from "./colors";
import { Compared, ComparedThreads, ComparedTop, DiffLegend } from "./compare_view";
import { Flame, savePicture } from "./flame_view";
import { Callers, Threads, Top } from "./functions_view";
import { Heap } from "./heap_view";
import { keyHint } from "./key_names";
import { Modules } from "./modules_view";
import { Name, Short } from "./name_view";
import { SeriesTable } from "./series_view";
import { wholeEdits } from "./shape";
import { Side } from "./side_view";
import { Spans } from "./spans_view";
import { change, colorings, colorOfView, comparison, doc, dropFilters, hasOrder, hasTab, keyOf, metric, orders, tabs, taken, tree, view, widths, zoom, type Tab, type Widths } from "./state";
import { TreeTable } from "./tree_view";
import { Waits } from "./waits_view";
import { amount, figure, metricName, percent, withCommas } from "./words";

const tabNames: Record<Tab, string> = { flame: "Flame graph", top: "Top", callers: "Callers", threads: "Threads", waits: "Waits", heap: "Heap", tree: "Tree", modules: "Modules", series: "Series", quality: "Quality", spans: "Spans" };
const colorNames = { cause: "cause of the wait", crate: "crate", kind: "kind of code", self: "own share", function: "function", thread: "thread" } as const;

function Quality() {
  const { words, folded, slice_ms, slices } = doc.head;
  return (
    <div class="scroll prose"><p>{words.quality}</p>
      <ul>{words.complaints.map((text) => <li>{text}</li>)}</ul>
      {!doc.compared && <p>Time is held in {withCommas(slices)} slices of {slice_ms} ms: a range begins and ends at one. {folded.calls > 0
        ? `${withCommas(folded.calls)} calls of less than ${percent(folded.share)} of every metric are folded into "(smaller calls)" below their callers, so that the page stays small; the recording has them all.`
        : "No call is left out."}</p>}</div>);
}

function Total() {
  const c = comparison.value;
  // Shares of a whole are 100 % on both sides.
  if (doc.compared && c) return c.unit === "share" ? null : <b id="total">{figure(c.whole.base, c.unit)} → {figure(c.whole.fresh, c.unit)}</b>;
  return <span><b id="total" data-total={taken.value.total}>{amount(taken.value.total, metric.value.unit)}</b>{taken.value.whole !== taken.value.total && <> of {amount(taken.value.whole, metric.value.unit)}</>}</span>;
}

// Where the tabs and the options do not fit next to each other, a button opens the options.
function Options() {
  const v = view.value, open = useSignal(false), cramped = useSignal(false), at = useRef<HTMLSpanElement>(null), wide = useRef(0);
  useLayoutEffect(() => {
    const bar = at.current!.parentElement!, tabs = bar.querySelector<HTMLElement>(".tabs")!;
    const fit = () => {
      const own = at.current!.offsetWidth, first = tabs.firstElementChild as HTMLElement, last = tabs.lastElementChild as HTMLElement;
      if (!cramped.peek()) wide.current = own;
      const needed = last.offsetLeft + last.offsetWidth - first.offsetLeft;
      cramped.value = innerWidth <= 1080 || needed > tabs.clientWidth + own - wide.current;
    };
    const watch = new ResizeObserver(fit);
    for (const one of [bar, tabs, ...bar.querySelectorAll<HTMLElement>("#total")]) watch.observe(one);
    fit();
    return () => watch.disconnect();
  }, []);
  return (
    <span ref={at} class={cramped.value ? "options cramped" : "options"}>
      <button class="fold-options" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>options {open.value ? "▴" : "▾"}</button>
      <span class={cramped.value && open.value ? "choices open" : "choices"}>
        <label title={`from costly functions to their callers (${keyHint("invert")})`}><input type="checkbox" checked={v.inverted} onChange={() => { zoom.value = 0; change({ inverted: !v.inverted }); }} /> inverted</label>
        <label title={keyHint("thread")}><input type="checkbox" checked={v.byThread} onChange={() => { zoom.value = 0; change({ byThread: !v.byThread }); }} /> by thread</label>
        <label title={`callers at the bottom (${keyHint("upwards")})`}><input type="checkbox" checked={v.up} onChange={() => change({ up: !v.up })} /> upwards</label>
        <label><span>order</span> <select id="order" aria-label="order" title={`order of frames (${keyHint("order")})`} value={hasOrder(v) ? v.order : "size"} onChange={(event) => { zoom.value = 0; change({ order: event.currentTarget.value as typeof v.order }); }}>{orders.map((one) => <option value={one} disabled={one === "time" && !hasOrder(v)}>{one === "size" ? "largest left" : "in time"}</option>)}</select></label>
        {!v.base && <label><span>colour</span> <select id="color" aria-label="colour" title="what a colour means" value={colorOfView(v)} onChange={(event) => change({ color: event.currentTarget.value as typeof v.color })}>{colorings.filter((one) => one !== "cause" || v.metric === "off-cpu").map((one) => <option value={one} disabled={one === "thread" && (!v.byThread || v.inverted)}>{colorNames[one]}</option>)}</select></label>}
        {v.base && <label><span>widths</span> <select id="widths" value={v.widths} onChange={(event) => change({ widths: event.currentTarget.value as Widths })}>{widths.map((one) => <option value={one}>{one}</option>)}</select></label>}
        <button id="save-picture" title={`saves this graph as one SVG (${keyHint("save")})`} aria-label="save picture" onClick={savePicture}>save</button>
        <label><span class="visually-hidden">fold</span><select id="fold" value="" onChange={(event) => { if (event.currentTarget.value) toggleEdit(event.currentTarget.value); event.currentTarget.value = ""; }}><option value="">fold</option>{wholeEdits.map((edit) => <option value={edit}>{v.edits.includes(edit) ? "✓ " : ""}{editNames[edit]}</option>)}</select></label>
      </span></span>);
}

function Legend() {
  const v = view.value, by = colorOfView(v), items = v.base ? [] : by === "cause" ? causeLegend() : legendOf(doc, by, placesIn(doc, tree.value));
  return <p class="legend colors" aria-label="Colours">{v.base ? <DiffLegend /> : <>{by === "self" && "own share of a frame:"}{items.map(({ label, color }) => <span><s style={{ background: color }} />{label}</span>)}{by === "function" || by === "thread" ? `a colour is a ${by}` : ""}</>}</p>;
}

function Crumbs() {
  const path: number[] = [];
  for (let at = zoom.value < tree.value.count ? zoom.value : 0; at !== 0; at = tree.value.parent[at]) path.unshift(at);
  if (!path.length) return null;
  const shown = path.slice(-4);
  return (
    <p class="crumbs"><button class="link" onClick={() => { zoom.value = 0; }}>all</button>{path.length > shown.length && <span title={`${path.length - shown.length} more calls in between`}> › {path.length - shown.length} more</span>}
      {shown.map((node) => <> <span>›</span> <button class="link crumb" title={labelOf(doc, tree.value.place[node])} onClick={() => { zoom.value = node; }}><Short text={labelOf(doc, tree.value.place[node])} /></button></>)} <button class="small" title="key Esc" onClick={() => { zoom.value = tree.value.parent[zoom.value]; }}>back</button></p>);
}

function Nothing() {
  const v = view.value, drop = [v.range && "the time", v.thread !== null && "the thread", v.focus.length && "the focus", v.ignore.length && "what is left out", v.sizes && "the sizes"].filter(Boolean);
  return <p class="empty">Nothing of {metricName(metric.value)} in this selection. {drop.length ? <>Drop {drop.join(" or ")} with a chip above, or <button class="link" onClick={dropFilters}>show everything</button>.</> : "Choose another metric above."}</p>;
}

export function Views() {
  const v = view.value, hasSide = v.tab === "flame" || v.tab === "top" && v.fn !== null;
  return (
    <>
      <nav><select id="view" aria-label="view" value={v.tab} onChange={(event) => change({ tab: event.currentTarget.value as Tab })}>{tabs.filter(hasTab).map((tab) => <option value={tab}>{tabNames[tab]}</option>)}</select><div class="tabs" role="tablist" aria-label="Views">{tabs.filter(hasTab).map((tab) => <button role="tab" aria-selected={v.tab === tab} title={`key ${keyOf(tab)}`} onClick={() => change({ tab })}>{tabNames[tab]}</button>)}</div>
        {v.tab === "flame" && <Options />}{doc.head.metrics.length > 0 && <Total />}</nav>
      {v.tab === "flame" && <Crumbs />}
      {v.base && <Compared />}
      <main class={hasSide ? "split" : ""}>
        {v.tab === "quality" ? <Quality /> : v.tab === "waits" ? <Waits /> : v.tab === "heap" ? <Heap /> : v.tab === "series" ? <SeriesTable /> : v.tab === "spans" ? <Spans />
          : tree.value.totalOf(0) <= 0 ? <Nothing />
          : v.tab === "flame" ? <div class="drawn"><Flame /><Legend /></div> : v.tab === "tree" ? <TreeTable /> : v.tab === "modules" ? <Modules /> : v.tab === "callers" ? <Callers />
          : v.tab === "top" ? (v.base ? <ComparedTop name={(place) => <Name place={place} />} /> : <Top />)
          : v.base ? <ComparedThreads /> : <Threads />}
        {hasSide && <Side />}
      </main>
    </>);
}
