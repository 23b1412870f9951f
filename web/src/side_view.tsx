// Next to the graph: the function that is pointed at or selected, its numbers, its course, its callers and callees. Without one, the
// hottest functions.
import { useComputed } from "@preact/signals";
import { openMenu } from "./actions";
import { around, cellsOf, labelOf, nodesWith, overTime, together } from "./aggregate";
import { changeOf } from "./compare_view";
import { share } from "./functions_view";
import { Name, Short } from "./name_view";
import { ownersOf } from "./owners";
import { change, comparison, doc, functionOf, hovered, metric, plainTree, taken, tree, view, zoom } from "./state";
import { amount, figure, ofBase, percent, whereOf } from "./words";

function Sparkline({ place }: { place: number }) {
  const v = view.value, on = nodesWith(doc, place), cells = cellsOf(doc, v.metric);
  const values = overTime(doc, v.metric, together(doc, 120), 1, (cell) => on[cells.node[cell]] ? 0 : -1)[0];
  const most = Math.max(...values);
  if (!(most > 0) || values.length < 2) return null;
  const points = [...values].map((value, i) => `${i / (values.length - 1) * 100},${30 - value / most * 28}`).join(" ");
  return <svg class="spark" viewBox="0 0 100 31" preserveAspectRatio="none" role="img" aria-label="its cost over time"><polyline points={points} fill="none" stroke="var(--accent)" stroke-width="1.2" vector-effect="non-scaling-stroke" /></svg>;
}

const most = 12;
function Hottest() {
  const c = comparison.value, to = (fn: number) => () => change({ fn });
  if (c) {
    const rows = [...c.functions.values()].filter(({ self }) => self.beyondNoise).sort((a, b) => Math.abs(b.self.change) - Math.abs(a.self.change)).slice(0, most);
    return (
      <><h2>What changed most</h2>{rows.length ? rows.map(({ place, self }) => <div class="row" key={place}><span><Name place={place} to={to(place)} brief /></span><b title={`${figure(self.base, c.unit)} → ${figure(self.fresh, c.unit)}, ${ofBase(self)}`}>{figure(self.change, c.unit, self.error, true)} ± {figure(self.error, c.unit)}</b></div>) : <p>No function changed by more than noise.</p>}
        {rows.length > 0 && <p><button class="link" onClick={() => change({ tab: "top" })}>all changes, with their intervals</button></p>}</>);
  }
  const { metric: of } = taken.value, rows = ownersOf(doc, taken.value).slice(0, most);
  return <><h2>{of === "off-cpu" ? "Where it waits" : doc.costs.has(of) ? "Hottest functions" : "Which code allocates it"}</h2>{rows.map(([place, value]) => <div class="row" key={place}><span><Name place={place} to={to(place)} brief /></span><b>{percent(share(value))}</b></div>)}</>;
}

export function Side() {
  const pointed = hovered.value, { fn } = view.value, { unit } = metric.value, t = tree.value;
  const place = pointed && pointed.place > 0 && pointed.place < doc.places ? pointed.place : fn;
  const node = pointed && pointed.place === place && pointed.node < t.count ? pointed.node : zoom.value < t.count && t.place[zoom.value] === place ? zoom.value : null;
  const near = useComputed(() => view.value.fn === null ? null : around(doc, plainTree.value, view.value.fn));
  if (place === null) return <aside aria-label="Hottest functions"><Hottest /><p class="quiet">Point at a frame for its numbers. Click it to zoom, double-click it for its callers, right-click it for its menu.</p></aside>;
  const row = functionOf.value.get(place), top = Math.min(zoom.value, t.count - 1);
  return (
    <aside aria-label="Selected function">
      <div class="head"><h2 title={doc.name[place]}><Short text={labelOf(doc, place)} /></h2> <button class="dots" aria-label={`menu of ${doc.short[place]}`} title="menu (key .)" onClick={(event) => openMenu(place, event.clientX, event.clientY)}>⋮</button></div><p class="quiet where">{whereOf(doc, place)}</p>
      {comparison.value && changeOf(place)}
      {!doc.compared && <dl>
        {node !== null && !comparison.value && <><dt>here, with what it calls</dt><dd>{percent(share(t.totalOf(node)))}</dd></>}
        <dt>everywhere</dt><dd>{percent(share(row?.total ?? 0))}</dd>
        <dt>itself</dt><dd>{percent(share(row?.self ?? 0))}</dd>
        {node !== null && top !== 0 && !comparison.value && <><dt>of the zoomed frame</dt><dd>{percent(t.totalOf(top) > 0 ? Math.min(1, t.totalOf(node) / t.totalOf(top)) : 0)}</dd></>}
        <dt>total{comparison.value ? " of new" : ""}</dt><dd>{amount(row?.total ?? 0, unit)}</dd>
      </dl>}
      {place === fn && !doc.compared && <><Sparkline place={place} />
        {near.value && <><h3>Called by</h3>{near.value.callers.slice(0, 5).map(([p, value]) => <div class="row"><span>{p === 0 ? "start of the thread" : <Name place={p} brief />}</span><b>{percent(share(value))}</b></div>)}
          <h3>Calls</h3>{near.value.callees.length === 0 && <p class="quiet">Nothing.</p>}{near.value.callees.slice(0, 6).map(([p, value]) => <div class="row"><span><Name place={p} brief /></span><b>{percent(share(value))}</b></div>)}</>}</>}
    </aside>);
}
