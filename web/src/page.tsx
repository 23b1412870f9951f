// The page: the report's sentences, the time axis, and one selection in several views.
import { render } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { around, cellsOf, costsOf, labelOf, nodesWith, overTime, together } from "./aggregate";
import { copy } from "./clipboard";
import { Code, hasCode } from "./code_view";
import { colorOf } from "./colors";
import { canCompare } from "./compare";
import { Compared, ComparedCalls, ComparedThreads, ComparedTop, changeOf } from "./compare_view";
import { readDocument, unpack } from "./document";
import { Flame, goToMatch, useMatches } from "./flame_view";
import { Heap } from "./heap_view";
import { Lanes } from "./lanes_view";
import { Modules } from "./modules_view";
import { fitted, foldGenerics } from "./names";
import { SeriesTable } from "./series_view";
import { startsOf, wholeEdits } from "./shape";
import { baseTree, change, children, colorings, command, compared, comparison, doc, dropFrom, functionOf, functions, hasIdle, hasOrder, hasTab, hovered, ignoreFor, isIdleHidden, keyOf, metric, notice, orders, plainTree, report, search, showFrom, showSizes, start, tabs, taken, toggleIdle, tree, view, widths, zoom, type Tab, type Widths } from "./state";
import { TreeTable } from "./tree_view";
import { Kind, type FunctionRow } from "./types";
import { Waits } from "./waits_view";
import { amount, figure, groupPattern, patternText, percent, secondsText, sizesFrom, sizesText, whereOf, withCommas } from "./words";

const tabNames: Record<Tab, string> = { flame: "Flame graph", top: "Top", callers: "Callers", threads: "Threads", waits: "Waits", heap: "Heap", tree: "Tree", modules: "Modules", series: "Series", quality: "Quality" };
const share = (value: number) => taken.value.total > 0 ? value / taken.value.total : 0;

function Story() {
  const { words, target, start_unix_ms } = doc.head, all = useSignal(false);
  // For a long text, the first sentence is enough; the rest is shown on request, and the picture is on the first screen.
  const brief = (text: string) => {
    const end = text.length > 200 && !all.value ? text.slice(60).search(/[.)] (?=[A-Z(])/) : -1;
    return end < 0 ? text : text.slice(0, 60 + end + 1);
  };
  const cut = words.claims.some(({ text }) => brief(text) !== text);
  const [name, ...facts] = (words.headline || target || "a profile").split(" · ");
  return (
    <header>
      <h1>{name} <span>{facts.join(" · ")}{start_unix_ms > 0 ? ` · ${new Date(start_unix_ms).toISOString().slice(0, 16).replace("T", " ")} UTC` : ""}</span></h1>
      <p class="story">{words.claims.map((claim) => claim.metric
        ? <><a href="#" role="button" onClick={(event) => {
          event.preventDefault();
          zoom.value = 0;
          const fn = claim.focus ? doc.name.indexOf(claim.focus, 1) : -1;
          const metric = doc.head.metrics.some(({ name }) => name === claim.metric) ? claim.metric : view.value.metric;
          change({ metric, focus: claim.focus ? [claim.focus] : [], edits: view.value.edits.filter((edit) => !edit.startsWith("from:")), ignore: ignoreFor(metric), sizes: null, range: null, base: null, thread: null, tab: "flame", fn: fn > 0 ? fn : null });
        }}>{brief(claim.text)}</a> </>
        : <>{brief(claim.text)} </>)}
        {(cut || all.value) && <button class="link" aria-expanded={all.value} onClick={() => { all.value = !all.value; }}>{all.value ? "less" : "more"}</button>}</p>
      <p class="quality"><i class={words.complaints.length ? "dot warn" : "dot"} />{words.quality}
        {words.complaints.length > 0 && <>{words.quality && " · "}<button class="link" onClick={() => change({ tab: "quality" })}>{words.complaints.length === 1 ? "1 remark" : `${words.complaints.length} remarks`}</button></>}
        {doc.head.folded.calls > 0 && <> · {withCommas(doc.head.folded.calls)} calls of less than {percent(doc.head.folded.share)} are folded to keep the page small</>}</p>
    </header>);
}

