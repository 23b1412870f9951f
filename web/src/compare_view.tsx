// The differences between two times: a sentence, functions and threads by their change, and the noise behind a button.
import type { ComponentChildren } from "preact";
import { useComputed, useSignal } from "@preact/signals";
import { changeColor } from "./colors";
import { foldGenerics } from "./names";
import { change, comparison, doc, metric, search, view } from "./state";
import type { Change, Comparison } from "./types";
import { figure, ofBase, secondsText, whereOf, withCommas } from "./words";

const perWords: Partial<Record<Comparison["unit"], string>> = {
  cores: "per second, where 100 % is one core", threads: "per second, where 100 % is one thread", share: "as a share of its time", bytes: "at the end of each time",
  "bytes per second": "per second", "per second": "per second",
};
const moved = (c: Comparison, of: Change) => of.base <= 0 ? `is new with ${figure(of.fresh, c.unit)}` : of.fresh <= 0 ? `is gone (${figure(of.base, c.unit)} before)` : `went from ${range(c, of)}`;
const range = (c: Comparison, of: Change) => `${figure(of.base, c.unit)} to ${figure(of.fresh, c.unit)}${of.base > 0 && of.fresh > 0 ? ` (${ofBase(of)})` : ""}`;
const byChange = (a: Change, b: Change) => Math.abs(b.change) - Math.abs(a.change);

export const DiffLegend = () => <span class="diff-legend"><s style={{ background: changeColor(1, 0, true) }} />less, gone<s style={{ background: changeColor(0, 1, true) }} />more, new<s style={{ background: changeColor(1, 1, false) }} />noise</span>;

// One line; a click shows all of it.
function Folded({ children }: { children: ComponentChildren }) {
  const open = useSignal(false), turn = () => { open.value = !open.value; };
  return <p class="compared" id="compared" role="button" tabIndex={0} title={open.value ? "" : "click for all of it"} aria-expanded={open.value} onClick={turn} onKeyDown={(event) => { if (event.key === "Enter") turn(); }}>{children}</p>;
}

// For two recordings, fathom has computed the comparison.
function ComparedFiles() {
  const { compared } = metric.value, v = view.value;
  if (!compared) return null;
  const narrowed = v.focus.length > 0 || v.ignore.length > 0 || v.thread !== null;
  return (
    <Folded><b>{compared.headline}</b>{compared.doubts.length > 0 && ` Doubtful: ${compared.doubts.map((doubt) => doubt.replace(/\.$/, "")).join("; ")}.`}
      {" "}<span class="quiet">{compared.legend}{narrowed && " The picture is of the chosen stacks alone; figures of functions and what is noise are of all stacks."}</span></Folded>);
}

export function Compared() {
  if (doc.compared) return <ComparedFiles />;
  const c = comparison.value!, { head } = doc, [from, to] = view.value.range ?? [0, head.slices];
  const time = (a: number, b: number) => `${secondsText(a * head.slice_ms)} – ${secondsText(b * head.slice_ms)} s`;
  const changed = [...c.functions.values()].filter((row) => row.self.beyondNoise).sort((a, b) => byChange(a.self, b.self));
  const name = (row: { place: number }) => foldGenerics(doc.name[row.place]);
  const parts = changed.slice(0, 2).map((row) => `${name(row)} ${moved(c, row.self)}`);
  return (
    <Folded><b>{metric.value.title} {c.whole.beyondNoise ? `${moved(c, c.whole)}.` : c.unit === "share" ? "is compared by its parts." : `is the same within noise (${range(c, c.whole)}).`}</b>
      {" "}{parts.length ? `${parts.join("; ")}${changed.length > 2 ? `; ${withCommas(changed.length - 2)} more changed by more than noise` : ""}.` : c.whole.beyondNoise ? "No function alone changed by more than noise." : "No part changed by more than noise."}
      {" "}<span class="quiet">From {time(...view.value.base!)} to {time(from, to)}, {perWords[c.unit]}; ± holds with 95 % certainty for all {withCommas(c.lookedAt)} figures together.</span></Folded>);
}

export function changeOf(place: number) {
  const c = comparison.value!, row = c.functions.get(place);
  if (!row) return <p class="quiet">on neither side</p>;
  const line = (word: string, of: Change) => <><dt>{word}</dt><dd>{figure(of.base, c.unit)} → {figure(of.fresh, c.unit)}</dd><dt class="quiet">{of.beyondNoise ? ofBase(of) : "no more than noise"}</dt><dd class="quiet">{figure(of.change, c.unit, of.error, true)} ± {figure(of.error, c.unit)}</dd></>;
  return <dl>{line("everywhere", row.total)}{line("itself", row.self)}</dl>;
}

