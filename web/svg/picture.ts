// What all parts of the script share: the data and call tree of the picture, its elements, what it shows now, and the boxes of the frames.
import { known as knownOf, quantity as quantityOf } from "./numbers";
import { treeOf, type PictureData } from "./tree";

// A box of the drawing: the frame `node`, or, if `hidden` is not 0, the `hidden` frames above `node` that are too narrow to draw.
// `above`: an ancestor of the zoomed frame.
export interface Box { node: number; hidden: number; row: number; x: number; width: number; value: number; above?: boolean }
export interface State { zoom: number; search: string; exact: boolean }
export type Attributes = Record<string, string | number>;

export const svg = document.currentScript!.closest("svg")!;
const lines = svg.querySelector("metadata")!.textContent!.split("\n");
export const data: PictureData = JSON.parse(lines[0]);
const SVG = "http://www.w3.org/2000/svg";
const HTML = "http://www.w3.org/1999/xhtml";
export const HIDDEN = data.classes.length;
export const standalone = document.documentElement as Element === svg;

export const { symbols, symbolOf, parent, depth, end, inlined, self, total, waker, sides } = treeOf(lines, data);
export const count = symbolOf.length;
export const nameOf = (node: number) => (node === 0 ? data.root : symbols[symbolOf[node]].name);
export const kindOf = (node: number) => (node === 0 ? "" : data.threads && depth[node] === 1 ? "Thread: " : data.type + ": ");
export const isNoise = (node: number) => data.classes[symbols[symbolOf[node]].color] === "n0";
// The topmost frame of what is gone or new says so, by a word or by a sign: the frames that it calls have the same colour.
export const changeMark = (node: number) => {
  if (!sides || node === 0 || isNoise(node)) return [];
  const [base, fresh] = sides, above = parent[node];
  return base[node] === 0 && base[above] ? ["new: ", "+ "] : fresh[node] === 0 && fresh[above] ? ["gone: ", "− "] : [];
};
export const children = (node: number) => {
  const all: number[] = [];
  for (let child = node + 1; child < end[node]; child = end[child]) all.push(child);
  return all;
};
export const quantity = (value: number, unit = data.unit) => quantityOf(value, unit, unit === data.unit ? data.count : "");
export const known = (value: number) => (!data.estimated || data.count || value === 0 ? quantity(value) : knownOf(value, total[0], data.effective, data.unit));

// ---- What is shown ----

export const state: State = {zoom: 0, search: "", exact: false};  // in the URL
export const view = {
  current: 0,           // the frame that the keyboard is at
  keyboard: false,      // whether to show where that is
  hovered: null as Box | null,           // the box below the pointer
  isolated: null as Set<number> | null,  // the classes of the legend's item that the pointer is at or that was clicked
  boxes: [] as Box[], rows: [] as Box[][],  // all, and per row from left to right
  width: data.width, height: 0, rowCount: data.rows,
  top: data.top,        // where the frames begin
  compact: false,       // a phone: the bar has a line of its own, and details have four
  pattern: null as RegExp | null, patternError: "",
  matches: [] as number[], matched: 0, matchedZoom: 0,
};

export const set = (made: Element, key: string, value: string | number | boolean) => made.setAttribute(key, `${value}`);
const fill = <Made extends Element>(made: Made, parentNode: Element | DocumentFragment | null, attributes: Attributes, text?: string): Made => {
  for (const key in attributes) set(made, key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parentNode?.appendChild(made);
  return made;
};
export const shape = <Name extends keyof SVGElementTagNameMap>(parentNode: Element | DocumentFragment | null, name: Name, attributes: Attributes, text?: string) =>
  fill(document.createElementNS(SVG, name), parentNode, attributes, text);
export const control = <Name extends keyof HTMLElementTagNameMap>(parentNode: Element, name: Name, attributes: Attributes, text?: string) =>
  fill(document.createElementNS(HTML, name) as HTMLElementTagNameMap[Name], parentNode, attributes, text);
export const frames = svg.querySelector<SVGElement>(".f")!, head = svg.querySelector<SVGElement>(".head")!, foot = svg.querySelector<SVGElement>(".foot")!;

// ---- Boxes ----

// Lays out the zoomed frame, its ancestors and what is above it. Frames narrower than the least width are joined, one box per parent.
export const layOut = () => {
  const inner = view.width - 2 * data.pad, scale = inner / total[state.zoom];
  const x = new Map([[state.zoom, 0]]);
  view.boxes = [];
  for (let node = state.zoom; node !== 0;) {
    node = parent[node];
    view.boxes.push({node, hidden: 0, row: depth[node], x: 0, width: inner, value: total[node], above: true});
  }
  view.boxes.reverse();
  const pending = [state.zoom];
  while (pending.length) {
    const node = pending.pop()!;
    let left = x.get(node)!;
    view.boxes.push({node, hidden: 0, row: depth[node], x: left, width: total[node] * scale, value: total[node]});
    let hidden = 0, value = 0;
    const drawn: number[] = [];
    for (let child = node + 1; child < end[node]; child = end[child]) {
      if (total[child] * scale >= data.min && total[child] > 0) {
        x.set(child, left);
        left += total[child] * scale;
        drawn.push(child);
      } else {
        hidden += end[child] - child;
        value += total[child];
      }
    }
    for (const child of drawn.reverse()) pending.push(child);
    if (hidden) view.boxes.push({node, hidden, row: depth[node] + 1, x: left, width: value * scale, value});
  }
  view.rows = [];
  for (const box of view.boxes) (view.rows[box.row] = view.rows[box.row] || []).push(box);
  for (const row of view.rows) row.sort((a, b) => a.x - b.x);
  view.rowCount = Math.max(data.rows, view.rows.length);
};

export const yOf = (row: number) => view.top + (data.inverted ? row : view.rowCount - 1 - row) * data.frame;

export const isHit = (box: Box) => {
  if (!view.pattern) return false;
  if (!box.hidden) return box.node !== 0 && symbols[symbolOf[box.node]].hit;
  return hiddenHits(box) > 0;
};
// Matches among the frames that a grey box stands for.
export const hiddenHits = (box: Box) => {
  const scale = (view.width - 2 * data.pad) / total[state.zoom];
  let found = 0;
  for (let child = box.node + 1; child < end[box.node]; child = end[child]) {
    if (total[child] * scale >= data.min && total[child] > 0) continue;
    for (let node = child; node < end[child]; node++) found += symbols[symbolOf[node]].hit ? 1 : 0;
  }
  return found;
};
export const boxOf = (node: number) => view.boxes.find((box) => !box.hidden && box.node === node);
