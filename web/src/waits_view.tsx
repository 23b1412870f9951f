// What threads waited for in the selection: by cause, the longest single waits, by lock, by file, and by the thread that caused
// them in the end.
import { computed, useComputed } from "@preact/signals";
import { waiterOf } from "./owners";
import { cellValuesOf, take, takenNodes } from "./aggregate";
import { byThread, chainOf } from "./chains";
import { causeColor } from "./cause_colors";
import { change, doc, ignoreFor, selection, view, waitLists } from "./state";
import { Kind, WaitedFor, Whose, type Hop } from "./types";
import { amount, causeText, causeWords, percent, seconds, withCommas } from "./words";

interface Cause { place: number; value: number; threads: Set<number>; inside: Map<number, number> }

const ignored = () => view.value.metric === "off-cpu" ? selection.value.ignore : ignoreFor("off-cpu", selection.value.ignore);
const show = (focus: string[]) => change({ metric: "off-cpu", ignore: ignoreFor("off-cpu", view.value.ignore), focus, tab: "flame" });
const causeName = (node: number) => doc.kind[doc.place[node]] === Kind.cause ? causeText(doc.name[doc.place[node]]) : "an unknown cause";
const threadName = (row: number) => row ? doc.head.threads[row - 1].name : "";

function Site({ node, self = false }: { node: number; self?: boolean }) {
  const place = self && doc.kind[doc.place[node]] === Kind.code && doc.whose[doc.place[node]] !== Whose.runtime ? doc.place[node] : waiterOf(doc, node);
  return place ? <button class="link name" title={`${doc.name[place]}: its waits`} onClick={() => show([doc.name[place]])}>{doc.short[place]}</button> : <span class="quiet">no stack</span>;
}

const threads = computed(() => byThread(doc));
// Rows of single waits in the selection: those that began in its time.
const chosen = computed(() => {
  const { from, to, thread, focus } = selection.value, width = doc.head.slice_ms * 1e6, { waits } = doc, nodes = takenNodes(doc, focus, ignored());
  const rows = [];
  for (let i = 0; i < waits.start.length; i++) {
    const end = waits.start[i] + waits.waited[i];
    if (end <= from * width || to < doc.head.slices && waits.start[i] >= to * width || !nodes[waits.node[i]]) continue;
    if (thread === null || threadName(waits.thread[i]) === thread) rows.push(i);
  }
  return rows.sort((a, b) => waits.waited[b] - waits.waited[a] || a - b);
});

const at = (row: number) => `${(doc.waits.start[row] / 1e9).toFixed(3)} s`;
function Who({ name, tid }: { name: string; tid: number }) { return <><button class="link name" title="only threads of this name" onClick={() => change({ thread: name })}>{name}</button> <span class="quiet">{tid}</span></>; }

// A wait, and for each hop the thread that ended it and what that thread waited for in the meantime.
function Chain({ first }: { first: number }) {
  const { waits } = doc, hops: Hop[] = chainOf(doc, threads.value, first), last = hops[hops.length - 1];
  return (
    <section class="chain" aria-label="Who ended the wait"><h3>From {at(first)}: who ended it <button class="link" onClick={() => change({ wait: null })}>close</button></h3>
      <ol>{hops.map(({ row, ns, waker, wakerTid }, i) => <li>
        <Who name={threadName(waits.thread[row])} tid={waits.tid[row]} /> waited {seconds(ns / 1e9)} for <b>{causeName(waits.node[row])}</b>{waits.object[row] > 0 && <> ({doc.head.waits.objects[waits.object[row]].name})</>} in <Site node={waits.node[row]} />
        {waker > 0 && <><br />← ended by <Who name={threadName(waker)} tid={wakerTid} />{waits.wakerNode[row] > 0 && <>, which was in <Site node={waits.wakerNode[row]} self /></>}{i + 1 < hops.length && ", which had waited itself:"}</>}
      </li>)}</ol>
      {!last.waker ? <p class="quiet">The last wait was ended by a timer, a disk, the network, or a thread that is unknown.</p>
        : hops.some(({ row }) => waits.tid[row] === last.wakerTid) ? <p class="quiet">It waited for a thread further up in this list.</p> : <p class="quiet">That thread waited for less than a third of this time.</p>}
    </section>);
}

