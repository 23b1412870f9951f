// The keys of the page: one table for what they do and for the help.
import { frameActions, help, makeBase, menu, openMenu, toggleEdit } from "./actions";
import { copy } from "./clipboard";
import { hasCode } from "./code_view";
import { viewCommand } from "./command";
import { goToMatch, matchesNow } from "./flame_view";
import { change, doc, hasOrder, hasTab, keyOf, search, tabs, tree, view, zoom } from "./state";

interface KeyRow { keys: string[]; what: string; does?: (key: string) => void; only?: () => boolean }

const ofFrame = (key: string) => { const { fn } = view.value; if (fn !== null) frameActions(fn, hasCode()).find((action) => action.key === key)?.does(); };
const step = (by: 1 | -1) => { const found = matchesNow(); if (found) goToMatch(found.places, by); };

const rows: KeyRow[] = [
  { keys: ["?"], what: "this help", does: () => { help.value = !help.value; } },
  { keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"], what: "views, from left to right", does: (key) => { const tab = tabs.find((one) => keyOf(one) === key)!; if (hasTab(tab)) change({ tab }); } },
  { keys: ["a"], what: "spans", only: () => hasTab("spans"), does: () => change({ tab: "spans" }) },
  { keys: ["/"], what: "search", does: () => { document.getElementById("search")!.focus(); } },
  { keys: ["n"], what: "next match", does: () => step(1) },
  { keys: ["p"], what: "previous match", does: () => step(-1) },
  { keys: ["."], what: "menu of the selected function; also right-click, Shift-F10", does: () => { const at = document.activeElement!.getBoundingClientRect(); if (view.value.fn !== null) openMenu(view.value.fn, at.width ? at.left + 20 : innerWidth / 2, at.width ? at.top + 20 : innerHeight / 3); } },
  { keys: ["f"], what: "focus on the selected function", does: ofFrame },
  { keys: ["d"], what: "leave its stacks out", does: ofFrame },
  { keys: ["m"], what: "hide it: its cost becomes its callers'", does: ofFrame },
  { keys: ["s"], what: "show stacks from it", does: ofFrame },
  { keys: ["C"], what: "collapse its module", does: ofFrame },
  { keys: ["i"], what: "inverted: from costly functions to their callers", does: () => { zoom.value = 0; change({ inverted: !view.value.inverted }); } },
  { keys: ["t"], what: "by thread", does: () => { zoom.value = 0; change({ byThread: !view.value.byThread }); } },
  { keys: ["u"], what: "upwards: callers at the bottom", does: () => change({ up: !view.value.up }) },
  { keys: ["o"], what: "in order of time", does: () => { if (hasOrder(view.value)) { zoom.value = 0; change({ order: view.value.order === "time" ? "size" : "time" }); } } },
  { keys: ["l"], what: "fold library frames that only pass time on", does: () => toggleEdit("plumbing") },
  { keys: ["k"], what: "fold the kernel side", does: () => toggleEdit("kernel") },
  { keys: ["r"], what: "fold recursion", does: () => toggleEdit("recursion") },
  { keys: ["y"], what: "only own code", does: () => toggleEdit("own") },
  { keys: ["Y"], what: "without language libraries", does: () => toggleEdit("runtime") },
  { keys: ["b"], what: "compare with the selected time", only: () => !doc.compared, does: () => { if (view.value.base && !view.value.range) change({ base: null, range: view.value.base }); else makeBase(); } },
  { keys: ["h"], what: "a track for each thread", only: () => !doc.compared, does: () => change({ tracks: !view.value.tracks }) },
  { keys: ["c"], what: "copy as command", does: () => { const text = viewCommand(view.value); void copy(text, text); } },
  { keys: ["Esc"], what: "back: from the search, the zoom, the selection" },
  { keys: ["arrows", "Enter"], what: "in the graph, the tree and on the time axis; with Shift on the axis, its end" },
];
export const keyRows = () => rows.filter(({ only }) => !only || only());

const back = () => {
  if (search.value) search.value = "";
  else if (zoom.value) zoom.value = tree.value.parent[Math.min(zoom.value, tree.value.count - 1)] ?? 0;
  else change({ fn: null });
};

export function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || target.localName === "input" || target.localName === "select" || help.value || menu.value) return;
  if (event.key === "Escape") return back();
  const row = keyRows().find(({ keys, does }) => does && keys.includes(event.key));
  if (!row) return;
  if (event.key === "/" || event.key === ".") event.preventDefault();
  row.does!(event.key);
}