function say(text: string) {
  notice.value = text;
  setTimeout(() => { notice.value = ""; }, 4000);
}

// The selected time becomes the base, and the next selection is compared with it.
function makeBase() {
  if (!view.value.range || !canCompare(view.value.metric)) return;
  change({ base: view.value.range, range: null });
  say("choose the time to compare with it");
}

function Chip({ text, title, drop, kind = "" }: { text: string; title: string; drop: () => void; kind?: string }) {
  return <button class={`chip ${kind}`} title={`${title}; click to drop it`} onClick={drop}>{text} <span aria-label="remove">×</span></button>;
}

const editNames: Record<string, string> = { own: "only own code", recursion: "recursion folded", runtime: "runtime folded" };
const toggleEdit = (edit: string) => { zoom.value = 0; change({ edits: view.value.edits.includes(edit) ? view.value.edits.filter((e) => e !== edit) : [...view.value.edits, edit] }); };

// Text in the field that is more than a search.
const words = /^(focus|ignore|hide|show-from|cause|size)[: ]\s*(.+)$|^(module|crate)(?: |:(?!:))\s*(.+)$/;

function Bar() {
  const v = view.value, text = useSignal(""), matches = useMatches();
  matched.value = matches.value;
  const add = (event: Event) => {
    event.preventDefault();
    const typed = text.value.trim(), hit = words.exec(typed);
    if (!typed) return;
    if (hit?.[3]) change({ focus: [...v.focus, `${hit[3]}:${hit[4]}`] });
    else if (hit?.[1] === "cause") {
      const cause = doc.name.find((name, i) => doc.kind[i] === Kind.cause && name.includes(hit[2])) ?? `[wait: ${hit[2]}]`;
      change({ metric: doc.costs.has("off-cpu") ? "off-cpu" : v.metric, focus: [...v.focus, cause] });
    } else if (hit?.[1] === "size" && doc.heap) {
      const sizes = sizesFrom(hit[2]);
      if (!sizes) return say("size 64KiB:1MiB, or 4096, 1MiB: or :100");
      showSizes(sizes);
    } else if (hit?.[1] === "ignore") change({ ignore: [...v.ignore, hit[2]] });
    else if (hit?.[1] === "show-from") showFrom(hit[2]);
    else if (hit?.[1] === "hide") change({ edits: [...v.edits.filter((edit) => edit !== `hide:${hit[2]}`), `hide:${hit[2]}`] });
    else change({ focus: [...v.focus, hit ? hit[2] : typed] });
    text.value = search.value = "";
    zoom.value = 0;
  };
  const typed = (value: string) => { text.value = value; search.value = words.test(`${value}x`) ? "" : value; };
  return (
    <div class="bar">
      <label class="visually-hidden" for="metric">Metric</label>
      <select id="metric" value={v.metric} onChange={(event) => { zoom.value = 0; change({ metric: event.currentTarget.value, ignore: ignoreFor(event.currentTarget.value, v.ignore) }); }}>
        {doc.head.metrics.map((one) => <option value={one.name} disabled={!doc.compared && !canCompare(one.name) && (v.range ?? v.base) !== null}>{one.title} ({one.unit})</option>)}
      </select>
      {v.range && !doc.compared && <Chip text={`${secondsText(v.range[0] * doc.head.slice_ms)} – ${secondsText(v.range[1] * doc.head.slice_ms)} s`} title="only this time" drop={() => change({ range: null })} />}
      {v.base && !doc.compared && <Chip kind="base" text={`compared with ${secondsText(v.base[0] * doc.head.slice_ms)} – ${secondsText(v.base[1] * doc.head.slice_ms)} s`} title="base of the comparison" drop={() => change({ base: null })} />}
      {v.range && !v.base && canCompare(v.metric) && <button class="chip add" title="key b: choose another time, and see what differs from this one" onClick={makeBase}>compare with this time</button>}
      {v.thread !== null && <Chip text={`thread ${v.thread}`} title="only threads of this name" drop={() => change({ thread: null })} />}
      {v.focus.filter((pattern) => !startsOf(v.edits).includes(pattern)).map((pattern) => <Chip text={patternText("focus", pattern)} title={`only stacks with ${pattern}`} drop={() => change({ focus: v.focus.filter((p) => p !== pattern) })} />)}
      {v.ignore.map((pattern) => <Chip text={pattern === "(idle:" ? "not idle" : patternText("ignore", pattern)} title={`no stacks with ${pattern}`} drop={() => change({ ignore: v.ignore.filter((p) => p !== pattern) })} />)}
      {v.sizes && <Chip text={sizesText(v.sizes)} title="only call sites that asked for blocks of these sizes, with all that they asked for" drop={() => change({ sizes: null })} />}
      {v.edits.map((edit) => edit.startsWith("from:")
        ? <Chip kind="edit" text={`show from ${foldGenerics(edit.slice(5))}`} title="only stacks with it, without its callers" drop={() => { zoom.value = 0; dropFrom(edit); }} />
        : <Chip kind="edit" text={editNames[edit] ?? foldGenerics(edit.replace(":", " "))} title="a transform of the tree: sums stay, calls go" drop={() => toggleEdit(edit)} />)}
      {v.metric === "off-cpu" && !v.base && hasIdle() && !isIdleHidden() && <button class="chip add" title="leave out threads that wait for work" onClick={toggleIdle}>+ not idle</button>}
      <form onSubmit={add}>
        <input id="search" value={text.value} placeholder="/ search; Enter: focus on it; ignore, hide, show-from, module, crate, cause NAME; size MIN:MAX; /expression/" aria-label="Search, focus, ignore, hide or show-from" autocomplete="off" spellcheck={false}
          onInput={(event) => typed(event.currentTarget.value)} onKeyDown={(event) => { if ((event.key === "ArrowDown" || event.key === "ArrowUp") && matches.value) { goToMatch(matches.value.places, event.key === "ArrowDown" ? 1 : -1); event.preventDefault(); } else if (event.key === "Escape") { typed(""); event.currentTarget.blur(); event.stopPropagation(); } }} />
      </form>
      {matches.value && <><span class="found" role="status">{withCommas(matches.value.calls)} {matches.value.calls === 1 ? "box" : "boxes"}, {percent(matches.value.share)}{zoom.value > 0 ? " of the zoom" : ""}</span>
        <button title="key p, or arrow up in the field" onClick={() => goToMatch(matches.value!.places, -1)}>previous</button><button title="key n, or arrow down in the field" onClick={() => goToMatch(matches.value!.places, 1)}>next</button></>}
      <button onClick={() => copy(command(v), command(v))} title={command(v)} id="copy">copy as command</button>
    </div>);
}