function Longest() {
  const { waits } = doc, rows = chosen.value.slice(0, 200), { shorter } = doc.head.waits;
  if (!rows.length) return <p class="empty">No single wait lies in this selection. Choose a longer time, or drop a chip above.</p>;
  return (<>
    {view.value.wait !== null && <Chain first={view.value.wait} />}
    <table id="longest"><thead><tr><th>waited</th><th>from</th><th class="left">thread</th><th class="left">for</th><th class="left">in</th><th class="left">ended by</th></tr></thead>
      <tbody>{rows.map((row) => <tr key={row} class={view.value.wait === row ? "on" : ""}>
        <td><button class="link" title="who ended it" aria-expanded={view.value.wait === row} onClick={() => change({ wait: view.value.wait === row ? null : row })}>{seconds(waits.waited[row] / 1e9)}</button></td><td>{at(row)}</td><td class="left"><Who name={threadName(waits.thread[row])} tid={waits.tid[row]} /></td>
        <td class="left">{causeName(waits.node[row])} <span class="quiet">{waits.object[row] > 0 && doc.head.waits.objects[waits.object[row]].name}</span></td><td class="left"><Site node={waits.node[row]} /></td>
        <td class="left">{waits.waker[row] ? <Who name={threadName(waits.waker[row])} tid={waits.wakerTid[row]} /> : ""}</td></tr>)}</tbody></table>
    <p class="quiet">{rows.length < chosen.value.length && `The longest ${rows.length} of ${withCommas(chosen.value.length)}. `}{shorter > 0 && `${withCommas(shorter)} shorter waits are in all sums, and not here one by one.`} Each is as long as it was, also where the selection cuts it.</p></>);
}

interface Chained { first: number; hops: Hop[]; count: number; value: number }
function Chains() {
  const rows = useComputed(() => {
    const shapes = new Map<string, Chained>(), { waits } = doc;
    for (const row of chosen.value.filter((i) => waits.waker[i] && waits.waited[i] >= 100_000).slice(0, 2000)) {
      const hops = chainOf(doc, threads.value, row);
      if (hops.length < 2) continue;
      const key = hops.map((hop) => `${waits.thread[hop.row]} ${waits.node[hop.row]}`).join();
      const known = shapes.get(key);
      if (known) { known.count += waits.weight[row]; known.value += waits.waited[row] * waits.weight[row]; }
      else shapes.set(key, { first: row, hops, count: waits.weight[row], value: waits.waited[row] * waits.weight[row] });
    }
    return [...shapes.values()].sort((a, b) => b.value - a.value).slice(0, 100);
  });
  if (!rows.value.length) return <p class="empty">No wait in this selection was ended by a thread that had itself waited. Choose a longer time, or see the longest waits.</p>;
  return (<>
    {view.value.wait !== null && <Chain first={view.value.wait} />}
    <table id="chains"><thead><tr><th>waited</th><th>waits</th><th class="left">who waited for whom</th></tr></thead><tbody>{rows.value.map(({ first, hops, count, value }) => <tr key={first} class={view.value.wait === first ? "on" : ""}>
      <td><button class="link" onClick={() => change({ wait: view.value.wait === first ? null : first })}>{seconds(value / 1e9)}</button></td><td>{withCommas(count)}</td>
      <td class="left">{hops.map((hop, i) => <>{i > 0 && <span class="quiet"> ← </span>}{threadName(doc.waits.thread[hop.row])} <span class="quiet">{causeName(doc.waits.node[hop.row])} in</span> <Site node={doc.waits.node[hop.row]} /></>)}{hops[hops.length - 1].waker > 0 && <><span class="quiet"> ← </span>{threadName(hops[hops.length - 1].waker)}</>}</td></tr>)}</tbody></table></>);
}

