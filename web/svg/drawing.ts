// Draws the frames for the state, and keeps the state in the URL's fragment (#z=NODE&s=SEARCH&c=1), so that back, forward, reload and a
// copied address work, also from a file.
import { describe, say, tip } from "./details";
import { caseButton, countNarrow, input, measure, nextButton, previousButton, resetButton, resize } from "./head_and_foot";
import { label } from "./labels";
import { grouped, percent } from "./numbers";
import { boxOf, changeMark, count, data, depth, end, frames, HIDDEN, isHit, layOut, nameOf, set, shape, standalone, state, symbolOf, symbols, total, view, yOf, type Attributes, type Box, type State } from "./picture";

const labelOf = (box: Box, columns: number) => {
  if (box.hidden) return label(grouped(box.hidden) + (box.hidden === 1 ? " frame, " : " frames, ") + percent(box.value / total[0]), columns);
  const marks = changeMark(box.node);
  for (const mark of marks) {
    const name = mark.length < columns ? label(nameOf(box.node), columns - mark.length) : "";
    // The sign where the word would cost a part of the name.
    if (name && (mark !== marks[0] || !name.startsWith("…"))) return mark + name;
  }
  return label(nameOf(box.node), columns);
};

export const draw = () => {
  measure();
  layOut();
  countNarrow();
  resize();
  const paths = new Map();
  const texts: [box: Box, text: string, y: number, kind: string][] = [];
  const dimming = view.pattern !== null || view.isolated !== null;
  for (const box of view.boxes) {
    const color = box.hidden ? HIDDEN : symbols[symbolOf[box.node]].color;
    const hit = isHit(box);
    const faint = dimming && !hit && !(view.isolated && view.isolated.has(color)) ? " dim" : "";
    const kind = (hit ? (box.hidden ? "hit part" : "hit") : color === HIDDEN ? "z" : data.classes[color]) +
        (box.above ? " above" : "") + faint;
    const gap = box.width > 3 ? 0.6 : 0;
    const y = yOf(box.row) + (data.frame - 1) / 2;
    const line = "M" + (data.pad + box.x).toFixed(2) + " " + y + "h" + Math.max(box.width - gap, 0.05).toFixed(2);
    paths.set(kind, (paths.get(kind) || "") + line);
    const columns = Math.floor(Math.max(box.width - 5, 0) / data.column);
    const text = columns < 1 ? "" : labelOf(box, columns);
    if (text) texts.push([box, text, y, hit ? "on" : (box.above ? "above" : "") + faint]);
  }
  const shapes = document.createDocumentFragment();
  shapes.appendChild(tip);
  for (const [kind, line] of paths) shape(shapes, "path", {class: kind, d: line});
  for (const [box, text, y, kind] of texts) {
    const made = shape(shapes, "text", {x: (data.pad + box.x + 3).toFixed(2), y: y + data.font * 0.35}, text);
    if (kind) set(made, "class", kind);
    if (box.hidden) continue;
    made.id = "fathom-" + box.node;
    set(made, "role", "treeitem");
    set(made, "aria-level", box.row + 1);
    set(made, "aria-label", describe(box));
  }
  frames.replaceChildren(shapes);
  ring();
  say();
};

const ringLine = shape(null, "rect", {class: "ring"});
export const ring = () => {
  const box = view.keyboard ? boxOf(view.current) : null;
  set(frames, "aria-activedescendant", box ? "fathom-" + view.current : "");
  if (!box) {
    ringLine.remove();
    return;
  }
  const at: Attributes = {x: data.pad + box.x - 1, y: yOf(box.row) - 1, width: Math.max(box.width + 1, 3), height: data.frame + 1};
  for (const key in at) ringLine.setAttribute(key, `${at[key]}`);
  frames.appendChild(ringLine);
};
// Scrolls until a row is in the window and below the head.
export const reveal = (row: number) => {
  if (!standalone) return;
  const at = yOf(row), covered = view.top;
  if (at < window.scrollY + covered) window.scrollTo(window.scrollX, at - covered - 4 * data.frame);
  else if (at + data.frame > window.scrollY + window.innerHeight) {
    window.scrollTo(window.scrollX, at + 5 * data.frame - window.innerHeight);
  }
};

// ---- State in the URL ----

export const read = () => {
  let parameters = new URLSearchParams();
  try {
    parameters = new URLSearchParams(location.hash.slice(1));
  } catch (unreadable) { /* a page without an address: the picture as it was drawn */ }
  const zoom = Number(parameters.get("z"));
  return {zoom: Number.isInteger(zoom) && zoom > 0 && zoom < count && total[zoom] > 0 ? zoom : 0,
          search: parameters.get("s") || "", exact: parameters.get("c") === "1"};
};
export const apply = (next: State) => {
  const moved = next.zoom !== state.zoom;
  Object.assign(state, next);
  view.pattern = null;
  view.patternError = "";
  if (state.search) {
    try {
      view.pattern = new RegExp(state.search, state.exact ? "u" : "iu");
    } catch (invalid) {
      view.patternError = "Not a pattern: " + state.search;
    }
  }
  for (const symbol of symbols) symbol.hit = view.pattern !== null && view.pattern.test(symbol.name);
  // A match inside another match counts once: the nodes before `covered` are inside one.
  const addUp = (from: number, to: number) => {
    let sum = 0, covered = from;
    for (let node = from; node < to; node++) {
      if (node === 0 || node < covered || !symbols[symbolOf[node]].hit) continue;
      sum += total[node];
      covered = end[node];
    }
    return sum;
  };
  view.matches = [];
  if (view.pattern) for (let node = 1; node < count; node++) if (symbols[symbolOf[node]].hit) view.matches.push(node);
  view.matches.sort((a, b) => total[b] - total[a] || a - b);
  view.matched = view.pattern ? addUp(0, count) : 0;
  view.matchedZoom = view.pattern ? addUp(state.zoom, end[state.zoom]) : 0;
  if (moved) view.current = state.zoom;
  view.hovered = null;
  if (input.value !== state.search) input.value = state.search;
  caseButton.setAttribute("aria-pressed", `${state.exact}`);
  for (const button of [previousButton, nextButton]) button.disabled = view.matches.length === 0;
  resetButton.disabled = !state.zoom && !state.search;
  draw();
  if (moved) reveal(depth[state.zoom]);
};
// `replace`: adds no step to the history, for the letters of a search.
export const go = (change: Partial<State>, replace = false) => {
  const next = Object.assign({}, state, change);
  const parameters = new URLSearchParams();
  if (next.zoom) parameters.set("z", `${next.zoom}`);
  if (next.search) parameters.set("s", next.search);
  if (next.exact) parameters.set("c", "1");
  try {
    if (replace) location.replace("#" + parameters);
    else location.hash = "#" + parameters;
  } catch (forbidden) { /* a page without an address has no history */ }
  apply(next);
};
window.addEventListener("hashchange", () => {
  const next = read();
  if (next.zoom !== state.zoom || next.search !== state.search || next.exact !== state.exact) apply(next);
});
