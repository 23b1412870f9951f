// What threads waited for in the selection, and in which code: a table by cause.
import { useComputed } from "@preact/signals";
import { take } from "./aggregate";
import { Kind } from "./document";
import { change, doc, ignoreFor, selection, view } from "./state";
import { amount, colorOf, foldGenerics, percent } from "./words";

interface Cause { place: number; value: number; threads: Set<number>; inside: Map<number, number> }

// The nearest function of the program's own code above a wait; else whatever is nearest. 0: there is none.
function waiterOf(node: number): number {
  let nearest = 0;
  for (let at = doc.parent[node]; at !== 0; at = doc.parent[at]) {
    const place = doc.place[at];
    if (doc.kind[place] === Kind.code) return place;
    if (!nearest && doc.kind[place] !== Kind.cause) nearest = place;
  }
  return nearest;
}

export function Waits() {
  const rows = useComputed(() => {
    const of = take(doc, { ...selection.value, metric: "off-cpu", ignore: view.value.metric === "off-cpu" ? selection.value.ignore : ignoreFor("off-cpu", selection.value.ignore) });
    const causes = new Map<number, Cause>();
    for (let i = 0; i < of.values.length; i++) {
      const value = of.values[i], node = of.cells.node[i], place = doc.place[node];
      if (value === 0) continue;
      const key = doc.kind[place] === Kind.cause || doc.kind[place] === Kind.idle ? place : 0;
      let row = causes.get(key);
      if (!row) causes.set(key, (row = { place: key, value: 0, threads: new Set(), inside: new Map() }));
      row.value += value;
      row.threads.add(of.cells.thread[i]);
      const waiter = waiterOf(key ? node : 0);
      if (waiter) row.inside.set(waiter, (row.inside.get(waiter) ?? 0) + value);
    }
    return { total: of.total, causes: [...causes.values()].sort((a, b) => b.value - a.value) };
  });
  if (!rows.value.causes.length) return <p class="empty">Nothing waited in this selection.</p>;
  const { total } = rows.value;
  const show = (focus: string[]) => change({ metric: "off-cpu", ignore: ignoreFor("off-cpu", view.value.ignore), focus, tab: "flame" });
  return (
    <div class="scroll"><table id="waits"><thead><tr><th>waited</th><th /><th>names of threads</th><th class="left">for</th><th class="left">mostly in</th></tr></thead>
      <tbody>{rows.value.causes.map((row) => {
        const name = row.place ? doc.name[row.place] : "a cause that is not known", inside = [...row.inside].sort((a, b) => b[1] - a[1]);
        return <tr key={row.place}><td>{amount(row.value, "ns")}</td><td class="bar-cell" style={{ "--share": total > 0 ? row.value / total : 0 } as never}>{percent(total > 0 ? row.value / total : 0)}</td><td>{row.threads.size}</td>
          <td class="left">{row.place ? <><s style={{ background: colorOf(doc, row.place) }} /><button class="link name" title="its flame graph" onClick={() => show([name])}>{name.replace(/^\[(wait: )?|\]$/g, "")}</button></> : name}</td>
          <td class="left">{inside.slice(0, 3).map(([place, value], i) => <>{i > 0 && ", "}<button class="link name" title={`${doc.name[place]}: ${amount(value, "ns")}`} onClick={() => show([doc.name[place]])}>{foldGenerics(doc.name[place])}</button> <span class="quiet">{percent(value / row.value)}</span></>)}{inside.length > 3 && <span class="quiet"> and {inside.length - 3} more</span>}</td></tr>;
      })}</tbody></table></div>);
}