function go(place: number) { change({ fn: place, tab: "callers" }); }

function Name({ place }: { place: number }) {
  return <><s style={{ background: colorOf(doc, place) }} /><button class="link name" title={labelOf(doc, place)} onClick={() => go(place)}>{foldGenerics(labelOf(doc, place))}</button></>;
}

function Top() {
  const by = useSignal<"self" | "total">("self"), all = useSignal(false);
  const pattern = search.value.toLowerCase();
  const rows = useComputed(() => [...functions.value].sort((a: FunctionRow, b: FunctionRow) => b[by.value] - a[by.value] || b.total - a.total));
  const found = rows.value.filter((row) => !pattern || doc.name[row.place].toLowerCase().includes(pattern));
  const shown = all.value ? found.slice(0, 5000) : found.slice(0, 100), { unit } = metric.value;
  return (
    <div class="scroll"><table id="top">
      <thead><tr>
        <th aria-sort={by.value === "self" ? "descending" : "none"}><button class="link" onClick={() => { by.value = "self"; }}>self{by.value === "self" ? " ↓" : ""}</button></th><th />
        <th aria-sort={by.value === "total" ? "descending" : "none"}><button class="link" onClick={() => { by.value = "total"; }}>total{by.value === "total" ? " ↓" : ""}</button></th><th />
        <th class="left">function</th><th class="left wide">where</th></tr></thead>
      <tbody>{shown.map((row) => <tr class={view.value.fn === row.place ? "on" : ""} key={row.place}>
        <td>{amount(row.self, unit)}</td><td class="bar-cell" style={{ "--share": share(row.self) } as never}>{percent(share(row.self))}</td>
        <td>{amount(row.total, unit)}</td><td class="bar-cell" style={{ "--share": share(row.total) } as never}>{percent(share(row.total))}</td>
        <td class="left"><Name place={row.place} /></td><td class="left quiet wide">{whereOf(doc, row.place)}</td></tr>)}</tbody>
    </table>
    {found.length > shown.length && <p><button onClick={() => { all.value = true; }}>showing {shown.length} of {withCommas(found.length)} functions: show more</button></p>}</div>);
}

