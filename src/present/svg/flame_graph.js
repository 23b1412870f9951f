// What a flame graph does in a browser: zoom, search, details, history, keyboard. It reads the call tree from <metadata>
// (flame_graph_data.h says how it is written), and from then on draws the frames itself. State lives in the URL's fragment
// (#z=NODE&s=SEARCH&c=1), so that back, forward, reload and a copied address work, also from a file. Lines that begin with
// two slashes and indentation do not go into the pictures.
"use strict";
(() => {
  const svg = document.currentScript.closest("svg");
  const lines = svg.querySelector("metadata").textContent.split("\n");
  const data = JSON.parse(lines[0]);
  const SVG = "http://www.w3.org/2000/svg";
  const HTML = "http://www.w3.org/1999/xhtml";
  const HIDDEN = data.classes.length;
  const standalone = document.documentElement === svg;

  // ---- The tree ----

  const numbers = function* (text) {
    const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const values = new Map([...digits].map((digit, value) => [digit, value]));
    let number = 0, scale = 1;
    for (const digit of text) {
      const value = values.get(digit);
      number += (value & 31) * scale;
      scale *= 32;
      if (value < 32) {
        yield number;
        number = 0;
        scale = 1;
      }
    }
  };

  const names = [];
  for (const line of lines.slice(3)) {
    let end = 0;
    while ("ghijklmnopqrstuvwxyz0123456789-_".includes(line[end])) end++;
    const shared = numbers(line.slice(0, end + 1)).next().value;
    names.push((names.length ? names[names.length - 1].slice(0, shared) : "") + line.slice(end + 1));
  }
  const symbols = [];
  {
    const rest = numbers(lines[1]);
    let name = 0;
    for (let step = rest.next(); !step.done; step = rest.next()) {
      name += step.value;
      symbols.push({name: names[name], module: data.modules[rest.next().value], color: rest.next().value, hit: false});
    }
  }
  // Per node, depth first: a node's subtree is the nodes up to `end`.
  const symbolOf = [], parent = [], depth = [], self = [], inlined = [];
  {
    const rest = numbers(lines[2]), firstChild = symbols.map(() => 0);
    for (let step = rest.next(); !step.done; step = rest.next()) {
      const node = symbolOf.length, flags = step.value, up = Math.floor(flags / 8);
      let above = node - 1;
      for (let level = up; level > 0; level--) above = parent[above];
      const symbol = flags & 4 ? firstChild[symbolOf[above]] : rest.next().value;
      if (node > 0 && up === 0) firstChild[symbolOf[above]] = symbol;
      symbolOf.push(symbol);
      parent.push(Math.max(above, 0));
      depth.push(node === 0 ? 0 : depth[above] + 1);
      inlined.push((flags & 2) !== 0);
      self.push(flags & 1 ? rest.next().value : 0);
    }
  }
  const count = symbolOf.length;
  const total = self.slice(), end = [];
  for (let node = 0; node < count; node++) end.push(node + 1);
  for (let node = count - 1; node > 0; node--) {
    total[parent[node]] += total[node];
    end[parent[node]] = Math.max(end[parent[node]], end[node]);
  }
  // Of a comparison: what each frame is worth on both sides, with what it calls.
  const sides = data.compare ? [data.compare.base, data.compare.new].map((text) => [...numbers(text)]) : null;
  if (sides) for (const side of sides) for (let node = count - 1; node > 0; node--) side[parent[node]] += side[node];
  const nameOf = (node) => (node === 0 ? data.root : symbols[symbolOf[node]].name);
  const kindOf = (node) => (node === 0 ? "" : data.threads && depth[node] === 1 ? "Thread: " : data.type + ": ");
  const children = (node) => {
    const all = [];
    for (let child = node + 1; child < end[node]; child = end[child]) all.push(child);
    return all;
  };

  // ---- Numbers and names in words, as flame_graph_text.cpp and analysis/core/words.cpp have them ----

  const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
  const percentNumber = (share) => (share * 100).toFixed(share !== 0 && share * 100 < 0.995 ? 2 : 1);
  const percent = (share) => percentNumber(share) + " %";
  const quantity = (value, unit = data.unit) => {
    const scaled = (steps) => {
      const [size, unit, digits] = steps.find(([size]) => value >= size) || steps[steps.length - 1];
      return (digits < 0 ? Number((value / size).toPrecision(3)) : (value / size).toFixed(digits)) + " " + unit;
    };
    if (data.count && unit === data.unit) return grouped(value) + " " + data.count;
    if (unit === "ns") return scaled([[1e11, "s", 0, 1e9], [1e9, "s", 2], [1e6, "ms", -1], [1e3, "us", -1], [1, "ns", 0]]
        .map(([from, unit, digits, size]) => (value >= from && size ? [size, unit, digits] : [from, unit, digits])));
    if (unit === "bytes") return scaled([[2 ** 40, "TiB", 1], [2 ** 30, "GiB", 1], [2 ** 20, "MiB", 1], [1024, "KiB", 1], [1, "bytes", 0]]);
    return grouped(value) + " " + (unit === "samples" && value === 1 ? "sample" : unit);
  };
  // Half the Wilson interval at 95 %.
  const error = (share, samples) => {
    const z = 1.959963984540054, z2 = z * z;
    return (z * Math.sqrt((share * (1 - share)) / samples + z2 / (4 * samples * samples))) / (1 + z2 / samples);
  };
  // With the digits that are known, as analysis/core/rounding.cpp has it: what was sampled is a multiple of what was seen.
  const lastKnownDigit = (error) => (error < 1 ? 1 : 10 ** Math.floor(Math.log10(error)));
  const known = (value) => {
    if (!data.estimated || data.count || value === 0) return quantity(value);
    const samples = (data.effective * value) / total[0], error = (1.959964 * value) / Math.sqrt(Math.max(1, samples));
    let unit = 1;
    if (data.unit === "bytes") while (value >= 1024 * unit && unit < 2 ** 40) unit *= 1024;
    if (error < unit) return quantity(value);
    const digit = lastKnownDigit(error / unit) * unit;
    return quantity(Math.round(value / digit) * digit).replace(".0 ", " ");
  };
  const wide = (point) => (point >= 0x1100 && point < 0x1160) || (point >= 0x2e80 && point < 0xa4d0) ||
      (point >= 0xac00 && point < 0xd7a4) || (point >= 0xf900 && point < 0xfb00) || (point >= 0xfe30 && point < 0xfe70) ||
      (point >= 0xff00 && point < 0xff61) || point >= 0x1f300;
  const columnsOf = (text) => {
    let columns = 0;
    for (const character of text) columns += wide(character.codePointAt(0)) ? 2 : 1;
    return columns;
  };
  const skipBrackets = (name, open) => {
    let level = 0;
    for (let i = open; i < name.length; i++) {
      const c = name[i];
      if ("<([{".includes(c)) level++;
      if ((c === ">" && name[i - 1] !== "-") || ")]}".includes(c)) {
        if (--level === 0) return i + 1;
      }
    }
    return name.length;
  };
  const isWord = (c) => /^[A-Za-z0-9_$]$/.test(c);
  const plainPath = (path) => {
    const anonymous = "(anonymous namespace)";
    let out = "";
    for (let i = 0; i < path.length;) {
      const startsWord = out === "" || !isWord(out[out.length - 1]);
      if (startsWord && path.startsWith("operator", i) && !isWord(path[i + 8] || "")) {
        let stop = path.indexOf("(", i + 8);
        if (stop === i + 8) stop = path.indexOf("(", stop + 1);
        return out + (stop < 0 ? path.slice(i) : path.slice(i, stop));
      }
      if (path.startsWith(anonymous, i)) {
        i += anonymous.length;
        if (path.startsWith("::", i)) i += 2;
      } else if (path[i] === "<" && out !== "" && !out.endsWith(" ")) {
        i = skipBrackets(path, i);
      } else if (path[i] === "(" && out !== "") {
        break;
      } else if (path[i] === "{") {
        const stop = skipBrackets(path, i);
        out += path.slice(i, stop);
        i = stop;
      } else if (path[i] === " ") {
        out = "";
        i++;
      } else {
        out += path[i++];
      }
    }
    while (out.includes("::::")) out = out.replace("::::", "::");
    while (out.length > 2 && out.endsWith("::")) out = out.slice(0, -2);
    return out;
  };
  const shortName = (name) => {
    let out = "";
    if (name.startsWith("<")) {
      const stop = skipBrackets(name, 0);
      let type = name.slice(1, stop >= 2 && name[stop - 1] === ">" ? stop - 1 : stop);
      const as = type.indexOf(" as ");
      if (as >= 0) type = type.slice(0, as);
      const path = plainPath(type);
      out = path.slice(path.lastIndexOf("::") < 0 ? 0 : path.lastIndexOf("::") + 2) + plainPath(name.slice(stop));
    } else if (name !== "" && !name.startsWith("[")) {
      out = plainPath(name);
    }
    return out || name;
  };
  const cutInFront = (name, columns) => {
    let used = 1, tail = "";
    for (const character of [...name].reverse()) {
      used += columnsOf(character);
      if (used > columns) break;
      tail = character + tail;
    }
    return "…" + tail;
  };
  // Names of Go, Swift, D, Java and Python, as analysis/core/prose_name.cpp knows them.
  const isDotted = (name) => {
    if (name.includes("::") || name.startsWith("[") || name.startsWith("decltype (") || generated(name)) return false;
    let level = 0;
    for (let i = 0; i < name.length; i++) {
      const c = name[i];
      if ("<([{".includes(c)) level++;
      if (")]}".includes(c) || (c === ">" && (i === 0 || !"-=".includes(name[i - 1])))) level--;
      if (level === 0 && i !== 0 && c === "." && i + 1 < name.length && name[i + 1] !== "." && name[i - 1] !== "." &&
          !name.includes(" [clone ")) return true;
      if (level === 0 && i !== 0 && name.startsWith(" (", i) && name.endsWith(")") && !name.endsWith("(inlined)")) return true;
    }
    return name.startsWith("<") && !name.includes(" as ");
  };
  const withoutFirstPart = (name) => {
    const pathEnd = name.search(/[( ]/), slash = name.indexOf("/");
    if (slash >= 0 && (pathEnd < 0 || slash < pathEnd)) return name.slice(slash + 1);
    for (let i = 0; i < name.length; i++) {
      if (name[i] === "(" && i !== 0 && name[i - 1] !== " ") return "";
      if ("(<[".includes(name[i])) i = skipBrackets(name, i) - 1;
      if (name[i] === ".") return name.slice(i + 1);
    }
    return "";
  };
  const withoutDottedArguments = (name) => {
    for (let i = 1; i < name.length; i++) {
      if ("<[".includes(name[i - 1])) i = skipBrackets(name, i - 1);
      if (name[i] === "(" && name[i - 1] !== ".") return name.slice(0, name[i - 1] === " " ? i - 1 : i);
    }
    return name;
  };
  const dottedLabel = (name, columns) => {
    const plain = withoutDottedArguments(name);
    if (columnsOf(plain) <= columns) return plain;
    for (let rest = withoutFirstPart(plain); rest !== ""; rest = withoutFirstPart(rest))
      if (columnsOf(rest) + 1 <= columns) return "…" + rest;
    return cutInFront(plain, columns);
  };
  // Names of code that a run time made, as analysis/core/generated_name.cpp reads them: [function, place].
  const generated = (name) => {
    const python = /^py::([^:]+):(.*)$/s.exec(name);
    if (python) return [python[1], python[2].slice(python[2].lastIndexOf("/") + 1)];
    const script = /^(?:LazyCompile|JS|Function|Script|Eval|InterpretedFunction):[*~^+'`]*(.*:[0-9]+):[0-9]+$/s.exec(name);
    if (!script) return null;
    const line = script[1].lastIndexOf(":");
    let blank = script[1].indexOf(" /");
    if (blank < 0) blank = script[1].indexOf(" file://");
    if (blank < 0) blank = script[1].lastIndexOf(" ", line);
    if (blank < 0 || blank > line) return null;
    const path = script[1].slice(blank + 1);
    return [script[1].slice(0, blank), path.slice(path.lastIndexOf("/") + 1)];
  };
  const label = (name, columns) => {
    if (columnsOf(name) <= columns) return name;
    if (columns < 5) return "";
    if (isDotted(name)) return dottedLabel(name, columns);
    const made = generated(name);
    if (made && made[0] !== "") {
      const full = made.join(" ");
      return columnsOf(full) <= columns ? full : columnsOf(made[0]) <= columns ? made[0] : cutInFront(made[0], columns);
    }
    const plain = shortName(name);
    if (columnsOf(plain) <= columns) return plain;
    for (let rest = plain, at = rest.indexOf("::"); at >= 0; at = rest.indexOf("::")) {
      rest = rest.slice(at + 2);
      if (rest !== "" && columnsOf(rest) + 1 <= columns) return "…" + rest;
    }
    return cutInFront(plain, columns);
  };

  // ---- What is shown ----

  const state = {zoom: 0, search: "", exact: false};  // in the URL
  let current = 0;          // the frame that the keyboard is at
  let keyboard = false;     // whether to show where that is
  let hovered = null;       // a box
  let isolated = null;      // classes of a legend's item that is pointed at or held
  let held = null;
  let boxes = [], rows = [];  // of the drawing: all, and per row from left to right
  let width = data.width, height = 0, rowCount = data.rows;
  let top = data.top;         // of the frames
  let compact = false;        // a phone: the bar has a line of its own, and details have four
  let pattern = null, patternError = "";
  let matches = [], matched = 0, matchedZoom = 0;

  const element = (parentNode, namespace, name, attributes, text) => {
    const made = document.createElementNS(namespace, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parentNode) parentNode.appendChild(made);
    return made;
  };
  const frames = svg.querySelector(".f"), head = svg.querySelector(".head"), foot = svg.querySelector(".foot");
  const footTop = data.top + data.rows * data.frame;
  const tip = element(null, SVG, "title", {});

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
      const node = pending.pop();
      let left = x.get(node);
      boxes.push({node, hidden: 0, row: depth[node], x: left, width: total[node] * scale, value: total[node]});
      let hidden = 0, value = 0;
      const drawn = [];
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

  const yOf = (row) => top + (data.inverted ? row : rowCount - 1 - row) * data.frame;

  const isHit = (box) => {
    if (!pattern) return false;
    if (!box.hidden) return box.node !== 0 && symbols[symbolOf[box.node]].hit;
    return hiddenHits(box) > 0;
  };
  // Matches among the frames that a grey box stands for.
  const hiddenHits = (box) => {
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
    const texts = [];
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
    for (const [kind, line] of paths) element(shapes, SVG, "path", {class: kind, d: line});
    for (const [box, text, y, kind] of texts) {
      const made = element(shapes, SVG, "text", {x: (data.pad + box.x + 3).toFixed(2), y: y + data.font * 0.35}, text);
      if (kind) made.setAttribute("class", kind);
      if (box.hidden) continue;
      made.id = "fathom-" + box.node;
      made.setAttribute("role", "treeitem");
      made.setAttribute("aria-level", box.row + 1);
      made.setAttribute("aria-label", describe(box));
    }
    frames.replaceChildren(shapes);
    ring();
    say();
  };

  // ---- Details ----

  const compared = (node) => {
    const [before, after] = sides.map((side) => side[node] * data.compare.scale);
    const text = (value) => (data.compare.percent ? percent(value) : quantity(value, data.compare.unit));
    const change = after === before ? "no change" : before === 0 ? "new" : after === 0 ? "gone"
        : (after > before ? "+" : "") + percent((after - before) / before);
    return "base " + text(before) + ", new " + text(after) + ": " + change;
  };
  const describe = (box) => {
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
  const details = element(head, SVG, "text", {class: "details", x: data.pad, role: "status", "aria-live": "polite"});
  const found = element(head, SVG, "text", {class: "found", "text-anchor": "end", role: "status"});
  const fit = (node, text, room) => {
    node.textContent = text;
    const length = node.getComputedTextLength();
    if (length <= room || !length) return;
    const characters = [...text];
    node.textContent = characters.slice(0, Math.max(0, Math.floor((characters.length * room) / length) - 2)).join("") + "…";
  };
  // The text in `most` lines, of which the first is `room` wide and the others `wide`; broken where a word or a part of a name
  // ends.
  const fitLines = (node, text, room, wide, most) => {
    node.textContent = text;
    const length = node.getComputedTextLength();
    if (length <= room || !length) return;
    node.textContent = "";
    let rest = [...text];
    for (let line = 0; rest.length; line++) {
      const made = element(node, SVG, "tspan", line ? {x: data.pad, dy: detailsLine} : {x: data.pad});
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
  const boxOf = (node) => boxes.find((box) => !box.hidden && box.node === node);
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
    const idle = state.zoom ? describe(boxOf(state.zoom)) : compact ? "Tap a frame for its numbers and to zoom"
        : "Point at a frame for its numbers, click to zoom, press ? for the keys";
    fitLines(details, box ? describe(box) : idle, width - 2 * data.pad - (result ? found.getComputedTextLength() + 24 : 0),
        width - 2 * data.pad, detailsLines());
    tip.textContent = hovered ? describe(hovered).split(" — ").reverse().join("\n") : "";
  };

  const ringLine = element(null, SVG, "rect", {class: "ring"});
  const ring = () => {
    const box = keyboard ? boxOf(current) : null;
    frames.setAttribute("aria-activedescendant", box ? "fathom-" + current : "");
    if (!box) {
      ringLine.remove();
      return;
    }
    const at = {x: data.pad + box.x - 1, y: yOf(box.row) - 1, width: Math.max(box.width + 1, 3), height: data.frame + 1};
    for (const key in at) ringLine.setAttribute(key, at[key]);
    frames.appendChild(ringLine);
  };
  // Brings a row into the window, clear of the head.
  const reveal = (row) => {
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
  const apply = (next) => {
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
    const addUp = (from, to) => {
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
    caseButton.setAttribute("aria-pressed", state.exact);
    for (const button of [previousButton, nextButton]) button.disabled = matches.length === 0;
    resetButton.disabled = !state.zoom && !state.search;
    draw();
    if (moved) reveal(depth[state.zoom]);
  };
  // `replace`: no step of its own in the history, for each letter of a search.
  const go = (change, replace) => {
    const next = Object.assign({}, state, change);
    const parameters = new URLSearchParams();
    if (next.zoom) parameters.set("z", next.zoom);
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

  const style = element(null, SVG, "style", {}, `
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

  const barBox = element(head, SVG, "foreignObject", {y: 8, width: 430, height: 34});
  const bar = element(barBox, HTML, "div", {class: "bar"});
  const input = element(bar, HTML, "input", {type: "search", placeholder: "Search (regular expression)", title: "Search: Ctrl-F, F3 or /", "aria-label": "Search", spellcheck: "false"});
  const button = (text, title, action) => {
    const made = element(bar, HTML, "button", {type: "button", title, "aria-label": title}, text);
    made.addEventListener("click", action);
    return made;
  };
  const caseButton = button("Aa", "Match case (Ctrl-I)", () => go({exact: !state.exact}, true));
  const previousButton = button("‹", "Previous match (N)", () => step(-1));
  const nextButton = button("›", "Next match (n)", () => step(1));
  const resetButton = button("Reset", "Reset zoom and search (Esc)", () => go({zoom: 0, search: ""}));
  button("?", "Keys", () => toggleHelp());

  let helpBox = null;
  const toggleHelp = () => {
    if (helpBox) {
      helpBox.remove();
      helpBox = null;
      return;
    }
    helpBox = element(svg, SVG, "foreignObject", {x: Math.max(width - 470, 8), y: (standalone ? window.scrollY : 0) + 46,
      width: Math.min(460, width - 16), height: compact ? 460 : 330});
    const help = element(helpBox, HTML, "div", {class: "help", tabindex: "-1", role: "dialog", "aria-label": "Keys"});
    const lines = [["click, Enter", "zoom to the frame; a grey box: to its parent"], ["arrows", "to the frame beside, below or above"],
      ["Backspace", "zoom out by one frame"], ["Esc", "reset zoom and search"], ["Alt ←, Alt →", "back and forward through zooms"],
      ["Ctrl-F, F3, /", "search, a regular expression"], ["n, N", "next and previous match, largest first"],
      ["Ctrl-I, i", "match case or not"], ["c", "copy the frame's name"], ["legend", "point or click: only these frames"], ["?", "this help"]];
    for (const [key, meaning] of lines) {
      const line = element(help, HTML, "div", {});
      element(line, HTML, "b", {}, key);
      line.appendChild(document.createTextNode(meaning));
    }
    help.focus();
  };

  // Warnings, the legend and the notes are in lines for the picture's own width; in a window they are set anew.
  const paragraphsOf = (lines) => {
    const all = [];
    for (const line of lines) {
      if (line.classList.contains("more")) all[all.length - 1].text += " " + line.textContent;
      else all.push({kind: line.getAttribute("class"), text: line.textContent});
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
  const setParagraphs = (group, paragraphs, y) => {
    for (const line of group.querySelectorAll(":scope > text.set")) line.remove();
    const columns = Math.floor((width - 2 * data.pad) / (compact ? 7 : 6.3));  // short lines differ more from the mean
    let count = 0;
    const add = (kind, text) => element(group, SVG, "text", {class: kind + " set", x: data.pad, y: y + 18 * count++}, text);
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
  const items = [...svg.querySelectorAll(".item")];
  const legendTop = items.length ? items[0].transform.baseVal[0].matrix.f : footTop + 4;
  const placeFoot = () => {
    let x = data.pad, y = legendTop;
    for (const item of items) {
      const room = item.getBBox().width + 18;
      if (x + room > width && x > data.pad) {
        x = data.pad;
        y += 18;
      }
      item.setAttribute("transform", "translate(" + x + " " + y + ")");
      x += room;
    }
    return y + 4 + 18 * setParagraphs(foot, notes, y + 22) + 14 - footTop;
  };
  const placeHead = () => {
    const cut = (line, room) => {
      line.dataset.whole = line.dataset.whole || line.textContent;
      fit(line, line.dataset.whole, room);
    };
    const room = width - 2 * data.pad;
    cut(head.querySelector("text.title"), compact ? room : room - 390);
    cut(head.querySelector("text.muted"), room);
    top = data.top + 18 * (setParagraphs(head, warnings, warningTop) - oldWarnings.length) +
        (detailsLines() - 2) * detailsLine + (compact ? barLine : 0);
    head.querySelector(".bg").setAttribute("height", top - 4);
    const y = top - 14 - (detailsLines() - 1) * detailsLine - (compact ? barLine : 0);
    details.setAttribute("y", y);
    found.setAttribute("y", y);
    found.setAttribute("x", width - data.pad);
    const wide = Math.min(430, width - 2 * data.pad);
    barBox.setAttribute("x", width - data.pad - wide);
    barBox.setAttribute("width", wide);
    barBox.setAttribute("y", compact ? top - barLine - 2 : 8);
  };
  // How much is joined depends on the width and on the zoom.
  const narrow = notes.find(({kind}) => kind.includes("narrow"));
  const countNarrow = () => {
    if (!narrow) return;
    const joined = boxes.filter((box) => box.hidden);
    const sum = (key) => joined.reduce((all, box) => all + box[key], 0);
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
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    foot.setAttribute("transform", "translate(0 " + ((rowCount - data.rows) * data.frame + top - data.top) + ")");
  };
  const stick = () => {
    if (standalone) head.setAttribute("transform", "translate(0 " + Math.max(0, window.scrollY) + ")");
  };
  window.addEventListener("scroll", stick);
  window.addEventListener("resize", () => {
    if (standalone && data.fluid) draw();
    stick();
  });

  // ---- Pointer ----

  const boxAt = (event) => {
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
  for (const item of svg.querySelectorAll(".item")) {
    const classes = new Set(item.dataset.classes.split(" ").map(Number));
    const isolate = (set) => {
      isolated = set;
      draw();
    };
    const hold = () => {
      if (held) held.classList.remove("held");
      held = held === item ? null : item;
      if (held) held.classList.add("held");
      item.setAttribute("aria-pressed", held === item);
      item.isolated = held ? classes : null;
      isolate(held ? classes : null);
    };
    item.setAttribute("role", "button");
    item.setAttribute("tabindex", "0");
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

  const focusOn = (node) => {
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
  const step = (way) => {
    if (!matches.length) return;
    const at = matches.indexOf(current);
    focusOn(matches[at < 0 ? (way > 0 ? 0 : matches.length - 1) : (at + way + matches.length) % matches.length]);
  };
  const move = (key) => {
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
      const area = element(bar, HTML, "textarea", {});
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
    else if (key === "Enter" && event.target.localName !== "button") {
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

  svg.setAttribute("role", "application");
  frames.setAttribute("role", "tree");
  frames.setAttribute("tabindex", "0");
  frames.setAttribute("aria-label", "Frames: arrows move, Enter zooms");
  frames.addEventListener("focus", () => {
    if (frames.matches(":focus-visible")) focusOn(current);
  });
  apply(read());
  // The root is where reading starts.
  if (standalone && !data.inverted && !state.zoom) window.scrollTo(0, height);
  stick();
})();
