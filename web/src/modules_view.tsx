// By module: its cost in the selection, and the quality of its symbols.
import { useComputed } from "@preact/signals";
import { change, doc, metric, shape, taken, view } from "./state";
import { Kind } from "./types";
import { cellOf, groupPattern, percent } from "./words";

// "MODULE@0xADDRESS" stands for a function with known bounds only, "MODULE+0x..." for a bare address.
const isNameless = (place: number) => doc.kind[place] === Kind.unknown || /(@0x|\+0x|@fde\+0x)[0-9a-f]+/.test(doc.name[place]);

export function Modules() {
  const rows = useComputed(() => {
    shape.value;
    const { cells, values } = taken.value, out = new Map<string, { name: string; self: number; total: number; nameless: number }>(), on = new Map<number, string[]>();
    const row = (name: string) => { let of = out.get(name); if (!of) out.set(name, (of = { name, self: 0, total: 0, nameless: 0 })); return of; };
    for (let i = 0; i < values.length; i++) {
      if (!values[i]) continue;
      let leaf = cells.node[i];
      while (leaf !== 0 && doc.kind[doc.place[leaf]] >= Kind.cause) leaf = doc.parent[leaf];  // a wait has no module of its own
      const place = doc.place[leaf], own = row(doc.module[place] || "none");
      own.self += values[i];
      if (isNameless(place)) own.nameless += values[i];
      let modules = on.get(leaf);
      if (!modules) {
        const found = new Set<string>();
        for (let up = leaf; up !== 0; up = doc.parent[up]) found.add(doc.module[doc.place[up]] || "none");
        on.set(leaf, (modules = [...found]));
      }
      for (const name of modules) row(name).total += values[i];
    }
    return [...out.values()].sort((a, b) => b.self - a.self || b.total - a.total);
  });
  const facts = new Map(doc.head.modules.map((module) => [module.name, module])), { unit } = metric.value, all = taken.value.total;
  return (
    <div class="scroll"><table id="modules"><thead><tr><th>self</th><th /><th>total</th><th>without a name</th><th class="left">module</th><th class="left">symbols</th><th class="left wide">build id</th><th class="left">fold</th></tr></thead>
      <tbody>{rows.value.map(({ name, self, total, nameless }) => {
        const edit = `collapse:${name}`, folded = view.value.edits.includes(edit);
        return <tr key={name}><td>{cellOf(self, unit)}</td><td class="bar-cell" style={{ "--share": all > 0 ? self / all : 0 } as never}>{percent(all > 0 ? self / all : 0)}</td><td>{cellOf(total, unit)}</td>
          <td>{self > 0 ? percent(nameless / self) : ""}</td><td class="left name">{name}</td><td class="left">{facts.get(name)?.symbols ?? "unknown"}</td><td class="left quiet wide name">{facts.get(name)?.build_id.slice(0, 16)}</td>
          <td class="left">{doc.modules.includes(name) && <button class="link" aria-pressed={folded} title="its calls become one box each time" onClick={() => change({ edits: folded ? view.value.edits.filter((e) => e !== edit) : [...view.value.edits, edit] })}>{folded ? "unfold" : "fold"}</button>} {doc.modules.includes(name) && <button class="link only" title="only stacks with its code" onClick={() => change({ focus: [...view.value.focus, groupPattern("module", name, doc.modules)] })}>only</button>}</td></tr>;
      })}</tbody></table>
      <p class="quiet">"Without a name" is the part of a module's own cost in functions with only an address. If their symbols are elsewhere: fathom report --symbols FOLDER.</p></div>);
}
