// The call tree as rows that open: the same tree as the flame graph, for reading and for screen readers.
import { useSignal } from "@preact/signals";
import { labelOf } from "./aggregate";
import { colorOf } from "./colors";
import { Short } from "./name_view";
import { change, children, doc, metric, tree, view } from "./state";
import { cellOf, percent, whereOf } from "./words";

const indented = (depth: number) => ({ paddingLeft: `min(8px + ${depth} * var(--step), 30vw)` });
const most = 40;  // children of a call shown until all are requested

export function TreeTable() {
  const t = tree.value, kids = children.value, { unit } = metric.value;
  // By node: 1 if the user opened it, 2 if all of its callees are shown. At first the path to the largest part is open.
  const opened = useSignal<Map<number, 1 | 2>>(new Map()), built = useSignal<typeof t | null>(null), at = useSignal(0);
  // Another selection has the same calls: opened rows stay open.
  if (built.peek()?.parent !== t.parent) {
    const way = new Map<number, 1 | 2>([[0, 1]]);
    for (let node = 0; kids.of(node).length > 0;) {
      const next = kids.of(node)[0];
      if (t.totalOf(next) < 0.5 * t.totalOf(node)) break;
      way.set(next, 1);
      node = next;
    }
    built.value = t;
    opened.value = way;
    at.value = 0;
  }
  if (!opened.value.size) opened.value = new Map([[0, 1]]);
  const rows: { node: number; depth: number; left: number }[] = [];
  const put = (node: number, depth: number) => {
    rows.push({ node, depth, left: 0 });
    const how = opened.value.get(node);
    if (!how || rows.length > 3000) return;
    const called = kids.of(node), shown = how === 2 ? called.length : Math.min(called.length, most);
    for (let i = 0; i < shown; i++) put(called[i], depth + 1);
    if (shown < called.length) rows.push({ node, depth: depth + 1, left: called.length - shown });
  };
  put(0, 0);
  const set = (node: number, how: 0 | 1 | 2) => {
    const next = new Map(opened.value);
    if (how) next.set(node, how); else next.delete(node);
    opened.value = next;
  };
  const has = (node: number) => kids.of(node).length > 0;
  const keys = (event: KeyboardEvent) => {
    const row = Math.max(0, rows.findIndex(({ node, left }) => node === at.value && !left)), { node } = rows[row];
    if (event.key === "ArrowDown") at.value = rows.slice(row + 1).find(({ left }) => !left)?.node ?? node;
    else if (event.key === "ArrowUp") at.value = rows.slice(0, row).reverse().find(({ left }) => !left)?.node ?? node;
    else if (event.key === "ArrowRight") { if (has(node) && !opened.value.has(node)) set(node, 1); else if (has(node)) at.value = kids.of(node)[0]; }
    else if (event.key === "ArrowLeft") { if (opened.value.has(node)) set(node, 0); else at.value = t.parent[node]; }
    else if (event.key === "Enter") { const place = t.place[node]; if (place > 0 && place < doc.places) change({ fn: place, tab: "callers" }); }
    else return;
    event.preventDefault();
    queueMicrotask(() => document.querySelector("#tree tr.on")?.scrollIntoView({ block: "nearest" }));
  };
  return (
    <div class="scroll"><table id="tree" class="fill" role="treegrid" tabIndex={0} aria-label="Tree of calls. Arrow keys move, right opens, left closes, Enter shows callers." onKeyDown={keys}>
      <thead><tr><th>total</th><th /><th>self</th><th class="left">call</th><th class="left wide">where</th></tr></thead>
      <tbody>{rows.map(({ node, depth, left }) => left
        ? <tr key={`rest${node}`}><td /><td /><td /><td class="left" style={indented(depth)}><button class="link" onClick={() => set(node, 2)}>{left} more</button></td><td class="wide" /></tr>
        : <tr key={node} role="row" aria-level={depth + 1} aria-expanded={has(node) ? opened.value.has(node) : undefined} aria-selected={at.value === node} class={at.value === node || view.value.fn === t.place[node] && node !== 0 ? "on" : ""} onClick={() => { at.value = node; }}>
          <td>{cellOf(t.totalOf(node), unit)}</td><td class="bar-cell" style={{ "--share": t.totalOf(node) / t.totalOf(0) } as never}>{percent(t.totalOf(node) / t.totalOf(0))}</td><td>{t.selfOf(node) > 0 ? cellOf(t.selfOf(node), unit) : ""}</td>
          <td class="left function" style={indented(depth)}><span class="named">{has(node) ? <button class="link twist" tabIndex={-1} aria-label={opened.value.has(node) ? "close" : "open"} onClick={() => set(node, opened.value.has(node) ? 0 : 1)}>{opened.value.has(node) ? "▾" : "▸"}</button> : <span class="twist" />}
            <s style={{ background: colorOf(doc, t.place[node]) }} /><span class="name" title={labelOf(doc, t.place[node])}><Short text={labelOf(doc, t.place[node])} /></span></span></td><td class="left quiet wide" title={whereOf(doc, t.place[node])}>{whereOf(doc, t.place[node])}</td></tr>)}</tbody></table></div>);
}