function Callers() {
  const { fn } = view.value, { unit } = metric.value;
  const facts = useComputed(() => view.value.fn === null ? null : around(doc, plainTree.value, view.value.fn));
  const old = useComputed(() => view.value.fn === null || !baseTree.value ? null : around(doc, baseTree.value, view.value.fn));
  if (fn === null || !facts.value) return <p class="empty">Choose a function: click a box of the flame graph, or a name under Top.</p>;
  const { self, total, callers, callees } = facts.value;
  const list = (rows: [number, number][], nobody: string) => <table><tbody>{rows.slice(0, 60).map(([place, value]) => <tr key={place}>
    <td>{amount(value, unit)}</td><td class="bar-cell" style={{ "--share": total > 0 ? value / total : 0 } as never}>{percent(total > 0 ? value / total : 0)}</td>
    <td class="left">{place === 0 ? nobody : <Name place={place} />}</td></tr>)}</tbody></table>;
  if (old.value) return (
    <div class="scroll callers">
      <h2><s style={{ background: colorOf(doc, fn) }} />{labelOf(doc, fn)}</h2>
      <p class="quiet">{whereOf(doc, fn)}</p>{changeOf(fn)}
      <div class="two"><div><h3>Called by</h3><ComparedCalls base={old.value.callers} fresh={callers} name={(place) => place === 0 ? "the start of the thread" : <Name place={place} />} /></div>
        <div><h3>Calls</h3><ComparedCalls base={old.value.callees} fresh={callees} name={(place) => <Name place={place} />} /></div></div>
    </div>);
  return (
    <div class="scroll callers">
      <h2><s style={{ background: colorOf(doc, fn) }} />{labelOf(doc, fn)}</h2>
      <p class="quiet">{whereOf(doc, fn)}</p>
      <p>{amount(total, unit)} with what it calls, {percent(share(total))} of the selection; {amount(self, unit)} itself, {percent(share(self))}.
        {" "}<button onClick={() => change({ focus: [...view.value.focus, doc.name[fn]] })}>focus</button> <button onClick={() => change({ ignore: [...view.value.ignore, doc.name[fn]] })}>drop</button> <button title="key m: its own cost becomes its callers'" onClick={() => toggleEdit(`merge:${doc.name[fn]}`)}>merge</button> <button title="key s: its stacks, without its callers" onClick={() => showFrom(doc.name[fn])}>show from here</button>{doc.module[fn] && <> <button title="key C: calls inside of it become one" onClick={() => toggleEdit(`collapse:${doc.module[fn]}`)}>collapse {doc.module[fn]}</button> <button title="only stacks with code of it" onClick={() => change({ focus: [...view.value.focus, groupPattern("module", doc.module[fn], doc.modules)] })}>only module {doc.module[fn]}</button></>}{doc.crate[fn] && <> <button title="only stacks with code of it" onClick={() => change({ focus: [...view.value.focus, groupPattern("crate", doc.crate[fn], doc.crate)] })}>only crate {doc.crate[fn]}</button></>}</p>
      <div class="two"><div><h3>Called by</h3>{list(callers, "the start of the thread")}</div><div><h3>Calls</h3>{list(callees, "")}{self > 0 && <p class="quiet">and {amount(self, unit)} in itself</p>}</div></div>
      {hasCode() && <Code fn={fn} key={fn} />}
    </div>);
}

