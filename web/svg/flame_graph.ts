// What a flame graph in SVG does in a browser: zoom, search, details, history, keyboard. From the call tree in <metadata> it draws
// the frames itself. State lives in the URL's fragment (#z=NODE&s=SEARCH&c=1), so that back, forward, reload and a copied address
// work, also from a file.
import { columnsOf, label } from "./labels";
import { error, grouped, known as knownOf, percent, percentNumber, quantity as quantityOf } from "./numbers";
import { treeOf, type PictureData } from "./tree";

// A frame; `hidden`: as many frames that are too narrow stand in it, above `node`; `above`: above the zoom.
interface Box { node: number; hidden: number; row: number; x: number; width: number; value: number; above?: boolean }
interface State { zoom: number; search: string; exact: boolean }
interface Paragraph { kind: string; text: string }
type Attributes = Record<string, string | number>;

const svg = document.currentScript!.closest("svg")!;
const lines = svg.querySelector("metadata")!.textContent!.split("\n");
const data: PictureData = JSON.parse(lines[0]);
const SVG = "http://www.w3.org/2000/svg";
const HTML = "http://www.w3.org/1999/xhtml";
const HIDDEN = data.classes.length;
const standalone = document.documentElement as Element === svg;

const { symbols, symbolOf, parent, depth, end, inlined, self, total, sides } = treeOf(lines, data);
const count = symbolOf.length;
const nameOf = (node: number) => (node === 0 ? data.root : symbols[symbolOf[node]].name);
const kindOf = (node: number) => (node === 0 ? "" : data.threads && depth[node] === 1 ? "Thread: " : data.type + ": ");
const children = (node: number) => {
  const all: number[] = [];
  for (let child = node + 1; child < end[node]; child = end[child]) all.push(child);
  return all;
};
const quantity = (value: number, unit = data.unit) => quantityOf(value, unit, unit === data.unit ? data.count : "");
const known = (value: number) => (!data.estimated || data.count || value === 0 ? quantity(value) : knownOf(value, total[0], data.effective, data.unit));

// ---- What is shown ----

  const state: State = {zoom: 0, search: "", exact: false};  // in the URL
  let current = 0;          // the frame that the keyboard is at
  let keyboard = false;     // whether to show where that is
  let hovered: Box | null = null;       // a box
  let isolated: Set<number> | null = null;      // classes of a legend's item that is pointed at or held
  let held: Element | null = null;
  let boxes: Box[] = [], rows: Box[][] = [];  // of the drawing: all, and per row from left to right
  let width = data.width, height = 0, rowCount = data.rows;
  let top = data.top;         // of the frames
  let compact = false;        // a phone: the bar has a line of its own, and details have four
  let pattern: RegExp | null = null, patternError = "";
  let matches: number[] = [], matched = 0, matchedZoom = 0;

  const set = (made: Element, key: string, value: string | number | boolean) => made.setAttribute(key, `${value}`);
