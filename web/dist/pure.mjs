// src/names.ts
function foldGenerics(name) {
  let out = "", depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === "<" && name[i - 1] !== "-" && !out.endsWith("operator") && !(depth === 0 && (i === 0 || name[i - 1] === " "))) {
      if (depth++ === 0) out += "<…";
    } else if (c === ">" && depth > 0 && name[i - 1] !== "-") {
      if (--depth === 0) out += ">";
    } else if (depth === 0) out += c;
  }
  return depth === 0 ? out : name;
}
function foldArguments(name) {
  const end = name.lastIndexOf(")");
  if (end < 0 || !/^( const| volatile| &&?|&&?)*( \[.*\])?$/.test(name.slice(end + 1))) return name;
  for (let i = end, depth = 0; i > 0; i--) {
    if (name[i] === ")") depth++;
    else if (name[i] === "(" && --depth === 0) return i + 1 === end || name[i - 1] === " " ? name : `${name.slice(0, i)}(…)`;
  }
  return name;
}
function fitted(name, room, width) {
  if (width(name) <= room) return name;
  let short = foldArguments(name);
  if (width(short) <= room) return short;
  short = foldGenerics(short);
  if (width(short) <= room) return short;
  let last = short;
  for (let i = 0, depth = 0; i + 1 < short.length; i++) {
    if ("<([{".includes(short[i])) depth++;
    else if (">)]}".includes(short[i])) depth--;
    if (depth !== 0 || short[i] !== ":" || short[i + 1] !== ":" || short[i + 2] === "{") continue;
    last = short.slice(i + 2);
    if (width(`…::${last}`) <= room) return `…::${last}`;
  }
  last = last.replace(/(?<!operator)\(…?\)$/, "");
  if (width(last) > room) last = last.replace(/<…>$/, "");
  if (width(last) <= room) return last;
  const characters = Math.floor(room / Math.max(1, width("0"))) - 1, tail = Math.floor(characters / 3);
  if (characters < 2) return "";
  return characters < 7 || /[/.]/.test(last) ? `…${last.slice(-characters)}` : `${last.slice(0, characters - tail)}…${last.slice(-tail)}`;
}

