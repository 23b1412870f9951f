// The script of a flame graph in SVG: what the pointer, the keyboard and the buttons do. drawing.ts draws the frames from the call tree
// in <metadata>.
import keyTable from "keys:picture";
import { details, say } from "./details";
import { apply, draw, go, read, reveal, ring } from "./drawing";
import { bar, caseButton, helpBox, input, nextButton, previousButton, resetButton, stick, toggleHelp } from "./head_and_foot";
import { boxOf, children, control, data, depth, frames, nameOf, parent, set, standalone, state, svg, total, view, type Box } from "./picture";

let held: Element | null = null;  // the legend's item that was clicked

// ---- Pointer ----

const boxAt = (event: MouseEvent): Box | null => {
  const matrix = svg.getScreenCTM();
  if (!matrix) return null;
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
  const line = Math.floor((point.y - view.top) / data.frame);
  const row = view.rows[data.inverted ? line : view.rowCount - 1 - line] || [];
  const x = point.x - data.pad;
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].x + row[middle].width <= x) low = middle + 1;
    else high = middle;
  }
  return low < row.length && row[low].x <= x ? row[low] : null;
};
frames.addEventListener("pointermove", (event) => {
  const box = boxAt(event);
  if (box === view.hovered) return;
  view.hovered = box;
  say();
});
frames.addEventListener("pointerleave", () => {
  view.hovered = null;
  say();
});
frames.addEventListener("click", (event) => {
  const box = boxAt(event);
  if (!box) return;
  view.keyboard = false;
  view.current = box.node;
  if (box.node === state.zoom) draw();
  else go({zoom: box.node});
});
for (const item of svg.querySelectorAll<SVGGElement>(".item")) {
  const classes = new Set(item.dataset.classes!.split(" ").map(Number));
  const isolate = (set: Set<number> | null) => {
    view.isolated = set;
    draw();
  };
  const hold = () => {
    if (held) held.classList.remove("held");
    held = held === item ? null : item;
    if (held) held.classList.add("held");
    set(item, "aria-pressed", held === item);
    isolate(held ? classes : null);
  };
  set(item, "role", "button");
  set(item, "tabindex", "0");
  item.addEventListener("pointerenter", () => held || isolate(classes));
  item.addEventListener("pointerleave", () => held || isolate(null));
  item.addEventListener("click", hold);
  item.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      hold();
      event.preventDefault();
      event.stopPropagation();
    }
  });
}

// ---- Keyboard and bar ----

const focusOn = (node: number) => {
  view.current = node;
  view.keyboard = true;
  view.hovered = null;
  // Too narrow here or outside the zoom: zoom to the outermost ancestor that makes it at least 20 pixels wide.
  if (!boxOf(node)) {
    let around = node;
    while (around !== 0 && (total[node] / total[parent[around]]) * view.width >= 20) around = parent[around];
    go({zoom: around});
    view.current = node;
  }
  ring();
  say();
  reveal(depth[node]);
};
const step = (way: 1 | -1) => {
  if (!view.matches.length) return;
  const at = view.matches.indexOf(view.current);
  focusOn(view.matches[at < 0 ? (way > 0 ? 0 : view.matches.length - 1) : (at + way + view.matches.length) % view.matches.length]);
};
const move = (key: string) => {
  const away = data.inverted ? "ArrowDown" : "ArrowUp";
  if (!view.keyboard) {
    focusOn(view.current);
    return;
  }
  if (key === away) {
    const next = children(view.current).reduce((best, child) => (best < 0 || total[child] > total[best] ? child : best), -1);
    if (next >= 0) focusOn(next);
  } else if (key === "ArrowUp" || key === "ArrowDown") {
    if (view.current) focusOn(parent[view.current]);
  } else {
    const row = (view.rows[depth[view.current]] || []).filter((box) => !box.hidden);
    const beside = row[row.findIndex((box) => box.node === view.current) + (key === "ArrowLeft" ? -1 : 1)];
    if (beside) focusOn(beside.node);
  }
};
const copy = () => {
  const text = nameOf(view.hovered ? view.hovered.node : view.current);
  const say_ = () => { details.textContent = "Copied: " + text; };
  const byHand = () => {
    const area = control(bar, "textarea", {});
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
    say_();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(say_, byHand);
  else byHand();
};
// By the name in the table of all keys.
const letters: Record<string, () => void> = {next: () => step(1), previous: () => step(-1), exact: () => go({exact: !state.exact}, true), copy: () => copy(), help: () => toggleHelp()};
window.addEventListener("keydown", (event) => {
  const typing = event.target === input;
  const key = event.key;
  const control = event.ctrlKey || event.metaKey;
  let done = true;
  if ((control && key === "f") || key === "F3" || (key === "/" && !typing && !control)) {
    input.focus();
    input.select();
  } else if (control && key === "i") go({exact: !state.exact}, true);
  else if (key === "Escape") {
    if (helpBox) toggleHelp();
    else if (typing) {
      input.blur();
      if (state.search) go({search: ""});
    } else {
      view.keyboard = false;
      if (held) held.dispatchEvent(new MouseEvent("click"));
      if (state.zoom || state.search) go({zoom: 0, search: ""});
      else draw();
    }
  } else if (typing && key === "Enter") {
    input.blur();
    step(event.shiftKey ? -1 : 1);
  } else if (typing || control || event.altKey) done = false;
  else if (key.startsWith("Arrow")) move(key);
  else if (key === "Enter" && (event.target as Element).localName !== "button") {
    if (view.keyboard && view.current !== state.zoom) go({zoom: view.current});
  } else if (key === "Backspace") {
    if (state.zoom) go({zoom: parent[state.zoom]});
  } else {
    const does = letters[keyTable.find(([keys]) => keys.includes(key))?.[1] ?? ""];
    if (does) does();
    else done = false;
  }
  if (done) event.preventDefault();
});
caseButton.addEventListener("click", () => go({exact: !state.exact}, true));
previousButton.addEventListener("click", () => step(-1));
nextButton.addEventListener("click", () => step(1));
resetButton.addEventListener("click", () => go({zoom: 0, search: ""}));
let typed = 0;
input.addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(() => go({search: input.value}, state.search !== ""), 120);
});

// ---- Start ----

window.addEventListener("resize", () => {
  if (standalone && data.fluid) draw();
  stick();
});
set(svg, "role", "application");
set(frames, "role", "tree");
set(frames, "tabindex", "0");
set(frames, "aria-label", "Frames: arrows move, Enter zooms");
frames.addEventListener("focus", () => {
  if (frames.matches(":focus-visible")) focusOn(view.current);
});
apply(read());
// Reading starts at the root.
if (standalone && !data.inverted && !state.zoom) window.scrollTo(0, view.height);
stick();