function Cells({ of }: { of: Change }) {
  const c = comparison.value!;
  return <><td>{figure(of.base, c.unit)}</td><td>{figure(of.fresh, c.unit)}</td><td style={{ boxShadow: `inset 4px 0 ${changeColor(of.base, of.fresh, of.beyondNoise)}` }}>{figure(of.change, c.unit, of.error, true)} ± {figure(of.error, c.unit)}</td><td>{of.beyondNoise ? ofBase(of) : "noise"}</td></>;
}

export function ComparedTop({ name }: { name: (place: number) => ComponentChildren }) {
  const by = useSignal<"self" | "total">("self"), noise = useSignal(false), most = useSignal(200);
  const rows = useComputed(() => [...comparison.value!.functions.values()].sort((a, b) => byChange(a[by.value], b[by.value])));
  const pattern = search.value.toLowerCase();
  const found = rows.value.filter((row) => !pattern || doc.name[row.place].toLowerCase().includes(pattern));
  const changed = found.filter((row) => row[by.value].beyondNoise), shown = noise.value ? found : changed;
  return (
    <div class="scroll">
      <p class="by">{(["self", "total"] as const).map((one) => <label><input type="radio" name="by" checked={by.value === one} onChange={() => { by.value = one; }} /> {one === "self" ? "by itself" : "with all that it calls"} </label>)}</p>
      {shown.length === 0 ? <p class="empty">No function changed by more than noise.</p> : <table id="top" class="fill"><thead><tr><th>base</th><th>new</th><th>change ± error</th><th>of base</th><th class="left">function</th><th class="left wide">where</th></tr></thead>
        <tbody>{shown.slice(0, most.value).map((row) => <tr key={row.place} class={row[by.value].beyondNoise ? view.value.fn === row.place ? "on" : "" : "noise"}><Cells of={row[by.value]} /><td class="left function">{name(row.place)}</td><td class="left quiet wide" title={whereOf(doc, row.place)}>{whereOf(doc, row.place)}</td></tr>)}</tbody></table>}
      {shown.length > most.value && <p><button onClick={() => { most.value = 5000; }}>showing {most.value} of {withCommas(shown.length)}: show more</button></p>}
      {found.length > changed.length && <p><button id="noise" onClick={() => { noise.value = !noise.value; }}>{noise.value ? "leave out" : "show"} the {withCommas(found.length - changed.length)} that differ by no more than noise</button></p>}
    </div>);
}

// Callers or callees: their share of the function at both times. They are not judged: their function is.
export function ComparedCalls({ base, fresh, name }: { base: [number, number][]; fresh: [number, number][]; name: (place: number) => ComponentChildren }) {
  const c = comparison.value!, rows = new Map<number, [number, number]>();
  for (const [place, value] of base) rows.set(place, [value * c.factors[0], 0]);
  for (const [place, value] of fresh) rows.set(place, [rows.get(place)?.[0] ?? 0, value * c.factors[1]]);
  const sorted = [...rows].sort((a, b) => Math.max(...b[1]) - Math.max(...a[1])).slice(0, 60);
  return <table class="fill"><tbody>{sorted.map(([place, [old, now]]) => <tr key={place}><td>{figure(old, c.unit)}</td><td>→ {figure(now, c.unit)}</td><td class="left function">{name(place)}</td></tr>)}</tbody></table>;
}

export function ComparedThreads() {
  const rows = useComputed(() => [...comparison.value!.threads].sort((a, b) => byChange(a[1], b[1])));
  return (
    <div class="scroll"><table><thead><tr><th>base</th><th>new</th><th>change ± error</th><th>of base</th><th>threads</th><th class="left">name</th></tr></thead>
      <tbody>{rows.value.map(([i, of]) => <tr key={i} class={of.beyondNoise ? "" : "noise"}><Cells of={of} /><td>{doc.head.threads[i].threads || ""}</td>
        <td class="left"><button class="link name" onClick={() => change({ thread: doc.head.threads[i].name })}>{doc.head.threads[i].name}</button></td></tr>)}</tbody></table></div>);
}