function Threads() {
  const rows = useComputed(() => {
    const values = new Float64Array(doc.head.threads.length), { cells, values: of } = taken.value;
    for (let i = 0; i < of.length; i++) values[cells.thread[i]] += of[i];
    return [...values].map((value, i) => ({ value, i })).filter((row) => row.value > 0).sort((a, b) => b.value - a.value);
  });
  return (
    <div class="scroll"><table><thead><tr><th>total</th><th /><th>threads</th><th class="left">name</th></tr></thead>
      <tbody>{rows.value.map(({ value, i }) => <tr key={i}><td>{amount(value, metric.value.unit)}</td><td class="bar-cell" style={{ "--share": share(value) } as never}>{percent(share(value))}</td>
        <td>{doc.head.threads[i].threads || ""}</td><td class="left"><button class="link name" onClick={() => change({ thread: doc.head.threads[i].name })}>{doc.head.threads[i].name}</button></td></tr>)}</tbody></table></div>);
}

function Quality() {
  const { words, folded, slice_ms, slices } = doc.head;
  return (
    <div class="scroll prose"><p>{words.quality}</p>
      <ul>{words.complaints.map((text) => <li>{text}</li>)}</ul>
      {!doc.compared && <p>Time is held in {withCommas(slices)} slices of {slice_ms} ms: a range begins and ends at one. {folded.calls > 0
        ? `${withCommas(folded.calls)} calls of less than ${percent(folded.share)} of every metric are folded into "(smaller calls)" below their callers, so that the page stays small; the recording has them all.`
        : "No call is left out."}</p>}</div>);
}

function Sparkline({ place }: { place: number }) {
  const v = view.value, on = nodesWith(doc, place), cells = cellsOf(doc, v.metric);
  const values = overTime(doc, v.metric, together(doc, 120), 1, (cell) => on[cells.node[cell]] ? 0 : -1)[0];
  const most = Math.max(...values);
  if (!(most > 0) || values.length < 2) return null;
  const points = [...values].map((value, i) => `${i / (values.length - 1) * 100},${30 - value / most * 28}`).join(" ");
  return <svg class="spark" viewBox="0 0 100 31" preserveAspectRatio="none" aria-label="its cost over time"><polyline points={points} fill="none" stroke="var(--accent)" stroke-width="1.2" vector-effect="non-scaling-stroke" /></svg>;
}

function Keys() {
  const keys = [["1–9, 0", "views"], ["/", "search; n, p: next, previous"], ["i t u o", "inverted, by thread, upwards, in time"], ["f d m s C", "focus on, drop, merge, show from the function; collapse its module"], ["r y Y", "fold recursion, only own code, fold runtime"], ...(doc.compared ? [] : [["b", "compare with this time"]]), ["c", "copy as command"], ["Esc", "back"], ["arrows", "in graph, tree and time"]];
  return <dl class="keys">{keys.map(([key, what]) => <><dt><kbd>{key}</kbd></dt><dd>{what}</dd></>)}</dl>;
}

function Evidence() {
  const pointed = hovered.value, { fn } = view.value, { unit } = metric.value, t = tree.value;
  const place = pointed && pointed.place > 0 && pointed.place < doc.places ? pointed.place : fn;
  const node = pointed && pointed.place === place && pointed.node < t.count ? pointed.node : zoom.value < t.count && t.place[zoom.value] === place ? zoom.value : null;
  const near = useComputed(() => view.value.fn === null ? null : around(doc, plainTree.value, view.value.fn));
  if (place === null) return <aside class="quiet"><p>Point at a box to see its numbers; click it to zoom and to keep it here, double-click for its callers.</p><Keys /></aside>;
  const row = functionOf.value.get(place), top = Math.min(zoom.value, t.count - 1);
  return (
    <aside>
      <h2>{foldGenerics(labelOf(doc, place))}</h2><p class="quiet">{whereOf(doc, place)}</p>
      {comparison.value && changeOf(place)}
      {!doc.compared && <dl>
        {node !== null && !comparison.value && <><dt>here, with what it calls</dt><dd>{percent(share(t.totalOf(node)))}</dd></>}
        <dt>everywhere</dt><dd>{percent(share(row?.total ?? 0))}</dd>
        <dt>itself</dt><dd>{percent(share(row?.self ?? 0))}</dd>
        {node !== null && top !== 0 && !comparison.value && <><dt>of what is zoomed into</dt><dd>{percent(t.totalOf(top) > 0 ? Math.min(1, t.totalOf(node) / t.totalOf(top)) : 0)}</dd></>}
        <dt>total{comparison.value ? " of new" : ""}</dt><dd>{amount(row?.total ?? 0, unit)}</dd>
      </dl>}
      {place === fn && !doc.compared && <><Sparkline place={place} />
        {near.value && <><h3>Called by</h3>{near.value.callers.slice(0, 5).map(([p, value]) => <div class="row"><span>{p === 0 ? "start of the thread" : <Name place={p} />}</span><b>{percent(share(value))}</b></div>)}
          <h3>Calls</h3>{near.value.callees.slice(0, 6).map(([p, value]) => <div class="row"><span><Name place={p} /></span><b>{percent(share(value))}</b></div>)}</>}</>}
    </aside>);
}

