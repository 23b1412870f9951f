// Functions and threads as tables: what costs most, and who calls it.
import { useComputed, useSignal } from "@preact/signals";
import { frameActions, openMenu } from "./actions";
import { around, labelOf } from "./aggregate";
import { Code, hasCode } from "./code_view";
import { colorOf } from "./colors";
import { changeOf, ComparedCalls } from "./compare_view";
import { Name } from "./name_view";
import { ownersOf } from "./owners";
import { baseTree, change, doc, functions, metric, plainTree, search, taken, view } from "./state";
import { Kind, type FunctionRow } from "./types";
import { amount, cellOf, fileOf, groupPattern, percent, withCommas } from "./words";

export const share = (value: number) => taken.value.total > 0 ? value / taken.value.total : 0;

function Sort<Key extends string>({ by, name, text, left, go }: { by: Key; name: Key; text: string; left?: boolean; go: (name: Key) => void }) {
  return <th scope="col" class={left ? "left" : ""} aria-sort={by === name ? left ? "ascending" : "descending" : "none"}><button class="link" onClick={() => go(name)}>{text}{by === name ? left ? " ↑" : " ↓" : ""}</button></th>;
}
// Samples are random: in at most one of twenty cases the true value is further away than this. "" if every event was counted.
function errorOf(value: number): string {
  const { weight, unit } = metric.value;
  return weight > 0 && value > 0 ? `± ${cellOf(1.96 * Math.sqrt(value * weight), unit)}` : "";
}

type Column = "self" | "total" | "function" | "line" | "module";
const orders: Record<Column, (a: FunctionRow, b: FunctionRow) => number> = {
  self: (a, b) => b.self - a.self || b.total - a.total, total: (a, b) => b.total - a.total || b.self - a.self,
  function: (a, b) => doc.short[a.place].localeCompare(doc.short[b.place]),
  line: (a, b) => fileOf(doc, a.place).localeCompare(fileOf(doc, b.place)) || doc.line[a.place] - doc.line[b.place],
  module: (a, b) => doc.module[a.place].localeCompare(doc.module[b.place]) || b.self - a.self,
};

const lined = new WeakMap<object, boolean>();
function hasLines(): boolean {
  if (!lined.has(doc)) lined.set(doc, doc.line.some((line) => line > 0));
  return lined.get(doc)!;
}

export function Top() {
  const by = useSignal<Column>("self"), all = useSignal(false);
  const pattern = search.value.toLowerCase();
  const rows = useComputed(() => [...functions.value].sort(orders[by.value]));
  const found = rows.value.filter((row) => !pattern || doc.name[row.place].toLowerCase().includes(pattern));
  const shown = all.value ? found.slice(0, 5000) : found.slice(0, 100), { unit } = metric.value, go = (name: Column) => { by.value = name; };
  return (
    <div class="scroll">{!shown.length ? <p class="empty">No function's name has "{search.value}" in it. Press Escape to clear the search.</p> : <table id="top" class={hasLines() ? "functions" : "functions no-lines"}>
      <thead><tr><Sort by={by.value} name="self" text="self" go={go} /><th /><th class="wide error" title="95 % interval of the self cost">±</th><Sort by={by.value} name="total" text="total" go={go} /><th />
        <Sort by={by.value} name="function" text="function" left go={go} /><Sort by={by.value} name="line" text="line" left go={go} /><Sort by={by.value} name="module" text="module" left go={go} /></tr></thead>
      <tbody>{shown.map((row) => <tr class={view.value.fn === row.place ? "on" : ""} key={row.place}>
        <td>{cellOf(row.self, unit)}</td><td class="bar-cell" style={{ "--share": share(row.self) } as never}>{percent(share(row.self))}</td><td class="quiet wide">{errorOf(row.self)}</td>
        <td>{cellOf(row.total, unit)}</td><td class="bar-cell" style={{ "--share": share(row.total) } as never}>{percent(share(row.total))}</td>
        <td class="left function"><Name place={row.place} /></td><td class="left quiet file" title={doc.file[row.place]}>{fileOf(doc, row.place)}</td><td class="left quiet module" title={doc.module[row.place]}>{doc.module[row.place]}</td></tr>)}</tbody>
    </table>}
    {found.length > shown.length && <p><button onClick={() => { all.value = true; }}>showing {shown.length} of {withCommas(found.length)} functions: show more</button></p>}</div>);
}

// The function to which most of the cost belongs, of the program's own code if there is one.
export function hottest(): number | null {
  const rows = ownersOf(doc, taken.value);
  return (rows.find(([place]) => doc.kind[place] === Kind.code) ?? rows[0])?.[0] ?? null;
}

