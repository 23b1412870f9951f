// The bar, the help and the warnings above the frames, the legend and the notes below them, and the size of the picture.
import keyTable from "keys:picture";
import { details, detailsLine, detailsLines, fit, found } from "./details";
import { columnsOf } from "./labels";
import { grouped, percent } from "./numbers";
import { control, data, foot, frames, head, set, shape, standalone, state, svg, total, view } from "./picture";

interface Paragraph { kind: string; text: string }
const barLine = 34, footTop = data.top + data.rows * data.frame;

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
export const bar = control(barBox, "div", {class: "bar"});
export const input = control(bar, "input", {type: "search", placeholder: "Search (regular expression)", title: "Search: Ctrl-F, F3 or /", "aria-label": "Search", spellcheck: "false"});
const button = (text: string, title: string) => control(bar, "button", {type: "button", title, "aria-label": title}, text);
export const caseButton = button("Aa", "Match case (Ctrl-I)");
export const previousButton = button("‹", "Previous match (p)");
export const nextButton = button("›", "Next match (n)");
export const resetButton = button("Reset", "Reset zoom and search (Esc)");
button("?", "Keys").addEventListener("click", () => toggleHelp());

export let helpBox: Element | null = null;
export const toggleHelp = () => {
  if (helpBox) {
    helpBox.remove();
    helpBox = null;
    return;
  }
  helpBox = shape(svg, "foreignObject", {x: Math.max(view.width - 470, 8), y: (standalone ? window.scrollY : 0) + 46,
    width: Math.min(460, view.width - 16), height: view.compact ? 460 : 330});
  const help = control(helpBox, "div", {class: "help", tabindex: "-1", role: "dialog", "aria-label": "Keys"});
  for (const [keys, , meaning] of keyTable) {
    const line = control(help, "div", {});
    control(line, "b", {}, keys.join(" "));
    line.appendChild(document.createTextNode(meaning));
  }
  help.focus();
};

// The lines of warnings and notes fit the width of the file's picture; for the width of a window they are broken again.
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
// Writes the paragraphs, the first line at `y`, and returns the number of lines.
const setParagraphs = (group: Element, paragraphs: Paragraph[], y: number) => {
  for (const line of group.querySelectorAll(":scope > text.set")) line.remove();
  const columns = Math.floor((view.width - 2 * data.pad) / (view.compact ? 7 : 6.3));  // short lines differ more from the mean
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
    if (item.hasAttribute("display")) continue;
    const room = item.getBBox().width + 18;
    if (x + room > view.width && x > data.pad) {
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
  const room = view.width - 2 * data.pad;
  cut(head.querySelector<SVGTextElement>("text.title")!, view.compact ? room : room - 390);
  cut(head.querySelector<SVGTextElement>("text.muted")!, room);
  view.top = data.top + 18 * (setParagraphs(head, warnings, warningTop) - oldWarnings.length) +
      (detailsLines() - 2) * detailsLine + (view.compact ? barLine : 0);
  set(head.querySelector(".bg")!, "height", view.top - 4);
  const y = view.top - 14 - (detailsLines() - 1) * detailsLine - (view.compact ? barLine : 0);
  set(details, "y", y);
  set(found, "y", y);
  set(found, "x", view.width - data.pad);
  const wide = Math.min(430, view.width - 2 * data.pad);
  set(barBox, "x", view.width - data.pad - wide);
  set(barBox, "width", wide);
  set(barBox, "y", view.compact ? view.top - barLine - 2 : 8);
};
// How much is joined depends on the width and on the zoom.
const narrowItem = items[items.length - 1];  // the last of the legend: "too narrow to draw"
const narrow = notes.find(({kind}) => kind.includes("narrow"));
export const countNarrow = () => {
  if (!narrow) return;
  const joined = view.boxes.filter((box) => box.hidden);
  if (joined.length) narrowItem.removeAttribute("display");
  else set(narrowItem, "display", "none");
  const sum = (key: "hidden" | "value") => joined.reduce((all, box) => all + box[key], 0);
  narrow.text = !joined.length ? state.zoom ? "Every frame of this zoom is drawn." : "Every frame is drawn."
      : "Too narrow to draw: " + grouped(sum("hidden")) + (sum("hidden") === 1 ? " frame" : " frames") + " narrower than " + +data.min.toFixed(2) + " pixels, joined in " +
        grouped(joined.length) + (joined.length === 1 ? " striped box; " : " striped boxes; ") + percent(sum("value") / total[state.zoom]) +
        (state.zoom ? " of the zoom" : " of all") + " ends in them. Zoom in to see them.";
};
export const measure = () => {
  if (!standalone || !data.fluid) return;
  view.width = Math.max(320, document.documentElement.clientWidth || window.innerWidth);
  view.compact = view.width < 640;
};
export const resize = () => {
  placeHead();
  view.height = view.top + view.rowCount * data.frame + placeFoot();
  set(svg, "width", view.width);
  set(svg, "height", view.height);
  set(svg, "viewBox", "0 0 " + view.width + " " + view.height);
  set(foot, "transform", "translate(0 " + ((view.rowCount - data.rows) * data.frame + view.top - data.top) + ")");
};
export const stick = () => {
  if (standalone) set(head, "transform", "translate(0 " + Math.max(0, window.scrollY) + ")");
};
window.addEventListener("scroll", stick);
