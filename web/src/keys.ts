// What the keys of the page do. Which keys there are, and their words in the help, is in the table of all keys.
import { frameActions, help, makeBase, menu, openMenu, toggleEdit } from "./actions";
import { copy } from "./clipboard";
import { hasCode, showCode } from "./code_view";
import { viewCommand } from "./command";
import { goToMatch, matchesNow, savePicture } from "./flame_view";
import { keyRowsOfPage, nameOfKey } from "./key_names";
import { change, doc, dropFilters, hasOrder, hasTab, keyOf, nextMetric, search, shiftTime, tabs, tree, view, zoom } from "./state";

const ofFrame = (text: string) => { const { fn } = view.value; if (fn !== null) frameActions(fn, hasCode()).find((action) => action.name === text)?.does(); };
const step = (by: 1 | -1) => { const found = matchesNow(); if (found) goToMatch(found.places, by); };
const again = (part: Parameters<typeof change>[0]) => { zoom.value = 0; change(part); };
const ofOne = () => !doc.compared;

// By the name in the table. `only`: where the key does nothing, the help is without it.
export const keyActions: Record<string, { does: (key: string) => void; only?: () => boolean }> = {
  help: { does: () => { help.value = !help.value; } },
  view: { does: (key) => { const tab = tabs.find((one) => keyOf(one) === key)!; if (hasTab(tab)) change({ tab }); } },
  spans: { only: () => hasTab("spans"), does: () => change({ tab: "spans" }) },
  search: { does: () => { document.getElementById("search")!.focus(); } },
  next: { does: () => step(1) },
  previous: { does: () => step(-1) },
  menu: { does: () => { const at = document.activeElement!.getBoundingClientRect(); if (view.value.fn !== null) openMenu(view.value.fn, at.width ? at.left + 20 : innerWidth / 2, at.width ? at.top + 20 : innerHeight / 3); } },
  focus: { does: () => ofFrame("focus") },
  "leave-out": { does: () => ofFrame("leave-out") },
  hide: { does: () => ofFrame("hide") },
  "show-from": { does: () => ofFrame("show-from") },
  collapse: { does: () => ofFrame("collapse") },
  callers: { does: () => again({ tab: "callers" }) },
  callees: { does: () => again({ tab: "callers" }) },
  code: { only: hasCode, does: () => { if (view.value.fn !== null) showCode(view.value.fn); } },
  clear: { does: dropFilters },
  metric: { does: nextMetric },
  thread: { does: () => again({ byThread: !view.value.byThread }) },
  earlier: { only: ofOne, does: () => shiftTime(-1) },
  later: { only: ofOne, does: () => shiftTime(1) },
  base: { only: ofOne, does: () => { if (view.value.base && !view.value.range) change({ base: null, range: view.value.base }); else makeBase(); } },
  order: { does: () => { if (hasOrder(view.value)) again({ order: view.value.order === "time" ? "size" : "time" }); } },
  invert: { does: () => again({ inverted: !view.value.inverted }) },
  upwards: { does: () => change({ up: !view.value.up }) },
  libraries: { does: () => toggleEdit("plumbing") },
  kernel: { does: () => toggleEdit("kernel") },
  recursion: { does: () => toggleEdit("recursion") },
  own: { does: () => toggleEdit("own") },
  runtime: { does: () => toggleEdit("runtime") },
  tracks: { only: ofOne, does: () => change({ tracks: !view.value.tracks }) },
  copy: { does: () => { const text = viewCommand(view.value); void copy(text, text); } },
  save: { does: () => { if (view.value.tab === "flame") savePicture(); } },
  back: { does: () => {
    if (search.value) search.value = "";
    else if (zoom.value) zoom.value = tree.value.parent[Math.min(zoom.value, tree.value.count - 1)] ?? 0;
    else change({ fn: null });
  } },
};
export const keyRows = () => keyRowsOfPage.filter(([, name]) => keyActions[name]?.only?.() ?? true);

export function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || target.localName === "input" || target.localName === "select" || help.value || menu.value) return;
  const key = event.key === "Escape" ? "Esc" : event.key, action = keyActions[nameOfKey(key)];
  if (!action || !(action.only?.() ?? true)) return;
  if (key === "/" || key === ".") event.preventDefault();
  action.does(key);
}