export function Callers() {
  const { unit } = metric.value, shown = useComputed(() => view.value.fn ?? hottest()), fn = shown.value;
  const facts = useComputed(() => shown.value === null ? null : around(doc, plainTree.value, shown.value));
  const old = useComputed(() => shown.value === null || !baseTree.value ? null : around(doc, baseTree.value, shown.value));
  if (fn === null || !facts.value) return <p class="empty">No function has a cost in this selection. Drop a chip above, or choose another time.</p>;
  const { self, total, callers, callees } = facts.value;
  const head = (
    <><div class="head"><h2><s style={{ background: colorOf(doc, fn) }} />{labelOf(doc, fn)}</h2> <button class="dots" aria-label={`menu of ${doc.short[fn]}`} title="menu (key .)" onClick={(event) => openMenu(fn, event.clientX, event.clientY)}>⋮</button></div>
      <p class="quiet">{[fileOf(doc, fn), doc.module[fn]].filter(Boolean).join(" · ")}{view.value.fn === null && " · the hottest function; choose another one under Top, or click a frame"}</p></>);
  const list = (rows: [number, number][], start: string) => rows.length === 0 ? <p class="quiet">Nothing.</p> : <table class="fill"><tbody>{rows.slice(0, 60).map(([place, value]) => <tr key={place}>
    <td>{cellOf(value, unit)}</td><td class="bar-cell" style={{ "--share": total > 0 ? value / total : 0 } as never}>{percent(total > 0 ? value / total : 0)}</td>
    <td class="left function">{place === 0 ? start : <Name place={place} />}</td></tr>)}</tbody></table>;
  if (old.value) return (
    <div class="scroll callers">{head}{changeOf(fn)}
      <div class="two"><div><h3>Called by</h3><ComparedCalls base={old.value.callers} fresh={callers} name={(place) => place === 0 ? "the start of the thread" : <Name place={place} />} /></div>
        <div><h3>Calls</h3><ComparedCalls base={old.value.callees} fresh={callees} name={(place) => <Name place={place} />} /></div></div>
    </div>);
  const actions = frameActions(fn, hasCode()), crate = doc.crate[fn], module = doc.module[fn];
  return (
    <div class="scroll callers">{head}
      {total > 0 ? <p><b>{amount(total, unit)}</b> with what it calls, {percent(share(total))} of the selection; <b>{amount(self, unit)}</b> itself, {percent(share(self))}.</p> : <p>It has no cost in this selection.</p>}
      <p class="buttons">{actions.slice(0, 4).map(({ text, key, hint, does }) => <button title={`${hint} (key ${key})`} onClick={does}>{text}</button>)}
        {module && <button title="only stacks with its code" onClick={() => change({ focus: [...view.value.focus, groupPattern("module", module, doc.modules)] })}>only module {module}</button>}{crate && <button title="only stacks with its code" onClick={() => change({ focus: [...view.value.focus, groupPattern("crate", crate, doc.crate)] })}>only crate {crate}</button>}</p>
      <div class="two"><div><h3>Called by</h3>{list(callers, "the start of the thread")}</div><div><h3>Calls</h3>{list(callees, "")}{self > 0 && <p class="quiet">and {amount(self, unit)} in itself</p>}</div></div>
      {hasCode() && <Code fn={fn} key={fn} />}
    </div>);
}

export function Threads() {
  const rows = useComputed(() => {
    const values = new Float64Array(doc.head.threads.length), { cells, values: of } = taken.value;
    for (let i = 0; i < of.length; i++) values[cells.thread[i]] += of[i];
    return [...values].map((value, i) => ({ value, i })).filter((row) => row.value > 0).sort((a, b) => b.value - a.value);
  });
  return (
    <div class="scroll"><table id="threads"><thead><tr><th scope="col">total</th><th /><th class="wide" title="95 % interval">±</th><th scope="col">threads</th><th scope="col" class="left">name</th></tr></thead>
      <tbody>{rows.value.map(({ value, i }) => <tr key={i} class={view.value.thread === doc.head.threads[i].name ? "on" : ""}><td>{cellOf(value, metric.value.unit)}</td><td class="bar-cell" style={{ "--share": share(value) } as never}>{percent(share(value))}</td><td class="quiet wide">{errorOf(value)}</td>
        <td>{doc.head.threads[i].threads || ""}</td><td class="left"><button class="link name" title="only threads of this name" onClick={() => change({ thread: doc.head.threads[i].name })}>{doc.head.threads[i].name}</button></td></tr>)}</tbody></table></div>);
}