function Views() {
  const v = view.value;
  const path = [];
  for (let at = zoom.value < tree.value.count ? zoom.value : 0; at !== 0; at = tree.value.parent[at]) path.unshift(at);
  return (
    <>
      <nav role="tablist">{tabs.filter(hasTab).map((tab) => <button role="tab" aria-selected={v.tab === tab} title={`key ${keyOf(tab)}`} onClick={() => change({ tab })}>{tabNames[tab]}</button>)}
        <span class="options">
          {v.tab === "flame" && <><label><input type="checkbox" checked={v.inverted} onChange={() => { zoom.value = 0; change({ inverted: !v.inverted }); }} /> inverted</label>
            <label><input type="checkbox" checked={v.byThread} onChange={() => { zoom.value = 0; change({ byThread: !v.byThread }); }} /> by thread</label>
            <label><input type="checkbox" checked={v.up} onChange={() => change({ up: !v.up })} /> upwards</label>
            <label>order <select id="order" value={hasOrder(v) ? v.order : "size"} onChange={(event) => { zoom.value = 0; change({ order: event.currentTarget.value as typeof v.order }); }}>{orders.map((one) => <option value={one} disabled={one === "time" && !hasOrder(v)}>{one === "size" ? "largest left" : "in time"}</option>)}</select></label>
            {!v.base && <label>colour <select id="color" value={v.color} onChange={(event) => change({ color: event.currentTarget.value as typeof v.color })}>{colorings.map((one) => <option value={one} disabled={one === "thread" && (!v.byThread || v.inverted)}>{one === "self" ? "own share" : one}</option>)}</select></label>}
            <label>fold <select id="fold" value="" onChange={(event) => { if (event.currentTarget.value) toggleEdit(event.currentTarget.value); event.currentTarget.value = ""; }}><option value="">…</option>{wholeEdits.map((edit) => <option value={edit}>{v.edits.includes(edit) ? "✓ " : ""}{editNames[edit]}</option>)}</select></label></>}
          {v.tab === "flame" && v.base && <label>widths <select id="widths" value={v.widths} onChange={(event) => change({ widths: event.currentTarget.value as Widths })}>{widths.map((one) => <option value={one}>{one}</option>)}</select></label>}
          {doc.compared ? <b id="total">{figure(comparison.value!.whole.base, comparison.value!.unit)} → {figure(comparison.value!.whole.fresh, comparison.value!.unit)}</b> : <b id="total" data-total={taken.value.total}>{amount(taken.value.total, metric.value.unit)}</b>}{!doc.compared && taken.value.whole !== taken.value.total && <> of {amount(taken.value.whole, metric.value.unit)}</>}</span></nav>
      {v.tab === "flame" && path.length > 0 && <p class="crumbs"><button class="link" onClick={() => { zoom.value = 0; }}>all</button>{path.slice(-4).map((node) => <> › <button class="link" onClick={() => { zoom.value = node; }}>{foldGenerics(labelOf(doc, tree.value.place[node])).slice(-48)}</button></>)} <button onClick={() => { zoom.value = tree.value.parent[zoom.value]; }}>back (Esc)</button></p>}
      {v.base && <Compared />}
      <main class={v.tab === "flame" || v.tab === "top" ? "split" : ""}>
        {v.tab === "quality" ? <Quality /> : v.tab === "waits" ? <Waits /> : v.tab === "heap" ? <Heap /> : v.tab === "series" ? <SeriesTable />
          : tree.value.totalOf(0) <= 0 ? <p class="empty">Nothing of {metric.value.title} in this selection.</p>
          : v.tab === "flame" ? <Flame /> : v.tab === "tree" ? <TreeTable /> : v.tab === "modules" ? <Modules /> : v.tab === "callers" ? <Callers />
          : v.tab === "top" ? (v.base ? <ComparedTop name={(place) => <Name place={place} />} /> : <Top />)
          : v.base ? <ComparedThreads /> : <Threads />}
        {(v.tab === "flame" || v.tab === "top") && <Evidence />}
      </main>
    </>);
}

