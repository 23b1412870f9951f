// The menu of a function, and the help: nothing is only a key.
import { useLayoutEffect, useRef } from "preact/hooks";
import { frameActions, help, menu } from "./actions";
import { hasCode } from "./code_view";
import { keyRows } from "./keys";
import { doc } from "./state";

export function FrameMenu() {
  const box = useRef<HTMLDivElement>(null), open = menu.value;
  useLayoutEffect(() => {
    if (!open || !box.current) return;
    const { width, height } = box.current.getBoundingClientRect();
    box.current.style.left = `${Math.max(4, Math.min(open.x, innerWidth - width - 4))}px`;
    box.current.style.top = `${Math.max(4, Math.min(open.y, innerHeight - height - 4))}px`;
    box.current.querySelector<HTMLElement>("[role=menuitem]")!.focus();
    const close = (event: Event) => { if (!box.current?.contains(event.target as Node)) menu.value = null; };
    addEventListener("pointerdown", close, true);
    addEventListener("resize", close);
    return () => { removeEventListener("pointerdown", close, true); removeEventListener("resize", close); };
  }, [open]);
  if (!open) return null;
  const leave = () => { menu.value = null; open.back?.focus(); };
  const keys = (event: KeyboardEvent) => {
    const items = [...box.current!.querySelectorAll<HTMLElement>("[role=menuitem]")], at = items.indexOf(document.activeElement as HTMLElement);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) items[(at + step + items.length) % items.length].focus();
    else if (event.key === "Home") items[0].focus();
    else if (event.key === "End") items[items.length - 1].focus();
    else if (event.key === "Escape" || event.key === "Tab") leave();
    else { event.stopPropagation(); return; }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" role="menu" aria-label={`Actions for ${doc.short[open.place]}`} ref={box} onKeyDown={keys} onContextMenu={(event) => event.preventDefault()}>
      <p title={doc.name[open.place]}>{doc.short[open.place]}</p>
      {frameActions(open.place, hasCode()).map(({ text, key, hint, does }) => <button role="menuitem" tabIndex={-1} title={hint} onClick={() => { leave(); does(); }}><span>{text}</span>{key && <kbd>{key}</kbd>}</button>)}
    </div>);
}

export function Help() {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => { if (help.value && !box.current!.open) box.current!.showModal(); else if (!help.value) box.current?.close(); }, [help.value]);
  return (
    <dialog ref={box} class="help" aria-label="Help" onClose={() => { help.value = false; }} onClick={(event) => { if (event.target === box.current) help.value = false; }}>
      {help.value && <><h2>Keys <button onClick={() => { help.value = false; }}>close</button></h2>
        <dl class="keys">{keyRows().map(([keys, , what]) => <><dt>{keys.map((key, i) => <>{i > 0 && " "}<kbd>{key}</kbd></>)}</dt><dd>{what}</dd></>)}</dl>
        <p>Right-click a frame or a name for its menu. In the search field, Enter makes the text a filter:</p>
        <dl class="keys">{[["module NAME, crate NAME, cause NAME", "only stacks with it"], ["ignore NAME", "no stacks with it"], ["hide NAME", "its cost becomes its callers'"], ["show-from NAME", "stacks begin there"], ["size MIN:MAX", "heap: call sites that allocated such blocks"], ["/expression/", "a regular expression"]].map(([text, what]) => <><dt><code>{text}</code></dt><dd>{what}</dd></>)}</dl></>}
    </dialog>);
}