// src/words.ts
var digits = (value) => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
var withCommas = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
function seconds(value) {
  if (value === 0) return "0 s";
  if (value < 1e-3) return `${digits(value * 1e6)} us`;
  if (value < 1) return `${digits(value * 1e3)} ms`;
  if (value < 600) return `${digits(value)} s`;
  const minutes = Math.floor(value / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(value % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
function bytes(value) {
  let unit = 0;
  for (value = Math.abs(value) < 1 ? Math.round(value) : value; value >= 1024 && unit < 4; unit++) value /= 1024;
  return unit === 0 ? `${Math.round(value)} B` : `${digits(value)} ${["", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}
function amount(value, unit) {
  if (unit === "ns") return seconds(value / 1e9);
  if (unit === "bytes") return bytes(value);
  return `${withCommas(value)} ${Math.round(value) === 1 && unit.endsWith("s") ? unit.slice(0, -1) : unit}`;
}
function quantity(value, unit) {
  if (unit === "bytes") return bytes(value);
  if (unit === "ns" || unit === "us") return seconds(value / (unit === "ns" ? 1e9 : 1e6));
  const text = Number.isInteger(value) || value >= 1e3 ? withCommas(value) : value.toPrecision(3);
  return unit && unit !== "count" ? `${text} ${unit}` : text;
}
function percent(share) {
  const value = 100 * share;
  return `${value >= 99.95 ? "100" : value >= 10 || value === 0 ? value.toFixed(value === 0 ? 0 : 1) : value >= 0.095 ? value.toFixed(1) : value.toFixed(2)} %`;
}
function figure(value, unit, error = 0, sign = false) {
  const mark = sign && value > 0 ? "+" : value < 0 ? "−" : "", size = Math.abs(value);
  if (unit === "cores" || unit === "threads" || unit === "share") {
    const known2 = 100 * (error > 0 ? error : size);
    return `${mark}${(100 * size).toFixed(known2 >= 0.995 || known2 === 0 ? 1 : known2 >= 0.0995 ? 2 : 3)} %`;
  }
  if (unit === "per second") return `${mark}${size >= 100 ? withCommas(size) : digits(size)}/s`;
  if (unit === "count") return `${mark}${size >= 100 ? withCommas(size) : digits(size)}`;
  if (unit === "ns") return `${mark}${seconds(size / 1e9)}`;
  return `${mark}${bytes(size)}${unit === "bytes" ? "" : "/s"}`;
}
function ofBase(change) {
  if (change.base <= 0) return change.fresh > 0 ? "new" : "";
  if (change.fresh <= 0) return "gone";
  const ratio = change.fresh / change.base;
  return ratio >= 10 ? `${ratio.toFixed(0)} times` : `${ratio >= 1 ? "+" : "−"}${Math.abs(100 * (ratio - 1)).toFixed(1)} %`;
}
function matcher(pattern) {
  if (pattern.length > 2 && pattern.startsWith("/") && pattern.endsWith("/")) {
    try {
      const expression = new RegExp(pattern.slice(1, -1));
      return (name) => expression.test(name);
    } catch {
      return () => false;
    }
  }
  return (name) => pattern !== "" && name.includes(pattern);
}
var groupOf = (pattern) => /^(module|crate):(?!:)(.+)$/s.exec(pattern);
function placeMatcher(doc, pattern) {
  const group = groupOf(pattern), matches = matcher(group ? group[2] : pattern);
  if (!group) return (place) => matches(doc.name[place]);
  const of = group[1] === "module" ? doc.module : doc.crate;
  return (place) => doc.kind[place] !== 6 /* cause */ && doc.kind[place] !== 7 /* idle */ && matches(of[place]);
}
function groupPattern(kind, name, all) {
  const alone = !name.startsWith("/") && !all.some((other) => other !== name && other.includes(name));
  return `${kind}:${alone ? name : `/^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$/`}`;
}
function patternText(word, pattern) {
  const group = groupOf(pattern), wait = /^\[wait: (.+)\]$/s.exec(pattern);
  const text = group ? `${group[1]} ${group[2].replace(/^\/\^(.*)\$\/$/s, "$1").replace(/\\(.)/g, "$1")}` : wait ? `waits for ${wait[1]}` : null;
  return text === null ? `${word} ${foldGenerics(pattern)}` : word === "focus" ? text : `${word} ${text}`;
}
var leastOf = ([first]) => first === 0 ? 0 : 2 ** (first - 1);
var known = 53;
var askedSize = (sizes) => `${leastOf(sizes)}:${sizes[1] > known ? "" : 2 ** (sizes[1] - 1) - 1}`;
function sizesFrom(text) {
  const read = /^([\d.]*)\s*([KMG]?)(i?)B?(?:(:)([\d.]*)\s*([KMG]?)(i?)B?)?$/i.exec(text.trim());
  if (!read || !read[1] && !read[5]) return null;
  const value = (digits2, unit, binary) => Number(digits2) * (binary ? 1024 : 1e3) ** ("KMG".indexOf(unit.toUpperCase() || "-") + 1);
  const bits = (size) => size < 1 ? 0 : Math.floor(Math.log2(size)) + 1;
  const least = read[1] ? value(read[1], read[2], read[3]) : 0, most = !read[4] ? least : read[5] ? value(read[5], read[6], read[7]) : Infinity;
  return !(least <= most) || !(least < 2 ** 63) ? null : [bits(least), most < 2 ** 63 ? bits(most) + 1 : 65];
}
function sizesText(sizes) {
  const [least, most] = [leastOf(sizes), 2 ** (sizes[1] - 1)];
  return sizes[1] > known ? `sizes from ${bytes(least)}` : least === 0 ? `sizes below ${bytes(most)}` : `sizes ${bytes(least)} – ${bytes(most)}`;
}
var secondsText = (ms) => (ms / 1e3).toString();
function whereOf(doc, place) {
  if (place === 0 || place >= doc.places) return "";
  const [first, last] = [doc.line[place], doc.lastLine[place]];
  const file = doc.file[place].split("/").slice(-3).join("/");
  const lines = first === 0 ? "" : last > first ? `:${first}–${last}` : `:${first}`;
  return [first ? file + lines : "", doc.module[place]].filter(Boolean).join(" · ");
}
var quoted = (text) => /^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

// src/shape.ts
var wholeEdits = ["own", "recursion", "runtime"];
var isEdit = (text) => wholeEdits.includes(text) || /^(merge|collapse|hide|from):./s.test(text);
var plain = null;
function plainShape(doc) {
  if (plain?.doc !== doc) plain = { doc, shape: { parent: doc.parent, place: doc.place, of: doc.parent.map((_, i) => i) } };
  return plain.shape;
}
var startsOf = (edits) => edits.filter((edit) => edit.startsWith("from:")).map((edit) => edit.slice(5));
function shapeOf(doc, edits) {
  if (!edits.length) return plainShape(doc);
  const one = (kind) => new Set(edits.filter((edit) => edit.startsWith(kind)).map((edit) => edit.slice(kind.length)));
  const merged = one("merge:"), collapsed = one("collapse:"), first = doc.places + doc.head.threads.length;
  const own = edits.includes("own"), recursion = edits.includes("recursion"), runtime = edits.includes("runtime");
  const hides = [...one("hide:")].map((pattern) => placeMatcher(doc, pattern)), starts = startsOf(edits).map((pattern) => placeMatcher(doc, pattern));
  const isStart = Uint8Array.from(doc.name, (_, i) => i > 0 && starts.some((fits) => fits(i)) ? 1 : 0), started = new Uint8Array(doc.parent.length);
  const becomes = new Uint32Array(doc.places);
  for (let place2 = 1; place2 < doc.places; place2++) {
    const kind = doc.kind[place2];
    const foreign = kind === 2 /* runtime */ || kind === 3 /* allocator */ || kind === 1 /* kernel */ || kind === 5 /* unknown */;
    if (merged.has(doc.name[place2]) || hides.some((fits) => fits(place2)) || own && foreign || runtime && kind === 2 /* runtime */) continue;
    becomes[place2] = collapsed.has(doc.module[place2]) ? first + doc.modules.indexOf(doc.module[place2]) : place2;
  }
  const parent = [0], place = [0], of = new Uint32Array(doc.parent.length), width = first + doc.modules.length;
  const ids = /* @__PURE__ */ new Map();
  for (let i = 1; i < of.length; i++) {
    const above = of[doc.parent[i]], as = becomes[doc.place[i]];
    started[i] = started[doc.parent[i]] | isStart[doc.place[i]];
    if (starts.length && !started[i] && i < doc.nodes) continue;
    if (as === 0 || as >= first && place[above] === as) {
      of[i] = above;
      continue;
    }
    if (recursion) {
      let up = above;
      while (up !== 0 && place[up] !== as) up = parent[up];
      if (up !== 0) {
        of[i] = up;
        continue;
      }
    }
    const key = above * width + as;
    let id = ids.get(key);
    if (id === void 0) {
      ids.set(key, id = parent.length);
      parent.push(above);
      place.push(as);
    }
    of[i] = id;
  }
  return { parent: Uint32Array.from(parent), place: Uint32Array.from(place), of };
}
function rankOf(shape) {
  const count = shape.parent.length, sizes = new Uint32Array(count).fill(1), rank = new Uint32Array(count), next = new Uint32Array(count);
  for (let i = count - 1; i > 0; i--) sizes[shape.parent[i]] += sizes[i];
  next[0] = 1;
  for (let i = 1; i < count; i++) {
    rank[i] = next[shape.parent[i]];
    next[shape.parent[i]] += sizes[i];
    next[i] = rank[i] + 1;
  }
  return rank;
}

// src/aggregate.ts
var wanted = 1;
var unwanted = 2;
function takenNodes(doc, focus, ignore) {
  const out = new Uint8Array(doc.nodes).fill(1);
  if (!focus.length && !ignore.length) return out;
  const marks = new Uint8Array(doc.places);
  for (const [patterns, mark] of [[focus, wanted], [ignore, unwanted]])
    for (const matches of patterns.map((pattern) => placeMatcher(doc, pattern)))
      for (let i = 1; i < doc.places; i++) if (matches(i)) marks[i] |= mark;
  const all = new Uint8Array(doc.nodes);
  for (let i = 1; i < doc.nodes; i++) all[i] = all[doc.parent[i]] | marks[doc.place[i]];
  for (let i = 0; i < doc.nodes; i++) out[i] = !(all[i] & unwanted) && (!focus.length || all[i] & wanted) ? 1 : 0;
  return out;
}
function sizedCells(doc, cells, sizes) {
  const { shapes } = doc;
  if (!sizes || !shapes || cells !== doc.heap) return null;
  const out = new Uint8Array(cells.node.length);
  for (let i = 0; i < shapes.cell.length; i++)
    if (shapes.kind[i] === 0 /* size */ && shapes.blocks[i] > 0 && shapes.bucket[i] >= sizes[0] && shapes.bucket[i] < sizes[1]) out[shapes.cell[i]] = 1;
  return out;
}
function entryAt(cells, i, slice) {
  let low = cells.first[i], high = cells.first[i + 1];
  while (low < high) {
    const middle = low + high >> 1;
    if (cells.slice[middle] < slice) low = middle + 1;
    else high = middle;
  }
  return low;
}
function cellsOf(doc, metric) {
  return doc.costs.get(metric) ?? doc.heap;
}
function cellValuesOf(table, from, to) {
  const out = new Float64Array(table.node.length);
  for (let i = 0; i < out.length; i++) out[i] = table.sums[entryAt(table, i, to)] - table.sums[entryAt(table, i, from)];
  return out;
}
function flowOf(doc, metric) {
  const table = doc.costs.get(metric), heap = doc.heap;
  if (table) return { came: table.sums, went: null };
  if (metric === "heap-allocations") return { came: heap.sumAllocatedBlocks, went: null };
  return { came: heap.sumAllocatedBytes, went: metric === "heap-allocated" ? null : heap.sumFreedBytes };
}
function addFlow(cells, i, came, went, bucketOf, out) {
  const end = cells.first[i + 1];
  for (let j = cells.first[i], before = came[j]; j < end; j++) {
    const after = came[j + 1];
    out[bucketOf[cells.slice[j]]] += after - before - (went ? went[j + 1] - went[j] : 0);
    before = after;
  }
}
function cellValues(doc, metric, from, to) {
  const table = doc.costs.get(metric);
  if (table) return cellValuesOf(table, from, to);
  const heap = doc.heap, out = new Float64Array(heap.node.length);
  for (let i = 0; i < out.length; i++) {
    const start = heap.first[i], low = entryAt(heap, i, from), high = entryAt(heap, i, to);
    const live = (until) => {
      const left = heap.sumAllocatedBytes[until] - heap.sumAllocatedBytes[start] - heap.sumFreedBytes[until] + heap.sumFreedBytes[start];
      const came = heap.sumAllocatedBytes[heap.first[i + 1]] - heap.sumAllocatedBytes[start];
      return left <= 1e-9 * came ? 0 : left;
    };
    switch (metric) {
      case "heap-allocated":
        out[i] = heap.sumAllocatedBytes[high] - heap.sumAllocatedBytes[low];
        break;
      case "heap-allocations":
        out[i] = heap.sumAllocatedBlocks[high] - heap.sumAllocatedBlocks[low];
        break;
      case "heap-growth":
        out[i] = Math.max(0, live(high) - live(low));
        break;
      case "heap-peak":
        out[i] = heap.peakBytes[i];
        break;
      default:
        out[i] = live(high);
    }
  }
  return out;
}
function take(doc, selection) {
  const cells = cellsOf(doc, selection.metric);
  const values = cellValues(doc, selection.metric, selection.from, selection.to);
  const nodes = takenNodes(doc, selection.focus, selection.ignore), sized = sizedCells(doc, cells, selection.sizes);
  let total = 0, whole = 0;
  for (let i = 0; i < values.length; i++) {
    if (selection.thread !== null && doc.head.threads[cells.thread[i]].name !== selection.thread) {
      values[i] = 0;
      continue;
    }
    whole += values[i];
    if (!nodes[cells.node[i]] || sized && !sized[i]) values[i] = 0;
    total += values[i];
  }
  return { metric: selection.metric, cells, values, total: Math.round(total), whole: Math.round(whole) };
}
var treeOf = (parent, place, { self, total }, base) => ({ parent, place, count: parent.length, selfOf: (node) => self[node], totalOf: (node) => total[node], base });
var costsOf = ({ count, selfOf, totalOf }) => ({ self: Float64Array.from({ length: count }, (_, i) => selfOf(i)), total: Float64Array.from({ length: count }, (_, i) => totalOf(i)) });
var labelCount = (doc) => doc.places + doc.head.threads.length + doc.modules.length;
function labelOf(doc, place) {
  if (place === 0) return "all";
  if (place < doc.places) return doc.name[place];
  const thread = place - doc.places, { threads } = doc.head;
  return thread < threads.length ? threads[thread].name : `${doc.modules[thread - threads.length]} (all of it)`;
}
var Draft = class {
  constructor(width) {
    this.width = width;
  }
  width;
  parent = [0];
  place = [0];
  self = [0];
  base = [0];
  ids = /* @__PURE__ */ new Map();
  last = /* @__PURE__ */ new Map();
  add(parent, place) {
    const id = this.parent.length;
    this.parent.push(parent);
    this.place.push(place);
    this.self.push(0);
    this.base.push(0);
    return id;
  }
  child(parent, place) {
    const key = parent * this.width + place;
    let id = this.ids.get(key);
    if (id === void 0) this.ids.set(key, id = this.add(parent, place));
    return id;
  }
  next(parent, place) {
    let id = this.last.get(parent);
    if (id === void 0 || this.place[id] !== place) this.last.set(parent, id = this.add(parent, place));
    return id;
  }
  finish(compared) {
    return finished(Uint32Array.from(this.parent), Uint32Array.from(this.place), Float64Array.from(this.self), compared ? Float64Array.from(this.base) : null);
  }
};
function finished(parent, place, self, base) {
  const added = (of) => {
    const total = of.slice();
    for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
    return { self: of, total };
  };
  return treeOf(parent, place, added(self), base ? added(base) : void 0);
}
function spentIn(doc, taken, shape, threads) {
  const out = /* @__PURE__ */ new Map(), count = shape.parent.length, { base, values } = taken;
  for (let i = 0; i < values.length; i++) {
    if (values[i] === 0 && !base?.[i]) continue;
    const thread = threads ? taken.cells.thread[i] : 0, node = shape.of[doc.shown[taken.cells.node[i]]];
    let of = out.get(thread);
    if (!of) out.set(thread, of = { own: new Float64Array(count), base: base ? new Float64Array(count) : null });
    of.own[node] += values[i];
    if (of.base) of.base[node] += base[i];
  }
  return out;
}
var skeletons = /* @__PURE__ */ new WeakMap();
function orderCells(parent, of) {
  const rows = parent.length, sizes = new Uint32Array(rows).fill(1), rank = new Uint32Array(rows), next = new Uint32Array(rows);
  for (let i = rows - 1; i > 0; i--) sizes[parent[i]] += sizes[i];
  next[0] = 1;
  for (let i = 1; i < rows; i++) {
    rank[i] = next[parent[i]];
    next[parent[i]] += sizes[i];
    next[i] = rank[i] + 1;
  }
  const begin = new Uint32Array(rows + 1);
  for (let i = 0; i < of.length; i++) begin[rank[of[i]] + 1]++;
  for (let i = 0; i < rows; i++) begin[i + 1] += begin[i];
  const first = new Uint32Array(rows), own = new Uint32Array(rows), end = sizes;
  for (let i = 0; i < rows; i++) {
    first[i] = begin[rank[i]];
    own[i] = begin[rank[i] + 1];
    end[i] = begin[rank[i] + sizes[i]];
  }
  const order = new Uint32Array(of.length);
  for (let i = 0; i < of.length; i++) order[begin[rank[of[i]]]++] = i;
  return { order, first, own, end };
}
function makeSkeleton(doc, cells, shape, threads) {
  const count = shape.parent.length, groups = /* @__PURE__ */ new Map();
  for (let i = 0; i < cells.node.length; i++) {
    const thread = threads ? cells.thread[i] : 0, of2 = groups.get(thread);
    if (of2) of2.push(i);
    else groups.set(thread, [i]);
  }
  const at = new Uint32Array(count), needed = new Uint8Array(count), nodes = new Uint32Array(count), of = new Uint32Array(cells.node.length);
  const pieces = [{ parent: new Uint32Array(1), place: new Uint32Array(1) }];
  let rows = 1;
  for (const [thread, list] of groups) {
    let size = 0;
    for (const i of list)
      for (let up = shape.of[doc.shown[cells.node[i]]]; up !== 0 && !needed[up]; up = shape.parent[up]) {
        needed[up] = 1;
        nodes[size++] = up;
      }
    if (size * 16 < count) nodes.subarray(0, size).sort();
    else for (let node = 1, next2 = 0; next2 < size; node++) if (needed[node]) nodes[next2++] = node;
    const lead = threads ? 1 : 0, parent2 = new Uint32Array(size + lead), place2 = new Uint32Array(size + lead);
    at[0] = 0;
    if (threads) {
      place2[0] = doc.places + thread;
      at[0] = rows;
    }
    for (let k = 0; k < size; k++) {
      const node = nodes[k];
      parent2[k + lead] = at[shape.parent[node]];
      place2[k + lead] = shape.place[node];
      at[node] = rows + k + lead;
      needed[node] = 0;
    }
    for (const i of list) of[i] = at[shape.of[doc.shown[cells.node[i]]]];
    pieces.push({ parent: parent2, place: place2 });
    rows += size + lead;
  }
  const parent = new Uint32Array(rows), place = new Uint32Array(rows);
  let next = 0;
  for (const piece of pieces) {
    parent.set(piece.parent, next);
    place.set(piece.place, next);
    next += piece.parent.length;
  }
  return { parent, place, ...orderCells(parent, of) };
}
function outermostOf({ parent, place }) {
  const out = new Uint8Array(parent.length);
  for (let i = 1; i < out.length; i++) {
    let up = parent[i];
    while (up !== 0 && place[up] !== place[i]) up = parent[up];
    out[i] = up === 0 ? 1 : 0;
  }
  return out;
}
function forward(doc, taken, shape, threads) {
  let known2 = skeletons.get(shape);
  if (!known2) skeletons.set(shape, known2 = /* @__PURE__ */ new Map());
  let kinds2 = known2.get(taken.cells);
  if (!kinds2) known2.set(taken.cells, kinds2 = []);
  const skeleton = kinds2[+threads] ??= makeSkeleton(doc, taken.cells, shape, threads), { parent, place, order, first, own, end } = skeleton;
  const costs = (values) => {
    const sums = new Float64Array(order.length + 1);
    for (let i = 0, sum = 0; i < order.length; i++) sums[i + 1] = sum += values[order[i]];
    const hair = doc.costs.has(taken.metric) ? 0 : 1e-9 * sums[order.length];
    const between = (from, to) => {
      const value = sums[to] - sums[from];
      return Math.abs(value) <= hair ? 0 : value;
    };
    return { selfOf: (node) => between(first[node], own[node]), totalOf: (node) => between(first[node], end[node]) };
  };
  const tree = { parent, place, count: parent.length, ...costs(taken.values) };
  if (taken.base) tree.base = costsOf({ ...tree, ...costs(taken.base) });
  if (!threads && shape === plainShape(doc)) tree.outermost = skeleton.outermost ??= outermostOf(skeleton);
  return tree;
}
function buildTree(doc, taken, options, shape = plainShape(doc)) {
  if (!options.inverted) return forward(doc, taken, shape, options.threads);
  const spent = spentIn(doc, taken, shape, options.threads), compared = taken.base !== void 0;
  const draft = new Draft(labelCount(doc));
  for (const [thread, { own, base }] of spent)
    for (let node = 0; node < own.length; node++) {
      if (own[node] === 0 && !base?.[node]) continue;
      let at = 0;
      for (let up = node; up !== 0; up = shape.parent[up]) at = draft.child(at, shape.place[up]);
      if (options.threads) at = draft.child(at, doc.places + thread);
      draft.self[at] += own[node];
      if (base) draft.base[at] += base[node];
    }
  return draft.finish(compared);
}
function buildTimeTree(doc, selection, shape, threads, most) {
  const { from, to, metric } = selection, cells = cellsOf(doc, metric), nodes = takenNodes(doc, selection.focus, selection.ignore);
  const { came } = flowOf(doc, metric), sized = sizedCells(doc, cells, selection.sizes);
  const parts = Math.min(most, to - from), order = rankOf(shape), values = /* @__PURE__ */ new Map();
  const width = (threads ? doc.head.threads.length : 1) * shape.parent.length, one = shape.parent.length;
  const nodeOf = new Uint32Array(one);
  order.forEach((rank, node) => {
    nodeOf[rank] = node;
  });
  for (let i = 0; i < cells.node.length; i++) {
    if (!nodes[cells.node[i]] || sized && !sized[i] || selection.thread !== null && doc.head.threads[cells.thread[i]].name !== selection.thread) continue;
    const row = (threads ? cells.thread[i] * one : 0) + order[shape.of[doc.shown[cells.node[i]]]];
    for (let j = entryAt(cells, i, from), end = entryAt(cells, i, to); j < end; j++) {
      const key = Math.floor((cells.slice[j] - from) * parts / (to - from)) * width + row;
      values.set(key, (values.get(key) ?? 0) + came[j + 1] - came[j]);
    }
  }
  const draft = new Draft(labelCount(doc)), path = [];
  for (const key of Float64Array.from(values.keys()).sort()) {
    const row = key % width, thread = Math.floor(row / one);
    let at = threads ? draft.child(0, doc.places + thread) : 0;
    path.length = 0;
    for (let up = nodeOf[row % one]; up !== 0; up = shape.parent[up]) path.push(shape.place[up]);
    while (path.length) at = draft.next(at, path.pop());
    draft.self[at] += values.get(key);
  }
  return draft.finish(false);
}
function functionTable(doc, tree) {
  const self = new Float64Array(doc.places), total = new Float64Array(doc.places), seen = new Int32Array(doc.places).fill(-1);
  if (tree.outermost)
    for (let node = 1; node < tree.count; node++) {
      const all = tree.totalOf(node), place = tree.place[node];
      if (all === 0) continue;
      seen[place] = node;
      self[place] += tree.selfOf(node);
      if (tree.outermost[node]) total[place] += all;
    }
  else for (let node = 1; node < tree.count; node++) {
    const value = tree.selfOf(node);
    if (value === 0) continue;
    let leaf = true;
    for (let at = node; at !== 0; at = tree.parent[at]) {
      const place = tree.place[at];
      if (place >= doc.places) continue;
      if (leaf) {
        self[place] += value;
        leaf = false;
      }
      if (seen[place] !== node) {
        total[place] += value;
        seen[place] = node;
      }
    }
  }
  const rows = [];
  for (let place = 1; place < doc.places; place++)
    if (seen[place] !== -1) rows.push({ place, self: self[place], total: total[place] });
  return rows;
}
function around(doc, tree, place) {
  const callers = /* @__PURE__ */ new Map(), callees = /* @__PURE__ */ new Map();
  let self = 0, total = 0;
  for (let node = 1; node < tree.count; node++) {
    const value = tree.selfOf(node);
    if (value === 0) continue;
    let inner = 0, outer = 0, below = 0;
    for (let at = node, last = 0; at !== 0; last = at, at = tree.parent[at]) {
      if (tree.place[at] !== place) continue;
      if (!inner) {
        inner = at;
        below = last;
      }
      outer = at;
    }
    if (!outer) continue;
    total += value;
    if (inner === node) self += value;
    else callees.set(tree.place[below], (callees.get(tree.place[below]) ?? 0) + value);
    const caller = tree.place[tree.parent[outer]] < doc.places ? tree.place[tree.parent[outer]] : 0;
    callers.set(caller, (callers.get(caller) ?? 0) + value);
  }
  const sorted = (rows) => [...rows].sort((a, b) => b[1] - a[1]);
  return { self, total, callers: sorted(callers), callees: sorted(callees) };
}
var together = (doc, most) => Math.max(1, Math.ceil(doc.head.slices / Math.max(1, most)));
function overTime(doc, metric, per, rows, row) {
  const buckets = Math.ceil(doc.head.slices / per);
  const out = Array.from({ length: rows }, () => new Float64Array(buckets));
  const cells = cellsOf(doc, metric), { came, went } = flowOf(doc, metric), level = went !== null;
  const bucketOf = Uint16Array.from({ length: doc.head.slices }, (_, slice) => Math.floor(slice / per));
  for (let i = 0; i < cells.node.length; i++) {
    const to = row(i);
    if (to >= 0) addFlow(cells, i, came, went, bucketOf, out[to]);
  }
  if (level) for (const line of out) for (let b = 1; b < buckets; b++) line[b] += line[b - 1];
  return out;
}
function nodesWith(doc, place) {
  const out = new Uint8Array(doc.nodes);
  for (let i = 1; i < doc.nodes; i++) out[i] = out[doc.parent[i]] | (doc.place[i] === place ? 1 : 0);
  return out;
}

// src/colors.ts
var kinds = ["#8fbfe8", "#e89a5f", "#cdd6de", "#c3a6dd", "#b9c98a", "#bfc3c9", "#e08a86", "#d5d5d5", "#bfc3c9"];
var shares = ["#e9edf2", "#fbe3c0", "#f8c98a", "#f0a35a", "#dd7a3c"];
function colorBy(doc, by, place, own) {
  if (by === "crate" || place === 0 || place >= doc.places) return colorOf(doc, place);
  if (by === "kind") return kinds[doc.kind[place]] ?? kinds[0];
  if (by === "self") return shares[Math.min(shares.length - 1, Math.ceil(own * (shares.length - 1)))];
  return hashed(doc.name[place]);
}
var crates = ["#8fbfe8", "#e8bd6d", "#8fcbb0", "#d6a3c9", "#c9c276", "#a9b6e6", "#d9a88e", "#9fd0d6", "#c3b1a0", "#b5cf8f"];
function colorOf(doc, place) {
  if (place === 0 || place >= doc.places) return "#c8ccd6";
  switch (doc.kind[place]) {
    case 1 /* kernel */:
      return "#e89a5f";
    case 2 /* runtime */:
      return "#cdd6de";
    case 3 /* allocator */:
      return "#c3a6dd";
    case 4 /* generated */:
      return "#b9c98a";
    case 6 /* cause */:
      return "#e08a86";
    case 7 /* idle */:
      return "#d5d5d5";
    case 5 /* unknown */:
    case 8 /* folded */:
      return "#bfc3c9";
  }
  return hashed(doc.crate[place] || doc.module[place]);
}
function hashed(text) {
  let hash = 5381;
  for (let i = 0; i < text.length; i++) hash = hash * 33 + text.charCodeAt(i) >>> 0;
  return crates[hash % crates.length];
}
var steps = [0.1, 1 / 3, 0.9995];
var less = ["#bed3e8", "#92b9de", "#6099cf", "#3477bb"];
var more = ["#fadcb6", "#f8be7a", "#f0963c", "#de6e14"];
function changeColor(base, fresh, beyondNoise) {
  if (!beyondNoise || base === fresh) return "#d6d8dc";
  const part = Math.abs(fresh - base) / Math.max(base, fresh);
  return (fresh > base ? more : less)[steps.filter((step) => part >= step).length];
}

// src/statistics.ts
var manyDegrees = 1e4;
var nothing = { base: 0, fresh: 0, change: 0, sd: 0, freedom: manyDegrees, p: 1, error: 0, lookedAt: false, beyondNoise: false };

// src/document.ts
function bytesOf(base64) {
  const native = Uint8Array.fromBase64;
  if (native) return native.call(Uint8Array, base64);
  const text = atob(base64.trim()), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  return packed;
}
async function unpack(base64) {
  const packed = bytesOf(base64), stream = new DecompressionStream("gzip"), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
  writer.write(packed).catch(() => {
  });
  writer.close().catch(() => {
  });
  const out = new Uint8Array(new DataView(packed.buffer).getUint32(packed.length - 4, true));
  for (let at = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return out;
    out.set(value, at);
    at += value.length;
  }
}
var Varints = class {
  constructor(bytes2) {
    this.bytes = bytes2;
  }
  bytes;
  at = 0;
  long(value) {
    let byte = 0;
    for (let scale = 128; ; scale *= 128) {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (!(byte & 128)) return value;
    }
  }
  next() {
    const byte = this.bytes[this.at++];
    return byte < 128 ? byte : this.long(byte & 127);
  }
  difference() {
    const byte = this.bytes[this.at++];
    if (byte < 128) return byte >>> 1 ^ -(byte & 1);
    const value = this.long(byte & 127);
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
};
function numbers(bytes2, kind, count) {
  const out = new Float64Array(count), from = new Varints(bytes2);
  if (kind === "f") new Uint8Array(out.buffer).set(bytes2);
  else if (kind === "d") for (let i = 0, last = 0; i < count; i++) out[i] = last += from.difference();
  else for (let i = 0; i < count; i++) out[i] = from.next();
  return out;
}
function wholeNumbers(bytes2, kind, count) {
  const out = new Uint32Array(count), from = new Varints(bytes2);
  if (kind === "d") for (let i = 0, last = 0; i < count; i++) out[i] = last += from.difference();
  else for (let i = 0; i < count; i++) out[i] = from.next();
  return out;
}
function sliceNumbers(bytes2, count) {
  const out = new Uint16Array(count), from = new Varints(bytes2);
  for (let i = 0, last = 0; i < count; i++) out[i] = last += from.difference();
  return out;
}
function readEntries(first, steps2, values, slice, sums) {
  let value = 0, sum = 0;
  for (let cell = 0, i = 0; cell + 1 < first.length; cell++)
    for (let end = first[cell + 1], at = -1; i < end; i++) {
      const step = steps2.next();
      slice[i] = at += (step >>> 1) + 1;
      sum += step & 1 ? value += values.difference() : 1;
      sums[i + 1] = sum;
      if (sums[i + 1] !== sum) return false;
    }
  return true;
}
function runningSums(values) {
  const sums = new Float64Array(values.length + 1);
  for (let i = 0, sum = 0; i < values.length; i++) sums[i + 1] = sum += values[i];
  return sums;
}
function readDocument(bytes2) {
  const mark = "fathom page\n";
  if (new TextDecoder().decode(bytes2.subarray(0, mark.length)) !== mark) throw new Error("this is no document of fathom");
  const length = new DataView(bytes2.buffer, bytes2.byteOffset).getUint32(mark.length, true);
  const body = mark.length + 4;
  const head = JSON.parse(new TextDecoder().decode(bytes2.subarray(body, body + length)));
  if (head.version !== 1) throw new Error(`the document has version ${head.version}, and this page knows 1`);
  const read = (name, as) => {
    const [kind2, offset, size, count] = head.columns[name];
    return as(bytes2.subarray(body + length + offset, body + length + offset + size), kind2, count);
  };
  const column = (name) => read(name, numbers), whole = (name) => read(name, wholeNumbers);
  const sumsOfReals = (name) => runningSums(column(name));
  const texts = (name) => Array.from(column(name), (row) => head.texts[row]);
  const kind = new Uint8Array(column("place.kind"));
  const back = whole("node.back"), placeOf = whole("node.place"), nodes = back.length;
  const shown = back.map((_, i) => i), idle = /* @__PURE__ */ new Map(), idlePlaces = [];
  for (let i = 1; i < nodes; i++) {
    if (kind[placeOf[i]] !== 7 /* idle */) continue;
    let at = idle.get(placeOf[i]);
    if (at === void 0) idle.set(placeOf[i], at = nodes + idlePlaces.push(placeOf[i]) - 1);
    shown[i] = at;
  }
  const parent = new Uint32Array(nodes + idlePlaces.length), place = new Uint32Array(nodes + idlePlaces.length);
  for (let i = 0; i < nodes; i++) parent[i] = i - back[i];
  place.set(placeOf);
  place.set(idlePlaces, nodes);
  const cells = (table) => {
    const counts = column(`${table}.entries`), first = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) first[i + 1] = first[i] + counts[i];
    return { thread: whole(`${table}.thread`), node: whole(`${table}.node`), first };
  };
  const costsOf2 = (table) => {
    const of = cells(table), count = of.first[of.first.length - 1], slice = new Uint16Array(count);
    const varints = (name) => read(name, (bytes3) => new Varints(bytes3));
    const filled = (sums) => readEntries(of.first, varints(`${table}.slice`), varints(`${table}.value`), slice, sums) ? sums : null;
    return { ...of, slice, sums: filled(new Uint32Array(count + 1)) ?? filled(new Float64Array(count + 1)) };
  };
  const costs = /* @__PURE__ */ new Map();
  for (const metric of head.metrics) if (metric.table !== "heap") costs.set(metric.name, costsOf2(metric.name));
  let heap = null;
  if (head.columns["heap.thread"]) {
    heap = {
      ...cells("heap"),
      slice: read("heap.slice", (of, _, count) => sliceNumbers(of, count)),
      peakBytes: column("heap.peak_bytes"),
      sumAllocatedBytes: sumsOfReals("heap.allocated_bytes"),
      sumAllocatedBlocks: sumsOfReals("heap.allocated_blocks"),
      sumFreedBytes: sumsOfReals("heap.freed_bytes"),
      sumFreedBlocks: sumsOfReals("heap.freed_blocks")
    };
  }
  const changes = (name) => {
    const values = column(`${name}.values`);
    return Array.from(whole(`${name}.flags`), (flags, i) => ({
      ...nothing,
      base: values[5 * i],
      fresh: values[5 * i + 1],
      change: values[5 * i + 2],
      error: values[5 * i + 3],
      p: values[5 * i + 4],
      lookedAt: (flags & 1) !== 0,
      beyondNoise: (flags & 2) !== 0
    }));
  };
  const comparisonOf = (name, of) => {
    const from = `compared.${name}`, functions = /* @__PURE__ */ new Map(), rows = changes(`${from}.places`), ofThreads = changes(`${from}.threads`);
    whole(`${from}.places`).forEach((place2, i) => {
      functions.set(place2, { place: place2, self: rows[2 * i], total: rows[2 * i + 1] });
    });
    return {
      unit: of.unit,
      seconds: of.seconds,
      factors: of.factors,
      whole: changes(`${from}.whole`)[0],
      functions,
      threads: new Map(Array.from(whole(`${from}.threads`), (row, i) => [row, ofThreads[i]])),
      lookedAt: of.looked_at,
      level: of.level
    };
  };
  const module = texts("place.module");
  return {
    compared: head.compared_with === void 0 ? null : new Map(head.metrics.flatMap((one) => one.compared ? [[one.name, comparisonOf(one.name, one.compared)]] : [])),
    modules: [...new Set(module)].filter(Boolean),
    byObject: costsOf2("object"),
    waits: {
      start: column("wait.start_ns"),
      waited: column("wait.waited_ns"),
      queued: column("wait.queued_ns"),
      thread: whole("wait.thread"),
      tid: whole("wait.tid"),
      waker: whole("wait.waker"),
      wakerTid: whole("wait.waker_tid"),
      node: whole("wait.node"),
      wakerNode: whole("wait.waker_node"),
      object: whole("wait.object"),
      weight: whole("wait.weight")
    },
    shapes: heap && { cell: whole("shape.cell"), kind: new Uint8Array(column("shape.kind")), bucket: new Uint8Array(column("shape.bucket")), blocks: column("shape.blocks") },
    blocks: heap && { cell: whole("block.cell"), address: column("block.address"), size: column("block.size"), allocated: column("block.allocated_ns"), blocks: column("block.blocks") },
    head,
    nodes,
    parent,
    place,
    shown,
    places: kind.length,
    name: texts("place.name"),
    module,
    crate: texts("place.crate"),
    file: texts("place.file"),
    line: whole("place.line"),
    lastLine: whole("place.last_line"),
    kind,
    costs,
    heap,
    lines: head.series.map((series) => ({
      name: series.name,
      unit: series.unit,
      pid: series.pid,
      ms: column(`${series.columns}.ms`),
      value: column(`${series.columns}.value`)
    }))
  };
}

// src/flame_layout.ts
var Children = class {
  constructor(tree, first, list, sorted) {
    this.tree = tree;
    this.first = first;
    this.list = list;
    this.sorted = sorted;
  }
  tree;
  first;
  list;
  sorted;
  seen = /* @__PURE__ */ new Map();
  // Only those with a cost.
  of(node) {
    const known2 = this.seen.get(node);
    if (known2) return known2;
    const { place } = this.tree, ids = [], costs = [];
    for (let i = this.first[node]; i < this.first[node + 1]; i++) {
      const cost = this.tree.totalOf(this.list[i]);
      if (cost > 0) {
        ids.push(this.list[i]);
        costs.push(cost);
      }
    }
    const order = Uint32Array.from(ids.keys());
    if (this.sorted && order.length > 1) order.sort((a, b) => costs[b] - costs[a] || place[ids[a]] - place[ids[b]]);
    const some = order.map((i) => ids[i]);
    this.seen.set(node, some);
    return some;
  }
};
var orders = /* @__PURE__ */ new WeakMap();
function childrenOf(tree, sorted = true) {
  let known2 = orders.get(tree.parent);
  if (!known2) {
    const first = new Uint32Array(tree.count + 1);
    for (let i = 1; i < tree.count; i++) first[tree.parent[i] + 1]++;
    for (let i = 0; i < tree.count; i++) first[i + 1] += first[i];
    const next = first.slice(), list = new Uint32Array(Math.max(0, tree.count - 1));
    for (let i = 1; i < tree.count; i++) list[next[tree.parent[i]]++] = i;
    orders.set(tree.parent, known2 = { first, list });
  }
  return new Children(tree, known2.first, known2.list, sorted);
}
var leastWidth = 1.5;
function layout(tree, children, zoom, width) {
  const rows = [];
  const put = (box) => (rows[box.row] ??= []).push(box);
  const path = [];
  for (let at = zoom; at !== 0; at = tree.parent[at]) path.push(at);
  path.push(0);
  path.reverse().forEach((node, row) => put({ node, x: 0, width, row, joined: 0, value: tree.totalOf(node) }));
  const scale = tree.totalOf(zoom) > 0 ? width / tree.totalOf(zoom) : 0;
  const open = [rows[path.length - 1][0]];
  while (open.length) {
    const box = open.pop();
    let x = box.x, count = 0, value = 0;
    for (const node of children.of(box.node)) {
      const total = tree.totalOf(node), wide = total * scale;
      if (total <= 0) continue;
      if (wide < leastWidth) {
        count++;
        value += total;
        continue;
      }
      const child = { node, x, width: wide, row: box.row + 1, joined: 0, value: total };
      put(child);
      open.push(child);
      x += wide;
    }
    if (count && value * scale >= 0.5) put({ node: box.node, x, width: value * scale, row: box.row + 1, joined: count, value });
  }
  for (const row of rows) row.sort((a, b) => a.x - b.x);
  return rows;
}
function boxAt(rows, row, x) {
  const boxes = rows[row];
  if (!boxes) return null;
  let low = 0, high = boxes.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (boxes[middle].x + boxes[middle].width <= x) low = middle + 1;
    else high = middle;
  }
  return low < boxes.length && boxes[low].x <= x ? boxes[low] : null;
}

// src/search.ts
function searchMatcher(text) {
  if (!text) return null;
  const sensitive = /[A-Z]/.test(text);
  try {
    const expression = new RegExp(text, sensitive ? "" : "i");
    return (name) => expression.test(name);
  } catch {
    const plain2 = text.toLowerCase();
    return (name) => name.toLowerCase().includes(plain2);
  }
}
function find(doc, tree, top, text) {
  const matches = searchMatcher(text);
  if (!matches) return null;
  const places = new Uint8Array(labelCount(doc));
  for (let i = 1; i < places.length; i++) places[i] = matches(labelOf(doc, i)) ? 1 : 0;
  const state = new Uint8Array(tree.count);
  let value = 0, calls = 0;
  state[top] = 1;
  if (top > 0 && places[tree.place[top]]) {
    state[top] = 2;
    value = tree.totalOf(top);
    calls = 1;
  }
  for (let i = top + 1; i < tree.count; i++) {
    const above = state[tree.parent[i]];
    if (!above || !(tree.totalOf(i) > 0)) continue;
    state[i] = above;
    if (!places[tree.place[i]]) continue;
    calls++;
    if (above === 1) {
      state[i] = 2;
      value += tree.totalOf(i);
    }
  }
  return { places, value, calls, share: tree.totalOf(top) > 0 ? value / tree.totalOf(top) : 0 };
}
export {
  Children,
  amount,
  around,
  askedSize,
  boxAt,
  buildTimeTree,
  buildTree,
  bytes,
  cellValues,
  cellValuesOf,
  cellsOf,
  changeColor,
  childrenOf,
  colorBy,
  colorOf,
  costsOf,
  entryAt,
  figure,
  find,
  fitted,
  foldArguments,
  foldGenerics,
  functionTable,
  groupPattern,
  hashed,
  isEdit,
  labelCount,
  labelOf,
  layout,
  leastOf,
  leastWidth,
  matcher,
  nodesWith,
  ofBase,
  overTime,
  patternText,
  percent,
  placeMatcher,
  plainShape,
  quantity,
  quoted,
  rankOf,
  readDocument,
  searchMatcher,
  seconds,
  secondsText,
  shapeOf,
  sizedCells,
  sizesFrom,
  sizesText,
  startsOf,
  take,
  takenNodes,
  together,
  treeOf,
  unpack,
  whereOf,
  wholeEdits,
  withCommas
};