const matched = { value: null as ReturnType<typeof useMatches>["value"] };  // of the search, for keys

function Page() {
  useLayoutEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.localName === "input" || target.localName === "select") return;
      if (event.key === "/") { document.getElementById("search")!.focus(); event.preventDefault(); }
      else if (event.key >= "0" && event.key <= "9") { const tab = tabs.find((one) => keyOf(one) === event.key)!; if (hasTab(tab)) change({ tab }); }
      else if (event.key === "u") change({ up: !view.value.up });
      else if (event.key === "o" && hasOrder(view.value)) { zoom.value = 0; change({ order: view.value.order === "time" ? "size" : "time" }); }
      else if ((event.key === "n" || event.key === "p") && matched.value) goToMatch(matched.value.places, event.key === "n" ? 1 : -1);
      else if (event.key === "m" && view.value.fn !== null) toggleEdit(`merge:${doc.name[view.value.fn]}`);
      else if (event.key === "d" && view.value.fn !== null) { zoom.value = 0; change({ ignore: [...view.value.ignore, doc.name[view.value.fn]] }); }
      else if (event.key === "f" && view.value.fn !== null) { zoom.value = 0; change({ focus: [...view.value.focus, doc.name[view.value.fn]] }); }
      else if (event.key === "C" && view.value.fn !== null && doc.module[view.value.fn]) toggleEdit(`collapse:${doc.module[view.value.fn]}`);
      else if (event.key === "s" && view.value.fn !== null) { zoom.value = 0; showFrom(doc.name[view.value.fn]); }
      else if (event.key === "r") toggleEdit("recursion");
      else if (event.key === "y") toggleEdit("own");
      else if (event.key === "Y") toggleEdit("runtime");
      else if (event.key === "i") { zoom.value = 0; change({ inverted: !view.value.inverted }); }
      else if (event.key === "t") { zoom.value = 0; change({ byThread: !view.value.byThread }); }
      else if (event.key === "b" && !doc.compared) { if (view.value.base && !view.value.range) change({ base: null, range: view.value.base }); else makeBase(); }
      else if (event.key === "c") copy(command(view.value), command(view.value));
      else if (event.key === "Escape" && !event.defaultPrevented) {
        if (search.value) search.value = "";
        else if (zoom.value) zoom.value = tree.value.parent[Math.min(zoom.value, tree.value.count - 1)] ?? 0;
        else change({ fn: null });
      }
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  return (
    <>
      <Story />{!doc.compared && <Lanes />}<Bar /><Views />
      <div class="notice" role="status">{notice.value}</div>
    </>);
}

async function main() {
  const root = document.getElementById("app")!;
  try {
    // A comment: the place in a page that browsers read fastest.
    const data = document.getElementById("data")!, text = data.firstChild!.nodeValue!;
    data.textContent = "";  // it takes as much memory again as the decoded data
    start(readDocument(await unpack(text)));
    document.title = `${doc.head.words.headline.split(" · ")[0] || doc.head.target} – fathom`;
    root.textContent = "";
    render(<Page />, root);
    const asTree = () => ({ self: [...costsOf(tree.value).self], total: [...costsOf(tree.value).total], labels: [...tree.value.place].map((place) => labelOf(doc, place)) });
    Object.assign(window, { fathom: { report, compared, change, view, children, zoom, search, slices: doc.head.slices, tree: asTree, fitted } });
  } catch (error) {
    root.textContent = `fathom: the page cannot be shown: ${error instanceof Error ? error.message : error}`;
  }
}
void main();