const fill = <Made extends Element>(made: Made, parentNode: Element | DocumentFragment | null, attributes: Attributes, text?: string): Made => {
  for (const key in attributes) set(made, key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parentNode?.appendChild(made);
  return made;
};
const shape = <Name extends keyof SVGElementTagNameMap>(parentNode: Element | DocumentFragment | null, name: Name, attributes: Attributes, text?: string) =>
  fill(document.createElementNS(SVG, name), parentNode, attributes, text);
const control = <Name extends keyof HTMLElementTagNameMap>(parentNode: Element, name: Name, attributes: Attributes, text?: string) =>
  fill(document.createElementNS(HTML, name) as HTMLElementTagNameMap[Name], parentNode, attributes, text);
const frames = svg.querySelector<SVGElement>(".f")!, head = svg.querySelector<SVGElement>(".head")!, foot = svg.querySelector<SVGElement>(".foot")!;
  const footTop = data.top + data.rows * data.frame;
  const tip = shape(null, "title", {});

  // The frames in the zoom from `zoom`'s ancestors upwards; what gets less than the least width is joined per parent.
  const layOut = () => {
    const inner = width - 2 * data.pad, scale = inner / total[state.zoom];
    const x = new Map([[state.zoom, 0]]);
    boxes = [];
    for (let node = state.zoom; node !== 0;) {
      node = parent[node];
      boxes.push({node, hidden: 0, row: depth[node], x: 0, width: inner, value: total[node], above: true});
    }
    boxes.reverse();
    const pending = [state.zoom];
    while (pending.length) {
      const node = pending.pop()!;
      let left = x.get(node)!;
      boxes.push({node, hidden: 0, row: depth[node], x: left, width: total[node] * scale, value: total[node]});
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
      if (hidden) boxes.push({node, hidden, row: depth[node] + 1, x: left, width: value * scale, value});
    }
    rows = [];
    for (const box of boxes) (rows[box.row] = rows[box.row] || []).push(box);
    for (const row of rows) row.sort((a, b) => a.x - b.x);
    rowCount = Math.max(data.rows, rows.length);
  };

  const yOf = (row: number) => top + (data.inverted ? row : rowCount - 1 - row) * data.frame;

  const isHit = (box: Box) => {
    if (!pattern) return false;
    if (!box.hidden) return box.node !== 0 && symbols[symbolOf[box.node]].hit;
    return hiddenHits(box) > 0;
  };
  // Matches among the frames that a grey box stands for.
  const hiddenHits = (box: Box) => {
    const scale = (width - 2 * data.pad) / total[state.zoom];
    let found = 0;
    for (let child = box.node + 1; child < end[box.node]; child = end[child]) {
      if (total[child] * scale >= data.min && total[child] > 0) continue;
      for (let node = child; node < end[child]; node++) found += symbols[symbolOf[node]].hit ? 1 : 0;
    }
    return found;
  };

  const draw = () => {
    measure();
    layOut();
    countNarrow();
    resize();
    const paths = new Map();
    const texts: [box: Box, text: string, y: number, kind: string][] = [];
    const dimming = pattern !== null || isolated !== null;
    for (const box of boxes) {
      const color = box.hidden ? HIDDEN : symbols[symbolOf[box.node]].color;
      const hit = isHit(box);
      const faint = dimming && !hit && !(isolated && isolated.has(color)) ? " dim" : "";
      const kind = (hit ? (box.hidden ? "hit part" : "hit") : color === HIDDEN ? "z" : data.classes[color]) +
          (box.above ? " above" : "") + faint;
      const gap = box.width > 3 ? 0.6 : 0;
      const y = yOf(box.row) + (data.frame - 1) / 2;
      const line = "M" + (data.pad + box.x).toFixed(2) + " " + y + "h" + Math.max(box.width - gap, 0.05).toFixed(2);
      paths.set(kind, (paths.get(kind) || "") + line);
      const columns = Math.floor(Math.max(box.width - 5, 0) / data.column);
      const text = columns < 1 ? "" : label(box.hidden ? grouped(box.hidden) + (box.hidden === 1 ? " frame, " : " frames, ") +
          percent(box.value / total[0]) : nameOf(box.node), columns);
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

  // ---- Details ----

  const compared = (node: number) => {
    const [before, after] = sides!.map((side) => side[node] * data.compare!.scale);
    const text = (value: number) => (data.compare!.percent ? percent(value) : quantity(value, data.compare!.unit));
    const change = after === before ? "no change" : before === 0 ? "new" : after === 0 ? "gone"
        : (after > before ? "+" : "") + percent((after - before) / before);
    return "base " + text(before) + ", new " + text(after) + ": " + change;
  };
  const describe = (box: Box) => {
    const node = box.node;
    const all = box.value / total[0];
    const uncertain = data.effective > 0 && box.value < total[0]
        ? " ±" + percentNumber(error(all, data.effective)) : "";
    const parts = sides ? (box.hidden ? [] : [compared(node)]) : [percent(all) + uncertain + " of all"];
    if (state.zoom !== 0 && !box.above && !sides) parts.push(percent(box.value / total[state.zoom]) + " of zoom");
    if (!sides) parts.push("total " + known(box.value));
    if (box.hidden) {
      const hits = pattern ? hiddenHits(box) : 0;
      return parts.join(" · ") + (parts.length ? " — " : "") + grouped(box.hidden) + (box.hidden === 1 ? " frame" : " frames") +
          " too narrow to draw, above " + nameOf(node) + (hits ? " (" + hits + " match)" : "") + "; click to zoom";
    }
    if (!data.reverse && !sides) parts.push("self " + known(self[node]) + " (" + percent(self[node] / total[0]) + ")");
    const module = symbols[symbolOf[node]].module;
    return parts.join(" · ") + " — " + kindOf(node) + nameOf(node) + (module ? (module.startsWith("[") ? " " + module : " [" + module + "]") : "") +
        (inlined[node] ? " (inlined)" : "");
  };
  // Two lines, as the names of templates and futures are long; on a phone four.
  const detailsLine = 15, barLine = 34;
  const detailsLines = () => (compact ? 4 : 2);
  const details = shape(head, "text", {class: "details", x: data.pad, role: "status", "aria-live": "polite"});
  const found = shape(head, "text", {class: "found", "text-anchor": "end", role: "status"});
  const fit = (node: SVGTextContentElement, text: string, room: number) => {
    node.textContent = text;
    const length = node.getComputedTextLength();
    if (length <= room || !length) return;
    const characters = [...text];
    node.textContent = characters.slice(0, Math.max(0, Math.floor((characters.length * room) / length) - 2)).join("") + "…";
  };
  // The text in `most` lines, of which the first is `room` wide and the others `wide`; broken where a word or a part of a name
  // ends.
  const fitLines = (node: SVGTextContentElement, text: string, room: number, wide: number, most: number) => {
    node.textContent = text;
    const length = node.getComputedTextLength();
    if (length <= room || !length) return;
    node.textContent = "";
    let rest = [...text];
    for (let line = 0; rest.length; line++) {
      const made = shape(node, "tspan", line ? {x: data.pad, dy: detailsLine} : {x: data.pad});
      const allowed = line ? wide : room;
      if (line + 1 === most) {
        fit(made, rest.join(""), allowed);
        return;
      }
      let low = 1, high = rest.length;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        made.textContent = rest.slice(0, middle).join("");
        if (made.getComputedTextLength() <= allowed) low = middle;
        else high = middle - 1;
      }
      let end = low;
      if (low < rest.length) {
        while (end > low - 30 && end > 0 && !" ,:<(".includes(rest[end - 1])) end--;
        if (end <= low - 30 || end === 0) end = low;
      }
      made.textContent = rest.slice(0, end).join("");
      rest = rest.slice(end);
    }
  };
  const boxOf = (node: number) => boxes.find((box) => !box.hidden && box.node === node);
  const say = () => {
    let result = "";
    if (patternError) result = patternError;
    else if (pattern) {
      result = "Matched: " + percent(matched / total[0]) + " of all" +
          (state.zoom ? ", " + percent(matchedZoom / total[state.zoom]) + " of zoom" : "") + " (" + grouped(matches.length) +
          (matches.length === 1 ? " frame)" : " frames)");
    }
    found.textContent = result;
    const box = hovered || (keyboard ? boxOf(current) : null);
    const idle = state.zoom ? describe(boxOf(state.zoom)!) : compact ? "Tap a frame for its numbers and to zoom"
        : "Point at a frame for its numbers, click to zoom, press ? for the keys";
    fitLines(details, box ? describe(box) : idle, width - 2 * data.pad - (result ? found.getComputedTextLength() + 24 : 0),
        width - 2 * data.pad, detailsLines());
    tip.textContent = hovered ? describe(hovered).split(" — ").reverse().join("\n") : "";
  };

  const ringLine = shape(null, "rect", {class: "ring"});
  const ring = () => {
    const box = keyboard ? boxOf(current) : null;
    set(frames, "aria-activedescendant", box ? "fathom-" + current : "");
    if (!box) {
      ringLine.remove();
      return;
    }
    const at: Attributes = {x: data.pad + box.x - 1, y: yOf(box.row) - 1, width: Math.max(box.width + 1, 3), height: data.frame + 1};
    for (const key in at) ringLine.setAttribute(key, `${at[key]}`);
    frames.appendChild(ringLine);
  };
  // Brings a row into the window, clear of the head.
  const reveal = (row: number) => {
    if (!standalone) return;
    const at = yOf(row), covered = top;
    if (at < window.scrollY + covered) window.scrollTo(window.scrollX, at - covered - 4 * data.frame);
    else if (at + data.frame > window.scrollY + window.innerHeight) {
      window.scrollTo(window.scrollX, at + 5 * data.frame - window.innerHeight);
    }
  };

  // ---- State, by way of the URL ----

  const read = () => {
    let parameters = new URLSearchParams();
    try {
      parameters = new URLSearchParams(location.hash.slice(1));
    } catch (unreadable) { /* a page without an address: the picture as it was drawn */ }
    const zoom = Number(parameters.get("z"));
    return {zoom: Number.isInteger(zoom) && zoom > 0 && zoom < count && total[zoom] > 0 ? zoom : 0,
            search: parameters.get("s") || "", exact: parameters.get("c") === "1"};
  };
  const apply = (next: State) => {
    const moved = next.zoom !== state.zoom;
    Object.assign(state, next);
    pattern = null;
    patternError = "";
    if (state.search) {
      try {
        pattern = new RegExp(state.search, state.exact ? "u" : "iu");
      } catch (invalid) {
        patternError = "Not a pattern: " + state.search;
      }
    }
    for (const symbol of symbols) symbol.hit = pattern !== null && pattern.test(symbol.name);
    // A match above a match is counted once: what is below `covered` is inside of one already.
    const addUp = (from: number, to: number) => {
      let sum = 0, covered = from;
      for (let node = from; node < to; node++) {
        if (node === 0 || node < covered || !symbols[symbolOf[node]].hit) continue;
        sum += total[node];
        covered = end[node];
      }
      return sum;
    };
    matches = [];
    if (pattern) for (let node = 1; node < count; node++) if (symbols[symbolOf[node]].hit) matches.push(node);
    matches.sort((a, b) => total[b] - total[a] || a - b);
    matched = pattern ? addUp(0, count) : 0;
    matchedZoom = pattern ? addUp(state.zoom, end[state.zoom]) : 0;
    if (moved) current = state.zoom;
    hovered = null;
    if (input.value !== state.search) input.value = state.search;
    caseButton.setAttribute("aria-pressed", `${state.exact}`);
    for (const button of [previousButton, nextButton]) button.disabled = matches.length === 0;
    resetButton.disabled = !state.zoom && !state.search;
    draw();
    if (moved) reveal(depth[state.zoom]);
  };
  // `replace`: no step of its own in the history, for each letter of a search.
  const go = (change: Partial<State>, replace = false) => {
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

  // ---- The bar, the help and the size ----

  const style = shape(null, "style", {}, `
.fathom .f{cursor:pointer;outline:none}
.fathom .hit{stroke:#6d28d9}.fathom .part{stroke:#a78bda}.fathom .f text.on{fill:#fff}
.fathom path.above{opacity:.5}.fathom .dim,.fathom path.dim{opacity:.3}.fathom .f text.dim{opacity:.75}
.fathom .ring{fill:none;stroke:#0b1320;stroke-width:2.5;pointer-events:none}
.fathom .details,.fathom .found{font-size:12px}
.fathom .item{cursor:pointer}.fathom .item.held text{font-weight:600;text-decoration:underline}
.fathom .bar{display:flex;gap:4px;justify-content:flex-end;font:12px system-ui,sans-serif}
.fathom .bar *,.fathom .help{box-sizing:border-box;font:inherit;color:#1b1f24;background:#fff;border:1px solid #b8c0cc;border-radius:5px}
.fathom .bar input{flex:0 1 210px;min-width:60px;padding:3px 7px}.fathom .bar button{padding:3px 8px;cursor:pointer}
.fathom .bar button:disabled{opacity:.45;cursor:default}
.fathom .bar [aria-pressed=true]{background:#dbe7ff;border-color:#0b57d0}
.fathom .bar :focus-visible,.fathom .help:focus-visible,.fathom .item:focus-visible{outline:2px solid #0b57d0;outline-offset:1px}
.fathom .help{font:12px system-ui,sans-serif;padding:12px 16px;line-height:1.7}
.fathom .help b{display:inline-block;min-width:130px;font-weight:600}
` + (data.light ? "" : `@media(prefers-color-scheme:dark){
.fathom .bar *,.fathom .help{color:#e6e9ed;background:#23282f;border-color:#4b535e}
.fathom .bar [aria-pressed=true]{background:#1e3a66}.fathom .hit{stroke:#c4a5ff}.fathom .part{stroke:#7c63b0}.fathom .f text.on{fill:#14171b}
.fathom .ring{stroke:#fff}}`));
  svg.insertBefore(style, frames);

  const barBox = shape(head, "foreignObject", {y: 8, width: 430, height: 34});
  const bar = control(barBox, "div", {class: "bar"});
  const input = control(bar, "input", {type: "search", placeholder: "Search (regular expression)", title: "Search: Ctrl-F, F3 or /", "aria-label": "Search", spellcheck: "false"});
  const button = (text: string, title: string, action: () => void) => {
    const made = control(bar, "button", {type: "button", title, "aria-label": title}, text);
    made.addEventListener("click", action);
    return made;
  };
  const caseButton = button("Aa", "Match case (Ctrl-I)", () => go({exact: !state.exact}, true));
  const previousButton = button("‹", "Previous match (N)", () => step(-1));
  const nextButton = button("›", "Next match (n)", () => step(1));
  const resetButton = button("Reset", "Reset zoom and search (Esc)", () => go({zoom: 0, search: ""}));
  button("?", "Keys", () => toggleHelp());

  let helpBox: Element | null = null;
  const toggleHelp = () => {
    if (helpBox) {
      helpBox.remove();
      helpBox = null;
      return;
    }
    helpBox = shape(svg, "foreignObject", {x: Math.max(width - 470, 8), y: (standalone ? window.scrollY : 0) + 46,
      width: Math.min(460, width - 16), height: compact ? 460 : 330});
    const help = control(helpBox, "div", {class: "help", tabindex: "-1", role: "dialog", "aria-label": "Keys"});
    const lines = [["click, Enter", "zoom to the frame; a grey box: to its parent"], ["arrows", "to the frame beside, below or above"],
      ["Backspace", "zoom out by one frame"], ["Esc", "reset zoom and search"], ["Alt ←, Alt →", "back and forward through zooms"],
      ["Ctrl-F, F3, /", "search, a regular expression"], ["n, N", "next and previous match, largest first"],
      ["Ctrl-I, i", "match case or not"], ["c", "copy the frame's name"], ["legend", "point or click: only these frames"], ["?", "this help"]];
    for (const [key, meaning] of lines) {
      const line = control(help, "div", {});
      control(line, "b", {}, key);
      line.appendChild(document.createTextNode(meaning));
    }
    help.focus();
  };

  // Warnings, the legend and the notes are in lines for the picture's own width; in a window they are set anew.
  const paragraphsOf = (lines: Iterable<Element>) => {
    const all: Paragraph[] = [];
    for (const line of lines) {
      if (line.classList.contains("more")) all[all.length - 1].text += " " + line.textContent;
      else all.push({kind: line.getAttribute("class")!, text: line.textContent!});
      line.remove();
    }
    return all;
  };
  const firstWarning = head.querySelector("text.warn");
  const warningTop = firstWarning ? Number(firstWarning.getAttribute("y")) : 0;
  const oldWarnings = head.querySelectorAll("text.warn");
  const warnings = paragraphsOf(oldWarnings);
  const notes = paragraphsOf(foot.querySelectorAll(":scope > text"));
  // The lines of the paragraphs from `y` on; returns how many.
  const setParagraphs = (group: Element, paragraphs: Paragraph[], y: number) => {
    for (const line of group.querySelectorAll(":scope > text.set")) line.remove();
    const columns = Math.floor((width - 2 * data.pad) / (compact ? 7 : 6.3));  // short lines differ more from the mean
    let count = 0;
    const add = (kind: string, text: string) => shape(group, "text", {class: kind + " set", x: data.pad, y: y + 18 * count++}, text);
    for (const {kind, text} of paragraphs) {
      let line = "";
      for (const word of text.split(" ")) {
        if (line && columnsOf(line) + 1 + columnsOf(word) > columns) {
          add(kind, line);
          line = word;
        } else line += (line ? " " : "") + word;
      }
      add(kind, line);
    }
    return count;
  };
  const items = [...svg.querySelectorAll<SVGGElement>(".item")];
  const legendTop = items.length ? items[0].transform.baseVal[0].matrix.f : footTop + 4;
  const placeFoot = () => {
    let x = data.pad, y = legendTop;
    for (const item of items) {
      const room = item.getBBox().width + 18;
      if (x + room > width && x > data.pad) {
        x = data.pad;
        y += 18;
      }
      set(item, "transform", "translate(" + x + " " + y + ")");
      x += room;
    }
    return y + 4 + 18 * setParagraphs(foot, notes, y + 22) + 14 - footTop;
  };
  const placeHead = () => {
    const cut = (line: SVGTextElement, room: number) => {
      line.dataset.whole = line.dataset.whole || line.textContent;
      fit(line, line.dataset.whole, room);
    };
    const room = width - 2 * data.pad;
    cut(head.querySelector<SVGTextElement>("text.title")!, compact ? room : room - 390);
    cut(head.querySelector<SVGTextElement>("text.muted")!, room);
    top = data.top + 18 * (setParagraphs(head, warnings, warningTop) - oldWarnings.length) +
        (detailsLines() - 2) * detailsLine + (compact ? barLine : 0);
    set(head.querySelector(".bg")!, "height", top - 4);
    const y = top - 14 - (detailsLines() - 1) * detailsLine - (compact ? barLine : 0);
    set(details, "y", y);
    set(found, "y", y);
    set(found, "x", width - data.pad);
    const wide = Math.min(430, width - 2 * data.pad);
    set(barBox, "x", width - data.pad - wide);
    set(barBox, "width", wide);
    set(barBox, "y", compact ? top - barLine - 2 : 8);
  };
  // How much is joined depends on the width and on the zoom.
  const narrow = notes.find(({kind}) => kind.includes("narrow"));
  const countNarrow = () => {
    if (!narrow) return;
    const joined = boxes.filter((box) => box.hidden);
    const sum = (key: "hidden" | "value") => joined.reduce((all, box) => all + box[key], 0);
    narrow.text = !joined.length ? state.zoom ? "Every frame of this zoom is drawn." : "Every frame is drawn."
        : "Striped: " + grouped(sum("hidden")) + (sum("hidden") === 1 ? " frame" : " frames") + " narrower than " + +data.min.toFixed(2) + " pixels, joined in " +
          grouped(joined.length) + (joined.length === 1 ? " box; " : " boxes; ") + percent(sum("value") / total[state.zoom]) +
          (state.zoom ? " of the zoom" : " of all") + " ends in them. Zoom in to see them.";
  };
  const measure = () => {
    if (!standalone || !data.fluid) return;
    width = Math.max(320, document.documentElement.clientWidth || window.innerWidth);
    compact = width < 640;
  };
  const resize = () => {
    placeHead();
    height = top + rowCount * data.frame + placeFoot();
    set(svg, "width", width);
    set(svg, "height", height);
    set(svg, "viewBox", "0 0 " + width + " " + height);
    set(foot, "transform", "translate(0 " + ((rowCount - data.rows) * data.frame + top - data.top) + ")");
  };
  const stick = () => {
    if (standalone) set(head, "transform", "translate(0 " + Math.max(0, window.scrollY) + ")");
  };
  window.addEventListener("scroll", stick);
  window.addEventListener("resize", () => {
    if (standalone && data.fluid) draw();
    stick();
  });

  // ---- Pointer ----

  const boxAt = (event: MouseEvent): Box | null => {
    const matrix = svg.getScreenCTM();
    if (!matrix) return null;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const line = Math.floor((point.y - top) / data.frame);
    const row = rows[data.inverted ? line : rowCount - 1 - line] || [];
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
    if (box === hovered) return;
    hovered = box;
    say();
  });
  frames.addEventListener("pointerleave", () => {
    hovered = null;
    say();
  });
  frames.addEventListener("click", (event) => {
    const box = boxAt(event);
    if (!box) return;
    keyboard = false;
    current = box.node;
    if (box.node === state.zoom) draw();
    else go({zoom: box.node});
  });
  for (const item of svg.querySelectorAll<SVGGElement>(".item")) {
    const classes = new Set(item.dataset.classes!.split(" ").map(Number));
    const isolate = (set: Set<number> | null) => {
      isolated = set;
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

  // ---- Keyboard ----

  const focusOn = (node: number) => {
    current = node;
    keyboard = true;
    hovered = null;
    // Too narrow here or outside of the zoom: as little zoom as makes it 20 pixels wide.
    if (!boxOf(node)) {
      let around = node;
      while (around !== 0 && (total[node] / total[parent[around]]) * width >= 20) around = parent[around];
      go({zoom: around});
      current = node;
    }
    ring();
    say();
    reveal(depth[node]);
  };
  const step = (way: 1 | -1) => {
    if (!matches.length) return;
    const at = matches.indexOf(current);
    focusOn(matches[at < 0 ? (way > 0 ? 0 : matches.length - 1) : (at + way + matches.length) % matches.length]);
  };
  const move = (key: string) => {
    const away = data.inverted ? "ArrowDown" : "ArrowUp";
    if (!keyboard) {
      focusOn(current);
      return;
    }
    if (key === away) {
      const next = children(current).reduce((best, child) => (best < 0 || total[child] > total[best] ? child : best), -1);
      if (next >= 0) focusOn(next);
    } else if (key === "ArrowUp" || key === "ArrowDown") {
      if (current) focusOn(parent[current]);
    } else {
      const row = (rows[depth[current]] || []).filter((box) => !box.hidden);
      const beside = row[row.findIndex((box) => box.node === current) + (key === "ArrowLeft" ? -1 : 1)];
      if (beside) focusOn(beside.node);
    }
  };
  const copy = () => {
    const text = nameOf(hovered ? hovered.node : current);
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
        keyboard = false;
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
      if (keyboard && current !== state.zoom) go({zoom: current});
    } else if (key === "Backspace") {
      if (state.zoom) go({zoom: parent[state.zoom]});
    } else if (key === "n") step(1);
    else if (key === "N") step(-1);
    else if (key === "i") go({exact: !state.exact}, true);
    else if (key === "c") copy();
    else if (key === "?") toggleHelp();
    else done = false;
    if (done) event.preventDefault();
  });
  let typed = 0;
  input.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => go({search: input.value}, state.search !== ""), 120);
  });

  set(svg, "role", "application");
  set(frames, "role", "tree");
  set(frames, "tabindex", "0");
  set(frames, "aria-label", "Frames: arrows move, Enter zooms");
  frames.addEventListener("focus", () => {
    if (frames.matches(":focus-visible")) focusOn(current);
  });
  apply(read());
  // The root is where reading starts.
  if (standalone && !data.inverted && !state.zoom) window.scrollTo(0, height);
  stick();
