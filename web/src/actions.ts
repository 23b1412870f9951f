// What can be done with a function or a view. The keys, the menu of a frame and the buttons all do it through these.
import { signal } from "@preact/signals";
import { canCompare } from "./compare";
import { copy } from "./clipboard";
import { showCode } from "./code_view";
import { viewCommand } from "./command";
import { keyHint } from "./key_names";
import { change, doc, notice, showFrom, view, zoom } from "./state";
import { groupPattern } from "./words";

export function say(text: string): void {
  notice.value = text;
  setTimeout(() => { notice.value = ""; }, 4000);
}

export const toggleEdit = (edit: string) => { zoom.value = 0; change({ edits: view.value.edits.includes(edit) ? view.value.edits.filter((e) => e !== edit) : [...view.value.edits, edit] }); };

// The selected time becomes the base, and the next selection is compared with it.
export function makeBase(): void {
  if (!view.value.range || !canCompare(view.value.metric)) return;
  change({ base: view.value.range, range: null });
  say("choose the time to compare with it");
}

interface FrameAction { text: string; name?: string; key?: string; hint: string; does: () => void }
// Of a function: what a menu lists, in this order.
export function frameActions(place: number, hasCode: boolean): FrameAction[] {
  const name = doc.name[place], module = doc.module[place], crate = doc.crate[place], v = view.value;
  const focused = (pattern: string) => { zoom.value = 0; change({ focus: [...v.focus.filter((one) => one !== pattern), pattern] }); };
  const out: FrameAction[] = [
    { text: "Focus", name: "focus", hint: "only stacks with it", does: () => focused(name) },
    { text: "Leave out", name: "leave-out", hint: "no stacks with it", does: () => { zoom.value = 0; change({ ignore: [...v.ignore, name] }); } },
    { text: "Hide", name: "hide", hint: "its cost becomes its callers'", does: () => toggleEdit(`merge:${name}`) },
    { text: "Show from here", name: "show-from", hint: "its stacks, without its callers", does: () => { zoom.value = 0; showFrom(name); } },
  ];
  if (module) out.push({ text: `Collapse ${module}`, name: "collapse", hint: "calls inside it become one", does: () => toggleEdit(`collapse:${module}`) }, { text: `Only module ${module}`, hint: "only stacks with its code", does: () => focused(groupPattern("module", module, doc.modules)) });
  if (crate) out.push({ text: `Only crate ${crate}`, hint: "only stacks with its code", does: () => focused(groupPattern("crate", crate, doc.crate)) });
  out.push({ text: "Callers and callees", name: "callers", hint: "", does: () => { zoom.value = 0; change({ fn: place, tab: "callers" }); } });
  if (hasCode) out.push({ text: "Source and machine code", name: "code", hint: "", does: () => showCode(place) });
  out.push({ text: "Copy name", hint: name, does: () => { void copy(name, name); } },
    { text: "Copy as command", hint: "prints its callers", does: () => { const text = viewCommand({ ...v, tab: "callers", fn: place }); void copy(text, text); } });
  return out.map((action) => ({ ...action, key: action.name && keyHint(action.name).slice(4) }));
}

// The open menu of a function; `back`: what had the focus.
export const menu = signal<{ place: number; x: number; y: number; back: HTMLElement | null } | null>(null);
export function openMenu(place: number, x: number, y: number): void {
  if (place > 0 && place < doc.places) menu.value = { place, x, y, back: document.activeElement as HTMLElement | null };
}
export const help = signal(false);