// Locks or files: all waits for them in the selection, including the short ones.
function Objects({ kind }: { kind: WaitedFor }) {
  const rows = useComputed(() => {
    const { from, to, focus } = selection.value, cells = doc.byObject, values = cellValuesOf(cells, from, to), nodes = takenNodes(doc, focus, ignored());
    const out = new Map<number, { value: number; inside: Map<number, number>; causes: Map<number, number> }>();
    for (let i = 0; i < values.length; i++) {
      if (!values[i] || !nodes[cells.node[i]] || doc.head.waits.objects[cells.thread[i]].kind !== kind) continue;
      let row = out.get(cells.thread[i]);
      if (!row) out.set(cells.thread[i], (row = { value: 0, inside: new Map(), causes: new Map() }));
      row.value += values[i];
      const waiter = waiterOf(doc, cells.node[i]), cause = doc.place[cells.node[i]];
      row.inside.set(waiter, (row.inside.get(waiter) ?? 0) + values[i]);
      row.causes.set(cause, (row.causes.get(cause) ?? 0) + values[i]);
    }
    return [...out].map(([object, row]) => ({ object, ...row })).sort((a, b) => b.value - a.value);
  });
  const what = kind === WaitedFor.lock ? "lock" : "file";
  if (!rows.value.length) return <p class="empty">No wait for a known {what} in this selection. Choose a longer time, or see all causes.</p>;
  const most = rows.value[0].value;
  return (<>
    <table id={`${what}s`}><thead><tr><th>waited</th><th /><th class="left">{what}</th><th class="left">by</th><th class="left">mostly in</th></tr></thead><tbody>{rows.value.slice(0, 200).map(({ object, value, inside, causes }) => <tr key={object}>
      <td>{seconds(value / 1e9)}</td><td class="bar-cell" style={{ "--share": value / most } as never} /><td class="left name">{doc.head.waits.objects[object].name}</td>
      <td class="left">{[...causes].sort((a, b) => b[1] - a[1]).slice(0, 2).map(([place]) => causeText(doc.name[place])).join(", ")}</td>
      <td class="left">{[...inside].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([place, part], i) => place ? <>{i > 0 && ", "}<button class="link name" title={doc.name[place]} onClick={() => show([doc.name[place]])}>{doc.short[place]}</button> <span class="quiet">{percent(part / value)}</span></> : "")}</td></tr>)}</tbody></table>
    {view.value.thread !== null && <p class="quiet">These are waits of all threads: objects are not known per thread.</p>}</>);
}

const listNames = { causes: "by cause", longest: "longest", locks: "locks", files: "files and peers", chains: "chains" };
export function Waits() {
  const of = view.value.waits;
  return (
    <div class="scroll"><p class="lists" role="group" aria-label="Waits">{waitLists.map((list) => <button class="link" aria-pressed={of === list} onClick={() => change({ waits: list, wait: null })}>{listNames[list]}</button>)}</p>
      {of === "longest" ? <Longest /> : of === "chains" ? <Chains /> : of === "causes" ? <Causes /> : <Objects kind={of === "locks" ? WaitedFor.lock : WaitedFor.file} />}</div>);
}

function Causes() {
  const rows = useComputed(() => {
    const of = take(doc, { ...selection.value, metric: "off-cpu", ignore: ignored() });
    const causes = new Map<number, Cause>();
    for (let i = 0; i < of.values.length; i++) {
      const value = of.values[i], node = of.cells.node[i], place = doc.place[node];
      if (value === 0) continue;
      const key = doc.kind[place] === Kind.cause || doc.kind[place] === Kind.idle ? place : 0;
      let row = causes.get(key);
      if (!row) causes.set(key, (row = { place: key, value: 0, threads: new Set(), inside: new Map() }));
      row.value += value;
      row.threads.add(of.cells.thread[i]);
      const waiter = waiterOf(doc, key ? node : 0);
      if (waiter) row.inside.set(waiter, (row.inside.get(waiter) ?? 0) + value);
    }
    return { total: of.total, causes: [...causes.values()].sort((a, b) => b.value - a.value) };
  });
  if (!rows.value.causes.length) return <p class="empty">{doc.costs.has("off-cpu") ? "Nothing waited in this selection. Choose a longer time, or drop a chip above." : "This recording has no waits. Record them with: fathom record --off-cpu"}</p>;
  const { total } = rows.value;
  return (
    <table id="waits"><thead><tr><th>waited</th><th /><th title="names of threads that waited">threads</th><th class="left">for</th><th class="left">mostly in</th></tr></thead>
      <tbody>{rows.value.causes.map((row) => {
        const name = row.place ? doc.name[row.place] : "an unknown cause", inside = [...row.inside].sort((a, b) => b[1] - a[1]);
        return <tr key={row.place}><td>{amount(row.value, "ns")}</td><td class="bar-cell" style={{ "--share": total > 0 ? row.value / total : 0 } as never}>{percent(total > 0 ? row.value / total : 0)}</td><td>{row.threads.size}</td>
          <td class="left cause">{row.place ? <><s style={{ background: causeColor(causeText(name)) }} /><button class="link name" title={`${causeWords(name)}: its flame graph`} onClick={() => show([name])}>{causeText(name)}</button></> : name}</td>
          <td class="left">{inside.slice(0, 3).map(([place, value], i) => <>{i > 0 && ", "}<button class="link name" title={`${doc.name[place]}: ${amount(value, "ns")}`} onClick={() => show([doc.name[place]])}>{doc.short[place]}</button> <span class="quiet">{percent(value / row.value)}</span></>)}{inside.length > 3 && <span class="quiet"> and {inside.length - 3} more</span>}</td></tr>;
      })}</tbody></table>);
}
