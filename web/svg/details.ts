// The details above the frames: the numbers of the frame that the pointer or the keyboard is at, and the share of the matches.
import { error, grouped, percent, percentNumber } from "./numbers";
import { boxOf, data, head, hiddenHits, inlined, isNoise, kindOf, known, nameOf, quantity, self, shape, sides, state, symbolOf, symbols, total, view, waker, type Box } from "./picture";

export const tip = shape(null, "title", {});

const compared = (node: number) => {
  const [before, after] = sides!.map((side) => side[node] * data.compare!.scale);
  const text = (value: number) => (data.compare!.percent ? percent(value) : quantity(value, data.compare!.unit));
  const change = after === before ? "no change" : before === 0 ? "new" : after === 0 ? "gone"
      : (after > before ? "+" : "") + percent((after - before) / before);
  return "base " + text(before) + ", new " + text(after) + ": " + change + (isNoise(node) && after !== before ? ", no more than noise" : "");
};
export const describe = (box: Box) => {
  const node = box.node;
  const all = box.value / total[0];
  const uncertain = data.effective > 0 && box.value < total[0]
      ? " ±" + percentNumber(error(all, data.effective)) : "";
  const parts = sides ? (box.hidden ? [] : [compared(node)]) : [percent(all) + uncertain + " of all"];
  if (state.zoom !== 0 && !box.above && !sides) parts.push(percent(box.value / total[state.zoom]) + " of zoom");
  if (!sides) parts.push("total " + known(box.value));
  if (box.hidden) {
    const hits = view.pattern ? hiddenHits(box) : 0;
    return parts.join(" · ") + (parts.length ? " — " : "") + grouped(box.hidden) + (box.hidden === 1 ? " frame" : " frames") +
        " too narrow to draw, above " + nameOf(node) + (hits ? " (" + hits + " match)" : "") + "; click to zoom";
  }
  if (!data.reverse && !sides) parts.push("self " + known(self[node]) + " (" + percent(self[node] / total[0]) + ")");
  if (waker[node]) parts.push(waker[node]);
  const { module, place } = symbols[symbolOf[node]];
  return parts.join(" · ") + " — " + kindOf(node) + nameOf(node) + (place ? ", " + place : "") + (module ? (module.startsWith("[") ? " " + module : " [" + module + "]") : "") +
      (inlined[node] ? " (inlined)" : "");
};
// Two lines, because names of templates and futures are long; four on a phone.
export const detailsLine = 15;
export const detailsLines = () => (view.compact ? 4 : 2);
export const details = shape(head, "text", {class: "details", x: data.pad, role: "status", "aria-live": "polite"});
export const found = shape(head, "text", {class: "found", "text-anchor": "end", role: "status"});
export const fit = (node: SVGTextContentElement, text: string, room: number) => {
  node.textContent = text;
  const length = node.getComputedTextLength();
  if (length <= room || !length) return;
  const characters = [...text];
  node.textContent = characters.slice(0, Math.max(0, Math.floor((characters.length * room) / length) - 2)).join("") + "…";
};
// The text in at most `most` lines: the first is `room` wide, the others `wide`. Lines break after a word or a part of a name.
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
export const say = () => {
  let result = "";
  if (view.patternError) result = view.patternError;
  else if (view.pattern) {
    result = "Matched: " + percent(view.matched / total[0]) + " of all" +
        (state.zoom ? ", " + percent(view.matchedZoom / total[state.zoom]) + " of zoom" : "") + " (" + grouped(view.matches.length) +
        (view.matches.length === 1 ? " frame)" : " frames)");
  }
  found.textContent = result;
  const box = view.hovered || (view.keyboard ? boxOf(view.current) : null);
  const idle = state.zoom ? describe(boxOf(state.zoom)!) : view.compact ? "Tap a frame for its numbers and to zoom"
      : "Point at a frame for its numbers, click to zoom, press ? for the keys";
  fitLines(details, box ? describe(box) : idle, view.width - 2 * data.pad - (result ? found.getComputedTextLength() + 24 : 0),
      view.width - 2 * data.pad, detailsLines());
  tip.textContent = view.hovered ? describe(view.hovered).split(" — ").reverse().join("\n") : "";
};
