var __defProp = Object.defineProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

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
var named = (name) => name.replaceAll("(anonymous namespace)::", "");
var folded = (name) => foldGenerics(foldArguments(named(name)));
function partsOf(name) {
  const out = [0];
  for (let i = 0, depth = 0; i + 2 < name.length; i++) {
    if ("<([{".includes(name[i])) depth++;
    else if (">)]}".includes(name[i]) && name[i - 1] !== "-") depth = Math.max(0, depth - 1);
    if (depth === 0 && name[i] === ":" && name[i + 1] === ":" && name[i + 2] !== "{" && name[i + 2] !== ":") out.push(i + 2);
  }
  return out;
}
function split(name) {
  const short = folded(name), parts = partsOf(short), at = parts.length > 1 ? parts[parts.length - 1] : /^[\w.@-]+(\/[\w.@-]+)+/.test(short) ? short.lastIndexOf("/") + 1 : 0;
  return [short.slice(0, at), short.slice(at)];
}
var implemented = /^<(?:[^<>]*::)?([^<>:]+)(?:<…>)? as (?:[^<>]*::)?([^<>:]+)(?:<…>)?>::(.*)$/s;
var leastOfOwner = 4;
function fitted(name, room, width) {
  if (width(name) <= room) return name;
  let short = named(name);
  if (width(short) <= room) return short;
  short = foldArguments(short);
  if (width(short) <= room) return short;
  short = foldGenerics(short);
  if (width(short) <= room) return short;
  const parts = partsOf(short);
  let last = short.slice(parts[parts.length - 1]);
  const method = implemented.exec(short), type = method ? method[1].length > 1 ? method[1] : method[2] : "";
  if (method && width(`…::${type}::${method[3]}`) <= room) return `…::${type}::${method[3]}`;
  for (let i = 1; i < parts.length; i++) {
    const tail2 = `…::${short.slice(parts[i])}`, left = Math.floor((room - width(tail2)) / Math.max(1, width("0")));
    if (left < 0) continue;
    const owner = i === 1 && method ? type : short.slice(parts[i - 1], parts[i] - 2).replace(/<…>$/, "");
    return left >= leastOfOwner && left < owner.length && /^\w+$/.test(owner) ? `${owner.slice(0, left)}${tail2}` : tail2;
  }
  last = last.replace(/(?<!operator)\(…?\)$/, "");
  if (width(last) > room) last = last.replace(/<…>$/, "");
  if (width(last) > room) last = last.replace(/(::\{\{.*\}\})+$/, "::{…}");
  if (width(last) > room) last = last.replace(/::\{…\}$/, "");
  if (width(last) <= room) return last;
  const characters = Math.floor(room / Math.max(1, width("0"))) - 1, tail = Math.floor(characters / 3);
  if (characters < 3) return "";
  if (/[/.]/.test(last)) return `…${last.slice(-characters)}`;
  return characters < 9 ? `${last.slice(0, characters)}…` : `${last.slice(0, characters - tail)}…${last.slice(-tail)}`;
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
var cellOf = (value, unit) => unit === "ns" || unit === "bytes" ? amount(value, unit) : withCommas(value);
var metricNames = {
  cpu: "CPU time",
  "off-cpu": "Waiting",
  wall: "Wall-clock time",
  "heap-live": "Live memory",
  "heap-allocated": "Allocated memory",
  "heap-allocations": "Number of allocations",
  "heap-growth": "Memory growth",
  "heap-peak": "Memory at the peak",
  "heap-leaked": "Memory never freed"
};
var subjects = { cpu: "CPU", "off-cpu": "Waiting", "heap-live": "Heap", "heap-allocated": "Allocated", "heap-allocations": "Allocations", "heap-growth": "Growth", "heap-peak": "Peak" };
var subjectOf = (name) => subjects[name] ?? name;
var metricName = (metric) => metric ? metricNames[metric.name] ?? metric.title : "";
var causeText = (name) => name.replace(/^\[(wait: )?|\]$/g, "");
var causeProse = {
  futex: "for a lock or another thread",
  "run queue": "for a CPU",
  sleep: "asleep",
  poll: "for events",
  "page fault": "for page faults",
  "file read": "reading files",
  "file write": "writing files",
  "file sync": "for fsync",
  socket: "for sockets",
  pipe: "for pipes",
  child: "for a child to end",
  signal: "for a signal",
  "memory map": "changing the address space"
};
var causeWords = (name) => causeProse[causeText(name)] ?? `for ${causeText(name)}`;
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
function figure(value, unit, error2 = 0, sign = false) {
  const mark = sign && value > 0 ? "+" : value < 0 ? "−" : "", size = Math.abs(value);
  if (unit === "cores" || unit === "threads" || unit === "share") {
    const known3 = 100 * (error2 > 0 ? error2 : size);
    return `${mark}${(100 * size).toFixed(known3 >= 0.995 || known3 === 0 ? 1 : known3 >= 0.0995 ? 2 : 3)} %`;
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
var askedSize = (sizes2) => `${leastOf(sizes2)}:${sizes2[1] > known ? "" : 2 ** (sizes2[1] - 1) - 1}`;
function sizesFrom(text) {
  const read = /^([\d.]*)\s*([KMG]?)(i?)B?(?:(:)([\d.]*)\s*([KMG]?)(i?)B?)?$/i.exec(text.trim());
  if (!read || !read[1] && !read[5]) return null;
  const value = (digits3, unit, binary) => Number(digits3) * (binary ? 1024 : 1e3) ** ("KMG".indexOf(unit.toUpperCase() || "-") + 1);
  const bits = (size) => size < 1 ? 0 : Math.floor(Math.log2(size)) + 1;
  const least = read[1] ? value(read[1], read[2], read[3]) : 0, most = !read[4] ? least : read[5] ? value(read[5], read[6], read[7]) : Infinity;
  return !(least <= most) || !(least < 2 ** 63) ? null : [bits(least), most < 2 ** 63 ? bits(most) + 1 : 65];
}
function sizesText(sizes2) {
  const [least, most] = [leastOf(sizes2), 2 ** (sizes2[1] - 1)];
  return sizes2[1] > known ? `sizes from ${bytes(least)}` : least === 0 ? `sizes below ${bytes(most)}` : `sizes ${bytes(least)} – ${bytes(most)}`;
}
var secondsText = (ms) => (ms / 1e3).toString();
function fileOf(doc, place) {
  const [first, last] = [doc.line[place] ?? 0, doc.lastLine[place]];
  return first ? `${doc.file[place].split("/").slice(-2).join("/")}:${last > first ? `${first}–${last}` : first}` : "";
}
function whereOf(doc, place) {
  if (place === 0 || place >= doc.places) return "";
  const [first, last] = [doc.line[place], doc.lastLine[place]];
  const file = doc.file[place].split("/").slice(-3).join("/");
  const lines = first === 0 ? "" : last > first ? `:${first}–${last}` : `:${first}`;
  return [first ? file + lines : "", doc.module[place]].filter(Boolean).join(" · ");
}
var quoted = (text) => /^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

// src/shape.ts
var wholeEdits = ["plumbing", "kernel", "own", "recursion", "runtime"];
var isEdit = (text) => wholeEdits.includes(text) || /^(merge|collapse|hide|from):./s.test(text);
function inOrder({ parent, place, of }) {
  const count = parent.length;
  let i = 1;
  for (let last = 0; i < count; last = i++) {
    while (last > parent[i]) last = parent[last];
    if (last !== parent[i]) break;
  }
  if (i >= count) return { parent, place, of };
  const sizes2 = new Uint32Array(count).fill(1), rank = new Uint32Array(count), next = new Uint32Array(count);
  for (let i2 = count - 1; i2 > 0; i2--) sizes2[parent[i2]] += sizes2[i2];
  next[0] = 1;
  for (let i2 = 1; i2 < count; i2++) {
    rank[i2] = next[parent[i2]];
    next[parent[i2]] += sizes2[i2];
    next[i2] = rank[i2] + 1;
  }
  const out = { parent: new Uint32Array(count), place: new Uint32Array(count), of: new Uint32Array(of.length) };
  for (let i2 = 0; i2 < count; i2++) {
    out.parent[rank[i2]] = rank[parent[i2]];
    out.place[rank[i2]] = place[i2];
  }
  for (let i2 = 0; i2 < of.length; i2++) out.of[i2] = rank[of[i2]];
  return out;
}
var plain = null;
function plainShape(doc) {
  if (plain?.doc === doc) return plain.shape;
  const of = new Uint32Array(doc.parent.length);
  for (let i = 0; i < of.length; i++) of[i] = i;
  plain = { doc, shape: inOrder({ parent: doc.parent, place: doc.place, of }) };
  return plain.shape;
}
var passing = /* @__PURE__ */ new WeakMap();
var leastOwn = 0.01;
function passesOn(doc) {
  let known3 = passing.get(doc);
  if (known3) return known3;
  known3 = new Uint8Array(doc.nodes);
  passing.set(doc, known3);
  if (!doc.kind.includes(2 /* runtime */)) return known3;
  const { parent, place: placeOf, kind } = doc, cost = new Float64Array(doc.nodes), self = new Float64Array(doc.places), total = new Float64Array(doc.places);
  for (const table of doc.costs.values()) {
    const all = table.sums[table.sums.length - 1] || 1;
    for (let i = 0; i < table.node.length; i++) {
      const part = (table.sums[table.first[i + 1]] - table.sums[table.first[i]]) / all;
      cost[table.node[i]] += part;
      self[placeOf[table.node[i]]] += part;
    }
  }
  const below = new Uint8Array(doc.nodes);
  for (let i = doc.nodes - 1; i > 0; i--) {
    const place = placeOf[i], above = parent[i];
    if (below[i] || kind[place] === 0 /* code */) below[above] = 1;
    if (below[i] && kind[place] === 2 /* runtime */) known3[i] = 1;
    cost[above] += cost[i];
    total[place] += cost[i];
  }
  for (let i = 1; i < doc.nodes; i++) if (known3[i] && self[placeOf[i]] > leastOwn * total[placeOf[i]]) known3[i] = 0;
  return known3;
}
function firstEdits(doc) {
  return [...passesOn(doc).includes(1) ? ["plumbing"] : [], ...doc.kind.includes(1 /* kernel */) ? ["kernel"] : []];
}
var startsOf = (edits) => edits.filter((edit) => edit.startsWith("from:")).map((edit) => edit.slice(5));
function shapeOf(doc, edits) {
  if (!edits.length) return plainShape(doc);
  const one = (kind) => new Set(edits.filter((edit) => edit.startsWith(kind)).map((edit) => edit.slice(kind.length)));
  const merged = one("merge:"), collapsed = one("collapse:"), first = doc.places + doc.head.threads.length;
  const own = edits.includes("own"), recursion = edits.includes("recursion"), runtime = edits.includes("runtime");
  const passes = edits.includes("plumbing") ? passesOn(doc) : null, kernel = edits.includes("kernel");
  const hides = [...one("hide:")].map((pattern) => placeMatcher(doc, pattern)), starts = startsOf(edits).map((pattern) => placeMatcher(doc, pattern));
  const isStart = Uint8Array.from(doc.name, (_, i) => i > 0 && starts.some((fits) => fits(i)) ? 1 : 0), started = new Uint8Array(doc.parent.length);
  const becomes = new Uint32Array(doc.places);
  for (let place2 = 1; place2 < doc.places; place2++) {
    const kind = doc.kind[place2];
    const foreign = kind === 2 /* runtime */ || kind === 3 /* allocator */ || kind === 1 /* kernel */ || kind === 5 /* unknown */;
    if (merged.has(doc.name[place2]) || hides.some((fits) => fits(place2)) || own && foreign || runtime && kind === 2 /* runtime */) continue;
    becomes[place2] = kernel && kind === 1 /* kernel */ ? first + doc.modules.length : collapsed.has(doc.module[place2]) ? first + doc.modules.indexOf(doc.module[place2]) : place2;
  }
  const parent = [0], place = [0], of = new Uint32Array(doc.parent.length), width = first + doc.modules.length + 1;
  const ids = /* @__PURE__ */ new Map();
  for (let i = 1; i < of.length; i++) {
    const above = of[doc.parent[i]], as = becomes[doc.place[i]];
    started[i] = started[doc.parent[i]] | isStart[doc.place[i]];
    if (starts.length && !started[i] && i < doc.nodes) continue;
    if (as === 0 || passes?.[i] || as >= first && place[above] === as) {
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
  return inOrder({ parent: Uint32Array.from(parent), place: Uint32Array.from(place), of });
}

// src/skeleton.ts
function sortedBy(rows, key, keys) {
  const next = new Uint32Array(keys + 1), out = new Uint32Array(rows.length);
  for (let i = 0; i < rows.length; i++) next[key[rows[i]] + 1]++;
  for (let i = 0; i < keys; i++) next[i + 1] += next[i];
  for (let i = 0; i < rows.length; i++) out[next[key[rows[i]]]++] = rows[i];
  return out;
}
function makeSkeleton(doc, cells, shape, threads) {
  const count = shape.parent.length, length = cells.node.length, { shown } = doc, { parent: callerOf, place: placeOf, of } = shape;
  const node = new Uint32Array(length), rank = new Uint32Array(length), inTurn = new Uint32Array(length), ranks = /* @__PURE__ */ new Map();
  for (let i = 0; i < length; i++) {
    node[i] = of[shown[cells.node[i]]];
    inTurn[i] = i;
    if (!threads) continue;
    let at = ranks.get(cells.thread[i]);
    if (at === void 0) ranks.set(cells.thread[i], at = ranks.size);
    rank[i] = at;
  }
  const byNode = sortedBy(inTurn, node, count), order = threads ? sortedBy(byNode, rank, ranks.size) : byNode;
  let room = count + (count >> 3) + ranks.size + 1, rows = 1;
  let parent = new Uint32Array(room), place = new Uint32Array(room), first = new Uint32Array(room), own = new Uint32Array(room);
  const rowOf = new Uint32Array(count);
  for (let k = 0, top = 0, thread = -1; k < length; k++) {
    const cell = order[k], leaf = node[cell], isNext = threads && cells.thread[cell] !== thread;
    const lowest = isNext ? rows : top;
    let size = isNext ? 1 : 0, up = leaf;
    for (; up !== 0 && rowOf[up] <= lowest; up = callerOf[up]) size++;
    if (rows + size > room) {
      room = 2 * (rows + size);
      [parent, place, first, own] = [parent, place, first, own].map((from) => {
        const to = new Uint32Array(room);
        to.set(from);
        return to;
      });
    }
    if (isNext) {
      thread = cells.thread[cell];
      rowOf[0] = top = rows++;
      place[top] = doc.places + thread;
      first[top] = own[top] = k;
      size--;
    }
    const above = rowOf[up];
    let row = rows + size;
    for (let call = leaf; row > rows; call = callerOf[call]) {
      rowOf[call] = --row;
      parent[row] = row - 1;
      place[row] = placeOf[call];
      first[row] = own[row] = k;
    }
    if (size) parent[rows] = above;
    rows += size;
    own[rowOf[leaf]] = k + 1;
  }
  const end = own.slice(0, rows);
  for (let i = rows - 1; i > 0; i--) if (end[i] > end[parent[i]]) end[parent[i]] = end[i];
  return { parent: parent.slice(0, rows), place: place.slice(0, rows), order, first: first.slice(0, rows), own: own.slice(0, rows), end };
}
function outermostOf({ parent, place }, places) {
  const out = new Uint8Array(parent.length), onPath = new Uint32Array(places);
  for (let i = 1, last = 0; i < out.length; last = i++) {
    for (; last !== parent[i]; last = parent[last]) onPath[place[last]]--;
    out[i] = onPath[place[i]]++ === 0 ? 1 : 0;
  }
  return out;
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
function sizedCells(doc, cells, sizes2) {
  const { shapes } = doc;
  if (!sizes2 || !shapes || cells !== doc.heap) return null;
  const out = new Uint8Array(cells.node.length);
  for (let i = 0; i < shapes.cell.length; i++)
    if (shapes.kind[i] === 0 /* size */ && shapes.blocks[i] > 0 && shapes.bucket[i] >= sizes2[0] && shapes.bucket[i] < sizes2[1]) out[shapes.cell[i]] = 1;
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
var nothing = { thread: new Uint32Array(0), node: new Uint32Array(0), first: new Uint32Array(1), slice: new Uint16Array(0), sums: new Uint32Array(1) };
var tableOf = (doc, metric) => doc.costs.get(metric) ?? (doc.heap && metric.startsWith("heap-") ? null : nothing);
var cellsOf = (doc, metric) => tableOf(doc, metric) ?? doc.heap;
function cellValuesOf(table, from, to) {
  const out = new Float64Array(table.node.length);
  for (let i = 0; i < out.length; i++) out[i] = table.sums[entryAt(table, i, to)] - table.sums[entryAt(table, i, from)];
  return out;
}
function flowOf(doc, metric) {
  const table = tableOf(doc, metric), heap = doc.heap;
  if (table) return { came: table.sums, went: null };
  if (metric === "heap-allocations") return { came: heap.sumAllocatedBlocks, went: null };
  return { came: heap.sumAllocatedBytes, went: metric === "heap-allocated" ? null : heap.sumFreedBytes };
}
function addFlow(cells, i, came, went, bucketOf, out) {
  const end = cells.first[i + 1];
  for (let j = cells.first[i], before = came[j]; j < end; j++) {
    const after = came[j + 1];
    const slice = cells.slice[j];
    if (slice >= 0 || went) out[slice >= 0 ? bucketOf[slice] : 0] += after - before - (went ? went[j + 1] - went[j] : 0);
    before = after;
  }
}
function cellValues(doc, metric, from, to) {
  const table = tableOf(doc, metric);
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
var labelCount = (doc) => doc.places + doc.head.threads.length + doc.modules.length + 1;
var isThread = (doc, place) => place >= doc.places && place < doc.places + doc.head.threads.length;
function labelOf(doc, place) {
  if (place === 0) return "all";
  if (place < doc.places) return doc.name[place];
  const thread = place - doc.places, { threads } = doc.head;
  if (place === labelCount(doc) - 1) return "kernel";
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
function placesIn(doc, tree) {
  const seen = new Uint8Array(labelCount(doc));
  for (let i = 0; i < tree.count; i++) seen[tree.place[i]] = 1;
  return [...seen.keys()].filter((place) => seen[place]);
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
function forward(doc, taken, shape, threads) {
  let known3 = skeletons.get(shape);
  if (!known3) skeletons.set(shape, known3 = /* @__PURE__ */ new Map());
  let kinds = known3.get(taken.cells);
  if (!kinds) known3.set(taken.cells, kinds = []);
  const skeleton = kinds[+threads] ??= makeSkeleton(doc, taken.cells, shape, threads), { parent, place, order, first, own, end } = skeleton;
  const costs = (values) => {
    const sums = new Float64Array(order.length + 1);
    for (let i = 0, sum2 = 0; i < order.length; i++) sums[i + 1] = sum2 += values[order[i]];
    const hair = doc.costs.has(taken.metric) ? 0 : 1e-9 * sums[order.length];
    const between = (from, to) => {
      const value = sums[to] - sums[from];
      return Math.abs(value) <= hair ? 0 : value;
    };
    return { selfOf: (node) => between(first[node], own[node]), totalOf: (node) => between(first[node], end[node]) };
  };
  const tree = { parent, place, count: parent.length, ...costs(taken.values) };
  if (taken.base) tree.base = costsOf({ ...tree, ...costs(taken.base) });
  if (!threads && shape === plainShape(doc)) tree.outermost = skeleton.outermost ??= outermostOf(skeleton, labelCount(doc));
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
  const parts = Math.min(most, to - from), values = /* @__PURE__ */ new Map();
  const width = (threads ? doc.head.threads.length : 1) * shape.parent.length, one = shape.parent.length;
  for (let i = 0; i < cells.node.length; i++) {
    if (!nodes[cells.node[i]] || sized && !sized[i] || selection.thread !== null && doc.head.threads[cells.thread[i]].name !== selection.thread) continue;
    const row = (threads ? cells.thread[i] * one : 0) + shape.of[doc.shown[cells.node[i]]];
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
    for (let up = row % one; up !== 0; up = shape.parent[up]) path.push(shape.place[up]);
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
var inks = ["#14171c", "#ffffff"];
var ownerHues = {
  thread: ["#d5d9e0", "#3b414b"],
  kernel: ["#e1924b", "#774001"],
  runtime: ["#c2c6cc", "#5b5f63"],
  allocator: ["#d77e86", "#77313a"],
  generated: ["#99ecb1", "#307549"],
  cause: ["#f6d9c9", "#5a4840"],
  unknown: ["#f4f4f4", "#3a3d42"],
  other: ["#e9e7df", "#6e6d67"]
};
var groupHues = [
  ["#79bef4", "#215c86"],
  ["#f3e484", "#796b11"],
  ["#ae84cf", "#5a3873"],
  ["#95e2f7", "#2c6e80"],
  ["#bfcc6b", "#5b6301"],
  ["#e19bd3", "#77416d"],
  ["#67b5af", "#125b57"],
  ["#c7b18c", "#655336"]
];
var shareHues = [["#e9edf2", "#3b414b"], ["#fbe3c0", "#5c4a2c"], ["#f8c98a", "#6f4d1c"], ["#f0a35a", "#7d460f"], ["#dd7a3c", "#8a3a06"]];
var waitKinds = [
  ["run queue", ownerHues.allocator, "run queue,CPU quota"],
  ["locks and other threads", groupHues[0], "futex,file lock,ipc"],
  ["files", groupHues[2], "file read,file write,file sync,other file work,io_uring,asynchronous I/O,writeback"],
  ["sockets, pipes and polls", groupHues[3], "socket,pipe,poll"],
  ["sleep", groupHues[6], "sleep,signal"],
  ["memory", groupHues[5], "page fault,memory reclaim,memory map"],
  ["other waits", groupHues[7], ""]
];
var causeHues = waitKinds.map(([, hue]) => hue);
var causeKinds = waitKinds.map(([name]) => name);
var kindsOfCauses = new Map(waitKinds.flatMap(([, , causes], kind) => causes.split(",").map((cause) => [cause, kind])));
var causeKindOf = (cause) => kindsOfCauses.get(cause) ?? waitKinds.length - 1;
var bandHues = [["#b8862f", "#c9983f"], ["#4f93c9", "#5b9fd4"], ["#3f9a78", "#4cab88"], ["#b06aa0", "#c07cb0"], ["#8a8f2f", "#a2a740"], ["#6f7fc4", "#8392d6"], ["#9b6b52", "#b58368"], ["#8d95a3", "#8d95a3"]];
var memoryHues = [["#3d7edb", "#4a8ae6"], ["#9bbcea", "#345a94"], ["#cfd9e6", "#5f6b7d"]];
var faultHues = [["#7f97a0", "#7f97a0"], ["#3d5660", "#b9c8ce"]];
var stallHue = ["#6f8f5f", "#86a875"];
var runningHue = ["#5b9a3c", "#6fb24d"];
var theme = 0;
var setDark = (dark) => {
  theme = dark ? 1 : 0;
};
var toned = (hue) => hue[theme];
function luminance(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}
var inkOf = /* @__PURE__ */ new Map();
function inkOn(fill) {
  let found = inkOf.get(fill);
  if (!found) inkOf.set(fill, found = contrast(inks[0], fill) >= contrast(inks[1], fill) ? inks[0] : inks[1]);
  return found;
}
function hash(text) {
  const bits = (1n << 64n) - 1n;
  let out = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) out = (out ^ BigInt(byte)) * 0x100000001b3n & bits;
  out ^= out >> 32n;
  out = out * 0x9e3779b97f4a7c15n & bits;
  return out ^ out >> 29n;
}
var groupOf2 = (doc, place) => doc.crate[place] || doc.module[place].slice(doc.module[place].lastIndexOf("/") + 1);
var groups = /* @__PURE__ */ new WeakMap();
function groupsOf(doc) {
  let known3 = groups.get(doc);
  if (known3) return known3;
  const spent = new Float64Array(doc.nodes), table = doc.costs.get("cpu") ?? doc.costs.values().next().value, area = /* @__PURE__ */ new Map();
  if (table) for (let i = 0; i < table.node.length; i++) spent[table.node[i]] += table.sums[table.first[i + 1]] - table.sums[table.first[i]];
  else if (doc.heap) for (let i = 0; i < doc.heap.node.length; i++) spent[doc.heap.node[i]] += doc.heap.sumAllocatedBytes[doc.heap.first[i + 1]] - doc.heap.sumAllocatedBytes[doc.heap.first[i]];
  const ofPlace = new Float64Array(doc.places), { parent, place: placeOf } = doc;
  let all = 0;
  for (let i = doc.nodes - 1; i > 0; i--) {
    spent[parent[i]] += spent[i];
    ofPlace[placeOf[i]] += spent[i];
  }
  for (let place = 1; place < doc.places; place++) {
    const group = groupOf2(doc, place);
    if (doc.kind[place] !== 0 /* code */) continue;
    all += ofPlace[place];
    if (group) area.set(group, (area.get(group) ?? 0) + ofPlace[place]);
  }
  const largest2 = [...area].sort((a, b) => b[1] - a[1]).slice(0, groupHues.length).filter(([, value]) => value >= all / 50), taken = /* @__PURE__ */ new Set();
  known3 = /* @__PURE__ */ new Map();
  for (const [group] of largest2) {
    let at = Number(hash(group) % BigInt(groupHues.length));
    while (taken.has(at)) at = (at + 1) % groupHues.length;
    taken.add(at);
    known3.set(group, groupHues[at]);
  }
  groups.set(doc, known3);
  return known3;
}
var ownerNames = ["other", "kernel", "runtime", "allocator", "generated", "unknown", "cause", "other", "unknown"];
function hueOf(doc, place) {
  if (place >= doc.places + doc.head.threads.length) return place < doc.places + doc.head.threads.length + doc.modules.length ? ownerHues.other : ownerHues.kernel;
  if (place === 0 || place >= doc.places) return ownerHues.thread;
  const kind = doc.kind[place];
  return kind === 0 /* code */ ? groupsOf(doc).get(groupOf2(doc, place)) ?? ownerHues.other : ownerHues[ownerNames[kind]];
}
var colorOf = (doc, place) => toned(hueOf(doc, place));
var hashedHues = /* @__PURE__ */ new Map();
function hashed(text) {
  let hue = hashedHues.get(text);
  if (!hue) hashedHues.set(text, hue = groupHues[Number(hash(text) % BigInt(groupHues.length))]);
  return toned(hue);
}
function colorBy(doc, by, place, own) {
  if (place === 0 || place >= doc.places || by === "crate") return colorOf(doc, place);
  if (by === "kind") return toned(doc.kind[place] === 0 /* code */ ? groupHues[0] : ownerHues[ownerNames[doc.kind[place]]]);
  if (by === "self") return toned(shareHues[Math.min(shareHues.length - 1, Math.ceil(own * (shareHues.length - 1)))]);
  return hashed(doc.name[place]);
}
function legendOf(doc, by, places) {
  if (by === "self") return shareHues.map((hue, i) => ({ label: `${i * 25} %`, color: toned(hue) }));
  if (by !== "crate" && by !== "kind") return [];
  const out = /* @__PURE__ */ new Map(), words = ["other code", "kernel", "language library", "allocator", "generated code", "no name", "reason of a wait", "idle", "smaller calls"];
  for (const place of places) {
    if (place === doc.places + doc.head.threads.length + doc.modules.length) out.set("kernel", { label: "kernel", color: colorOf(doc, place) });
    if (place === 0 || place >= doc.places) continue;
    const kind = doc.kind[place], group = kind === 0 /* code */ && by === "crate" && groupsOf(doc).has(groupOf2(doc, place)) ? groupOf2(doc, place) : "";
    const label2 = group || (kind === 0 /* code */ && by === "kind" ? "own code" : words[kind]);
    if (!out.has(label2)) out.set(label2, { label: label2, color: colorBy(doc, by, place, 0) });
  }
  const rank = (label2) => {
    const at = [...groupsOf(doc).keys()].indexOf(label2);
    return at < 0 ? 100 + words.indexOf(label2) : at;
  };
  return [...out.values()].sort((a, b) => rank(a.label) - rank(b.label));
}
var steps = [0.1, 1 / 3, 0.9995];
var noiseHue = ["#d6d8dc", "#4a4f57"];
var lessHues = [["#bed3e8", "#40566e"], ["#92b9de", "#345c86"], ["#6099cf", "#2c629e"], ["#3477bb", "#2668b4"]];
var moreHues = [["#fadcb6", "#68543c"], ["#f8be7a", "#82582a"], ["#f0963c", "#9c5a1a"], ["#de6e14", "#b2580c"]];
function changeColor(base, fresh, beyondNoise) {
  if (!beyondNoise || base === fresh) return toned(noiseHue);
  const part = Math.abs(fresh - base) / Math.max(base, fresh);
  return toned((fresh > base ? moreHues : lessHues)[steps.filter((step) => part >= step).length]);
}

// src/statistics.ts
var manyDegrees = 1e4;
var leastPieces = 5;
var nothing2 = { base: 0, fresh: 0, change: 0, sd: 0, freedom: manyDegrees, p: 1, error: 0, lookedAt: false, beyondNoise: false };
var sum = (values) => {
  let all = 0;
  for (const value of values) all += value;
  return all;
};
function samplingVariance(value, whole, scale) {
  if (scale.weight <= 0) return 0;
  const left = scale.ofWhole ? whole > 0 ? 1 - value / whole : 1 : scale.most > 0 ? 1 - value / scale.most : 1;
  return scale.weight * Math.max(value * Math.max(left, 0), scale.weight);
}
function varianceOverTime(values, wholes, scale) {
  const count = scale.pieces;
  if (count < leastPieces) return 0;
  const all = sum(values.subarray(0, count)), whole = sum(wholes.subarray(0, count)), away = new Float64Array(count);
  for (let i = 0; i < count; i++) away[i] = values[i] - (!scale.ofWhole ? all / count : whole > 0 ? all / whole * wholes[i] : 0);
  const covariance = (lag) => {
    let together2 = 0;
    for (let i = lag; i < count; i++) together2 += away[i] * away[i - lag];
    return together2 / (count - 1);
  };
  const alone = covariance(0), stretch = count * scale.whole * scale.whole;
  if (covariance(1) * Math.sqrt(count) <= 2 * alone) return stretch * alone;
  return stretch * Math.max(alone, alone + 4 / 3 * covariance(1) + 2 / 3 * covariance(2));
}
var likelySpread = (pieces) => {
  if (pieces < leastPieces) return 1;
  const part = 2 / (9 * (pieces - 1));
  return (1 - part + 1.6449 * Math.sqrt(part)) ** 3;
};
function figureOf(values, wholes, scale) {
  const all = sum(values), whole = sum(wholes), factor = scale.ofWhole ? whole > 0 ? 1 / whole : 0 : scale.factor;
  let variance = samplingVariance(all, whole, scale), freedom = manyDegrees;
  const overTime2 = varianceOverTime(values, wholes, scale);
  if (overTime2 > variance * likelySpread(scale.pieces)) {
    variance = overTime2;
    freedom = scale.pieces - 1;
  }
  return { mean: all * factor, variance: variance * factor * factor, freedom };
}
function logGamma(x) {
  let shift = 0;
  for (; x < 8; x++) shift += Math.log(x);
  const y = 1 / (x * x);
  return (x - 0.5) * Math.log(x) - x + 0.9189385332046727 + (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x - shift;
}
function beta(x, a, b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - beta(1 - x, b, a);
  const tiny = 1e-300, nonzero = (value) => Math.abs(value) < tiny ? tiny : value;
  let c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (let m = 1; m <= 2e3; m++) {
    let step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + step * d);
    c = nonzero(1 + step / c);
    fraction *= c * d;
    step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + step * d);
    c = nonzero(1 + step / c);
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-12) break;
  }
  return fraction * Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
}
var chanceOf = (t, freedom) => beta(freedom / (freedom + t * t), freedom / 2, 0.5);
function deviationAt(chance, freedom) {
  let low = 0, high = 1;
  while (chanceOf(high, freedom) > chance && high < 1e12) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (chanceOf(middle, freedom) > chance) low = middle;
    else high = middle;
  }
  return high;
}
function changeBetween(base, fresh) {
  const change = fresh.mean - base.mean, variance = base.variance + fresh.variance, sd = Math.sqrt(variance);
  const shaky = base.variance ** 2 / base.freedom + fresh.variance ** 2 / fresh.freedom;
  const freedom = Math.min(manyDegrees, Math.max(1, shaky > 0 ? variance * variance / shaky : manyDegrees));
  const p = change === 0 ? 1 : sd > 0 ? chanceOf(Math.abs(change) / sd, freedom) : 0;
  return { base: base.mean, fresh: fresh.mean, change, sd, freedom, p, error: 0, lookedAt: false, beyondNoise: false };
}
function holmLevel(chances, level = 0.05) {
  const sorted = Float64Array.from(chances).sort();
  let taken = 0;
  while (taken < sorted.length && sorted[taken] <= level / (sorted.length - taken)) taken++;
  return level / Math.max(sorted.length - taken, 1);
}
function judgeAll(changes, single) {
  const deviations = /* @__PURE__ */ new Map();
  for (const change of changes) {
    change.beyondNoise = change.lookedAt && change.p <= single && change.change !== 0;
    if (change.sd <= 0) continue;
    let deviation = deviations.get(change.freedom);
    if (deviation === void 0) deviations.set(change.freedom, deviation = deviationAt(single, change.freedom));
    change.error = change.sd * deviation;
  }
}

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
  const out = new Int32Array(count), from = new Varints(bytes2);
  for (let i = 0, last = 0; i < count; i++) out[i] = last += from.difference();
  return out;
}
function readEntries(first, steps2, values, slice, sums) {
  let value = 0, sum2 = 0;
  for (let cell = 0, i = 0; cell + 1 < first.length; cell++)
    for (let end = first[cell + 1], at = -1; i < end; i++) {
      const step = steps2.next();
      slice[i] = at += (step >>> 1) + 1;
      sum2 += step & 1 ? value += values.difference() : 1;
      sums[i + 1] = sum2;
      if (sums[i + 1] !== sum2) return false;
    }
  return true;
}
function runningSums(values) {
  const sums = new Float64Array(values.length + 1);
  for (let i = 0, sum2 = 0; i < values.length; i++) sums[i + 1] = sum2 += values[i];
  return sums;
}
function readDocument(bytes2) {
  const mark = "fathom page\n";
  if (new TextDecoder().decode(bytes2.subarray(0, mark.length)) !== mark) throw new Error("this is no document of fathom");
  const length = new DataView(bytes2.buffer, bytes2.byteOffset).getUint32(mark.length, true);
  const body = mark.length + 4;
  const head2 = JSON.parse(new TextDecoder().decode(bytes2.subarray(body, body + length)));
  if (head2.version !== 1) throw new Error(`the document has version ${head2.version}, and this page knows 1`);
  const read = (name2, as) => {
    const [kind2, offset, size, count] = head2.columns[name2];
    return as(bytes2.subarray(body + length + offset, body + length + offset + size), kind2, count);
  };
  const column = (name2) => read(name2, numbers), whole = (name2) => read(name2, wholeNumbers);
  const sumsOfReals = (name2) => runningSums(column(name2));
  const texts = (name2) => Array.from(column(name2), (row) => head2.texts[row]);
  const kind = new Uint8Array(column("place.kind"));
  const back = whole("node.back"), placeOf = whole("node.place"), nodes = back.length;
  const isIdle = kind.map((one) => one === 7 /* idle */ ? 1 : 0), idlePlaces = [], idle = /* @__PURE__ */ new Map();
  const shown = new Uint32Array(nodes), up = back;
  for (let i = 0; i < nodes; i++) {
    up[i] = i - up[i];
    shown[i] = i;
    if (!isIdle[placeOf[i]]) continue;
    let at = idle.get(placeOf[i]);
    if (at === void 0) idle.set(placeOf[i], at = nodes + idlePlaces.push(placeOf[i]) - 1);
    shown[i] = at;
  }
  const withIdle = (of, more) => {
    const out = new Uint32Array(nodes + more.length);
    out.set(of);
    out.set(more, nodes);
    return out;
  };
  const parent = idlePlaces.length ? withIdle(up, idlePlaces.map(() => 0)) : up, place = idlePlaces.length ? withIdle(placeOf, idlePlaces) : placeOf;
  const cells = (table) => {
    const counts = column(`${table}.entries`), first = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) first[i + 1] = first[i] + counts[i];
    return { thread: whole(`${table}.thread`), node: whole(`${table}.node`), first };
  };
  const costsOf2 = (table) => {
    const of = cells(table), count = of.first[of.first.length - 1], slice = new Uint16Array(count);
    const varints = (name2) => read(name2, (bytes3) => new Varints(bytes3));
    const filled = (sums) => readEntries(of.first, varints(`${table}.slice`), varints(`${table}.value`), slice, sums) ? sums : null;
    return { ...of, slice, sums: filled(new Uint32Array(count + 1)) ?? filled(new Float64Array(count + 1)) };
  };
  const costs = /* @__PURE__ */ new Map();
  for (const metric of head2.metrics) if (metric.table !== "heap") costs.set(metric.name, costsOf2(metric.name));
  let heap = null;
  if (head2.columns["heap.thread"]) {
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
  const changes = (name2) => {
    const values = column(`${name2}.values`);
    return Array.from(whole(`${name2}.flags`), (flags, i) => ({
      ...nothing2,
      base: values[5 * i],
      fresh: values[5 * i + 1],
      change: values[5 * i + 2],
      error: values[5 * i + 3],
      p: values[5 * i + 4],
      lookedAt: (flags & 1) !== 0,
      beyondNoise: (flags & 2) !== 0
    }));
  };
  const comparisonOf = (name2, of) => {
    const from = `compared.${name2}`, functions = /* @__PURE__ */ new Map(), rows = changes(`${from}.places`), ofThreads = changes(`${from}.threads`);
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
  const module = texts("place.module"), name = texts("place.name");
  const short = head2.columns["place.short"] ? texts("place.short").map((text, i) => text || name[i]) : name;
  return {
    compared: head2.compared_with === void 0 ? null : new Map(head2.metrics.flatMap((one) => one.compared ? [[one.name, comparisonOf(one.name, one.compared)]] : [])),
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
    courses: (head2.courses?.lines ?? []).map((line) => ({ name: line.name, unit: line.unit, base: column(`${line.columns}.base`), fresh: column(`${line.columns}.new`) })),
    spans: head2.spans ? { kind: whole("span.kind"), start: column("span.start_ns"), length: column("span.length_ns"), thread: whole("span.thread") } : null,
    shapes: heap && { cell: whole("shape.cell"), kind: new Uint8Array(column("shape.kind")), bucket: new Uint8Array(column("shape.bucket")), blocks: column("shape.blocks") },
    blocks: heap && { cell: whole("block.cell"), address: column("block.address"), size: column("block.size"), allocated: column("block.allocated_ns"), blocks: column("block.blocks") },
    head: head2,
    nodes,
    parent,
    place,
    shown,
    places: kind.length,
    name,
    short,
    module,
    crate: texts("place.crate"),
    file: texts("place.file"),
    line: whole("place.line"),
    lastLine: whole("place.last_line"),
    kind,
    whose: head2.columns["place.whose"] ? new Uint8Array(column("place.whose")) : new Uint8Array(kind.length),
    costs,
    heap,
    lines: head2.series.map((series) => ({
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
  constructor(tree, first, list2, bySize) {
    this.tree = tree;
    this.first = first;
    this.list = list2;
    this.bySize = bySize;
  }
  tree;
  first;
  list;
  bySize;
  seen = /* @__PURE__ */ new Map();
  sorted = /* @__PURE__ */ new Map();
  // Those with a cost, in the order of the tree. A node may have thousands: computes each cost once.
  withCost(node) {
    let known3 = this.seen.get(node);
    if (known3) return known3;
    const from = this.first[node], size = this.first[node + 1] - from, ids = new Uint32Array(size), costs = new Float64Array(size);
    let count = 0;
    for (let i = 0; i < size; i++) {
      const cost = this.tree.totalOf(this.list[from + i]);
      if (cost > 0) {
        ids[count] = this.list[from + i];
        costs[count++] = cost;
      }
    }
    this.seen.set(node, known3 = { ids: ids.subarray(0, count), costs: costs.subarray(0, count) });
    return known3;
  }
  inOrder({ ids, costs }, some) {
    const { place } = this.tree;
    if (this.bySize) some.sort((a, b) => costs[b] - costs[a] || place[ids[a]] - place[ids[b]]);
    return some.map((i) => ids[i]);
  }
  of(node) {
    let known3 = this.sorted.get(node);
    if (known3) return known3;
    const all = this.withCost(node);
    this.sorted.set(node, known3 = Uint32Array.from(this.inOrder(all, [...all.ids.keys()])));
    return known3;
  }
  // Only those that cost at least `least`, and the sum of the others: sorting the narrow ones would take longer than drawing.
  atLeast(node, least) {
    const all = this.withCost(node), some = [];
    let value = 0;
    for (let i = 0; i < all.ids.length; i++) if (all.costs[i] < least) value += all.costs[i];
    else some.push(i);
    return { wide: this.inOrder(all, some), others: all.ids.length - some.length, value };
  }
};
var orders = /* @__PURE__ */ new WeakMap();
function childrenOf(tree, sorted = true) {
  let known3 = orders.get(tree.parent);
  if (!known3) {
    const first = new Uint32Array(tree.count + 1);
    for (let i = 1; i < tree.count; i++) first[tree.parent[i] + 1]++;
    for (let i = 0; i < tree.count; i++) first[i + 1] += first[i];
    const next = first.slice(), list2 = new Uint32Array(Math.max(0, tree.count - 1));
    for (let i = 1; i < tree.count; i++) list2[next[tree.parent[i]]++] = i;
    orders.set(tree.parent, known3 = { first, list: list2 });
  }
  return new Children(tree, known3.first, known3.list, sorted);
}
var leastWidth = 1.5;
function layout(tree, children, zoom, width) {
  const rows = [];
  const put = (box) => (rows[box.row] ??= []).push(box);
  const path = [];
  for (let at = zoom; at !== 0; at = tree.parent[at]) path.push(at);
  path.push(0);
  path.reverse().forEach((node, row) => put({ node, x: 0, width, row, joined: 0, value: tree.totalOf(node) }));
  const scale = tree.totalOf(zoom) > 0 ? width / tree.totalOf(zoom) : 0, least = scale > 0 ? leastWidth / scale : Infinity;
  const open = [rows[path.length - 1][0]];
  while (open.length) {
    const box = open.pop();
    const { wide: wide2, others, value } = children.atLeast(box.node, least);
    let x = box.x;
    for (const node of wide2) {
      const total = tree.totalOf(node), child = { node, x, width: total * scale, row: box.row + 1, joined: 0, value: total };
      put(child);
      open.push(child);
      x += child.width;
    }
    if (others && value * scale >= 0.5) put({ node: box.node, x, width: value * scale, row: box.row + 1, joined: others, value });
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

// src/flame_picture.ts
var rowHeight = 19;
var margin = 10;
var head = 52;
var letter = 7.2;
var escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
function pictureOf(boxes, width, title, subtitle, paper, ink, fit) {
  const lines = boxes.reduce((most, box) => Math.max(most, box.line + 1), 0), height = head + lines * rowHeight + margin;
  const measure = (text) => text.length * letter, out = [];
  out.push(`<svg xmlns="http://www.w3.org/2000/svg" width="${width + 2 * margin}" height="${height}" viewBox="0 0 ${width + 2 * margin} ${height}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="12">`);
  out.push(`<rect width="100%" height="100%" fill="${paper}"/>`);
  out.push(`<text x="${margin}" y="22" font-size="15" font-weight="bold" fill="${ink}">${escaped(title)}</text>`);
  out.push(`<text x="${margin}" y="41" fill="${ink}">${escaped(fit(subtitle, width, measure))}</text>`);
  for (const box of boxes) {
    const x = Math.round((margin + box.x) * 10) / 10, w = Math.round(Math.max(0.5, box.width - 0.5) * 10) / 10, y = head + box.line * rowHeight;
    const label2 = box.width > 24 ? fit(box.label, box.width - 8, measure) : "";
    out.push(`<g><title>${escaped(box.hint)}</title><rect x="${x}" y="${y}" width="${w}" height="${rowHeight - 1}" fill="${box.fill}"/>${label2 ? `<text x="${x + 4}" y="${y + 13}" fill="${box.ink}">${escaped(label2)}</text>` : ""}</g>`);
  }
  return `${out.join("\n")}
</svg>
`;
}

// keys:page
var page_default = [[["?", "h"], "help", "this help"], [["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"], "view", "views, from left to right"], [["S"], "spans", "view of spans"], [["/"], "search", "search"], [["n"], "next", "next match"], [["p", "N"], "previous", "previous match"], [["."], "menu", "menu of the selected function; also right-click, Shift-F10"], [["f"], "focus", "focus on the selected function"], [["d"], "leave-out", "leave its stacks out"], [["H"], "hide", "hide it: its cost becomes its callers'"], [["F"], "show-from", "show stacks from it"], [["M"], "collapse", "collapse its module"], [["<"], "callers", "its callers"], [[">"], "callees", "its callees"], [["a"], "code", "its source and machine code"], [["x"], "clear", "drop all filters"], [["m"], "metric", "next metric"], [["t"], "thread", "by thread"], [["["], "earlier", "the time before the selected one"], [["]"], "later", "the time after the selected one"], [["b"], "base", "compare with the selected time"], [["o"], "order", "in order of time, or the largest first"], [["i"], "invert", "inverted: from costly functions to their callers"], [["u"], "upwards", "upwards: callers at the bottom"], [["l"], "libraries", "fold library frames that only pass time on"], [["k"], "kernel", "fold the kernel side"], [["r"], "recursion", "fold recursion"], [["y"], "own", "only own code"], [["Y"], "runtime", "without language libraries"], [["L"], "tracks", "a track for each thread"], [["c"], "copy", "copy as command"], [["s"], "save", "save the graph as a picture"], [["Enter"], "-", "in the graph, the tree and on the time axis: go there"], [["arrows"], "-", "move; on the time axis with Shift its end"], [["Esc"], "back", "back: from the search, the zoom, the selection"]];

// src/key_names.ts
var keyRowsOfPage = page_default;
var nameOfKey = (key) => page_default.find(([keys, name]) => name !== "-" && keys.includes(key))?.[1] ?? "";
var keyHint = (name) => `key ${page_default.find(([, one]) => one === name)?.[0][0] ?? ""}`;

// src/owners.ts
function askerOf(doc, node) {
  let nearest = 0;
  for (let at = node; at !== 0; at = doc.parent[at]) {
    const place = doc.place[at], kind = doc.kind[place];
    if (kind === 0 /* code */) return place;
    if (kind !== 3 /* allocator */) nearest ||= place;
  }
  return nearest || doc.place[node];
}
function waiterOf(doc, node) {
  const none = 2 /* runtime */ + 2;
  let found = 0, rank = none;
  for (let at = doc.parent[node]; at !== 0 && rank > 0 /* own */; at = doc.parent[at]) {
    const place = doc.place[at], kind = doc.kind[place];
    if (kind === 6 /* cause */) continue;
    const of = kind === 0 /* code */ ? doc.whose[place] : none - 1;
    if (of < rank) {
      rank = of;
      found = place;
    }
  }
  return found;
}
function ownersOf(doc, taken) {
  const out = /* @__PURE__ */ new Map(), { cells, values, metric } = taken, owner = metric === "off-cpu" ? waiterOf : doc.costs.has(metric) ? (_, node) => doc.place[node] : askerOf;
  for (let i = 0; i < values.length; i++) {
    const node = cells.node[i];
    if (!values[i] || doc.kind[doc.place[node]] === 7 /* idle */) continue;
    const place = owner(doc, node);
    if (place) out.set(place, (out.get(place) ?? 0) + values[i]);
  }
  return [...out].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
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

// src/series.ts
function valueAt(line, ms) {
  let low = 0, high = line.ms.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (line.ms[middle] <= ms) low = middle + 1;
    else high = middle;
  }
  return line.value[Math.max(0, low - 1)];
}
var resident = ["memory.rss_anon", "memory.rss_file", "memory.rss_shmem"];
function residentIn(doc, from, to) {
  const lines = doc.lines.filter(({ name, ms }) => resident.includes(name) && ms.length > 0);
  if (!lines.length) return null;
  const at = (ms) => lines.reduce((sum2, line) => sum2 + (ms < line.ms[0] && lines.some((other) => other.ms[0] < line.ms[0]) ? 0 : valueAt(line, ms)), 0);
  const out = { start: at(from), end: at(to), most: -1, mostAt: from };
  const times2 = [from, to, ...lines.flatMap((line) => Array.from(line.ms).filter((ms) => ms >= from && ms <= to))];
  for (const ms of new Set(times2)) {
    const value = at(ms);
    if (value > out.most) {
      out.most = value;
      out.mostAt = ms;
    }
  }
  return out;
}

// src/spans.ts
function lengthScale(spans, kind) {
  let least = Infinity, most = 1;
  for (let i = 0; i < spans.kind.length; i++) if (spans.kind[i] === kind) {
    least = Math.min(least, Math.max(1, spans.length[i]));
    most = Math.max(most, spans.length[i]);
  }
  return { least: Math.min(least, most / 2), most };
}
var partOf = ({ least, most }, length) => Math.min(1, Math.max(0, Math.log(Math.max(length, 1) / least) / Math.log(most / least)));
var lengthAt = ({ least, most }, part) => least * Math.pow(most / least, Math.min(1, Math.max(0, part)));
function spansIn(spans, kind, box) {
  const rows = [];
  for (let i = 0; i < spans.kind.length; i++)
    if (spans.kind[i] === kind && spans.length[i] >= box.least && spans.length[i] < box.most && spans.start[i] < box.to && spans.start[i] + spans.length[i] >= box.from) rows.push(i);
  return rows;
}
function secondsBelow(ns) {
  if (ns <= 0) return 0;
  const unit = Math.pow(10, Math.floor(Math.log10(ns)) - 2), out = Math.max(1, Math.floor(ns / unit)) * unit;
  return +(Math.min(out, ns) / 1e9).toPrecision(12);
}
function secondsAbove(ns) {
  const unit = Math.max(1, Math.pow(10, Math.floor(Math.log10(Math.max(ns, 1))) - 2));
  return +((Math.floor(ns / unit) + 1) * unit / 1e9).toPrecision(12);
}
function choiceOf(spans, kind, rows) {
  let least = Infinity, most = 0;
  for (const row of rows) {
    least = Math.min(least, spans.length[row]);
    most = Math.max(most, spans.length[row]);
  }
  return { name: kind.name, slower: secondsBelow(least), faster: most < kind.most_ns ? secondsAbove(most) : null };
}
function slowestOf(spans, kind, of) {
  const lengths = spans.length.filter((_, row) => spans.kind[row] === kind).sort();
  const count = Math.max(1, Math.floor(of.count / 20));
  return { name: of.name, slower: secondsBelow(lengths[Math.max(0, lengths.length - count)] ?? 0), faster: null };
}
function chosenBy(spans, kind, { slower, faster }) {
  let count = 0;
  for (let i = 0; i < spans.kind.length; i++) if (spans.kind[i] === kind && spans.length[i] >= slower * 1e9 && (faster === null || spans.length[i] < faster * 1e9)) count++;
  return count;
}
var choiceWords = ({ name, slower, faster }) => ["--span", quoted(name), ...slower > 0 ? ["--slower-than", `${slower}`] : [], ...faster !== null ? ["--faster-than", `${faster}`] : []].join(" ");
var choiceText = ({ name, slower, faster }) => `span ${name}${slower > 0 ? `, at least ${seconds(slower)}` : ""}${faster !== null ? `, less than ${seconds(faster)}` : ""}`;
var choiceQuery = ({ name, slower, faster }) => new URLSearchParams({ span: name, ...slower > 0 ? { "slower-than": `${slower}` } : {}, ...faster !== null ? { "faster-than": `${faster}` } : {} }).toString();
function cutKind(doc) {
  const cut = doc.head.spans?.cut, kinds = doc.head.spans?.kinds ?? [];
  if (!cut) return -1;
  const exact = kinds.findIndex(({ name }) => name === cut.name);
  return exact >= 0 ? exact : kinds.findIndex(({ name }) => name.includes(cut.name));
}
var kindText = (kind) => `${withCommas(kind.count + kind.untimed)} spans, half of them at most ${seconds(kind.p50_ns / 1e9)}, 95 % at most ${seconds(kind.p95_ns / 1e9)}, the longest ${seconds(kind.most_ns / 1e9)}`;

// src/compare.ts
var usualPieces = 20;
var leastForPieces = 2;
var leastSamples = 10;
var leastShare = 1e-3;
var canCompare = (metric) => metric !== "heap-peak";
var isLevel = (metric) => metric === "heap-live" || metric === "heap-peak";
var Side = class {
  constructor(doc, range, isTime) {
    this.range = range;
    const { slice_ms, duration_ns } = doc.head, width = slice_ms * 1e6, count = range[1] - range[0];
    this.seconds = Math.max(0, Math.min(range[1] * width, duration_ns) - range[0] * width) * 1e-9;
    const cut = isTime && this.seconds >= leastForPieces;
    this.length = cut ? Math.ceil(count / usualPieces) : count;
    this.pieces = cut ? Math.max(1, Math.floor(count / this.length)) : 1;
  }
  range;
  pieces;
  length;
  seconds;
  // The rest at the end is an additional, last piece.
  pieceOf(slice) {
    return Math.min(this.pieces, Math.floor((slice - this.range[0]) / this.length));
  }
  get stretch() {
    return (this.range[1] - this.range[0]) / (this.pieces * this.length);
  }
};
var Rows = class {
  constructor(rows, sides) {
    this.sides = sides;
    this.values = new Float64Array(rows * this.width);
  }
  sides;
  values;
  get width() {
    return this.sides[0].pieces + this.sides[1].pieces + 2;
  }
  add(row, side, piece, value) {
    this.values[row * this.width + (side ? this.sides[0].pieces + 1 : 0) + piece] += value;
  }
  of(row, side) {
    const from = row * this.width + (side ? this.sides[0].pieces + 1 : 0);
    return this.values.subarray(from, from + this.sides[side].pieces + 1);
  }
  key(row) {
    return this.values.subarray(row * this.width, (row + 1) * this.width).join();
  }
  addAll(row, other, from) {
    for (let i = 0; i < this.width; i++) this.values[row * this.width + i] += other.values[from * this.width + i];
  }
};
var numbered = (texts) => {
  const numbers3 = /* @__PURE__ */ new Map();
  return { of: Uint32Array.from(texts, (text) => {
    if (!numbers3.has(text)) numbers3.set(text, numbers3.size);
    return numbers3.get(text);
  }), count: numbers3.size };
};
function compare(doc, selection, base) {
  const { head: head2 } = doc, { metric } = selection, cells = cellsOf(doc, metric), table = doc.costs.get(metric);
  const info = head2.metrics.find(({ name }) => name === metric), isTime = metric === "cpu" || metric === "off-cpu";
  const sides = [new Side(doc, base, isTime), new Side(doc, [selection.from, selection.to], isTime)];
  const nodes = takenNodes(doc, selection.focus, selection.ignore), sized = sizedCells(doc, cells, selection.sizes);
  const self = new Rows(doc.places, sides), total = new Rows(doc.places, sides), threads = new Rows(head2.threads.length, sides), whole = new Rows(1, sides);
  const seen = new Int32Array(doc.places).fill(-1), path = [];
  const values = table ? null : sides.map(({ range }) => cellValues(doc, metric, ...range));
  for (let i = 0; i < cells.node.length; i++) {
    if (!nodes[cells.node[i]] || sized && !sized[i]) continue;
    if (selection.thread !== null && head2.threads[cells.thread[i]].name !== selection.thread) continue;
    path.length = 0;
    const add = (side, piece, value) => {
      if (value === 0) return;
      if (!path.length) {
        for (let at = doc.shown[cells.node[i]]; at !== 0; at = doc.parent[at]) if (seen[doc.place[at]] !== i) {
          seen[doc.place[at]] = i;
          path.push(doc.place[at]);
        }
      }
      if (path.length) self.add(path[0], side, piece, value);
      if (path.length > 1 && doc.kind[path[0]] === 6 /* cause */) self.add(path[1], side, piece, value);
      for (const place of path) total.add(place, side, piece, value);
      threads.add(cells.thread[i], side, piece, value);
      whole.add(0, side, piece, value);
    };
    sides.forEach((side, s) => {
      if (values) return add(s, 0, values[s][i]);
      for (let j = entryAt(cells, i, side.range[0]), end = entryAt(cells, i, side.range[1]); j < end; j++) add(s, side.pieceOf(cells.slice[j]), table.sums[j + 1] - table.sums[j]);
    });
  }
  const sumOf = (row) => row.reduce((a, b) => a + b, 0), wholes = [whole.of(0, 0), whole.of(0, 1)];
  const period = metric === "cpu" ? head2.period_ns : 1;
  const byShare = isTime && !(period > 0);
  const scales = sides.map((side, s) => {
    const ticks = metric === "cpu" && period > 0 ? side.seconds * 1e9 / period : 0;
    return {
      pieces: side.pieces,
      whole: side.stretch,
      weight: info?.weight ?? 0,
      ofWhole: byShare,
      factor: isLevel(metric) ? 1 : side.seconds > 0 ? (isTime ? period * 1e-9 : 1) / side.seconds : 0,
      most: ticks > 0 ? ticks * Math.max(1, Math.ceil(sumOf(wholes[s]) / ticks)) : 0
    };
  });
  const changes = [], chances = [], tested = /* @__PURE__ */ new Set();
  const wholeChange = changeBetween(figureOf(wholes[0], wholes[0], scales[0]), figureOf(wholes[1], wholes[1], scales[1]));
  const test = (rows, row) => {
    const of = [rows.of(row, 0), rows.of(row, 1)];
    const change = changeBetween(figureOf(of[0], wholes[0], scales[0]), figureOf(of[1], wholes[1], scales[1]));
    const weight = info?.weight ?? 0, samples = weight > 0 ? (sumOf(of[0]) + sumOf(of[1])) / weight : leastSamples;
    change.lookedAt = samples >= leastSamples && change.base + change.fresh >= leastShare * (wholeChange.base + wholeChange.fresh);
    changes.push(change);
    if (change.lookedAt) {
      const key = rows.key(row);
      if (!tested.has(key)) {
        tested.add(key);
        chances.push(change.p);
      }
    }
    return change;
  };
  const result = {
    unit: byShare ? "share" : metric === "cpu" ? "cores" : isTime ? "threads" : isLevel(metric) ? "bytes" : metric === "heap-allocations" ? "per second" : "bytes per second",
    seconds: [sides[0].seconds, sides[1].seconds],
    factors: [0, 1].map((s) => byShare ? 1 / Math.max(1, sumOf(wholes[s])) : scales[s].factor),
    whole: byShare ? wholeChange : test(whole, 0),
    functions: /* @__PURE__ */ new Map(),
    threads: /* @__PURE__ */ new Map(),
    lookedAt: 0,
    level: 0.05
  };
  const any = (change) => change.base !== 0 || change.fresh !== 0;
  const modules = numbered(doc.module), crates = numbered(doc.crate);
  const byModule = new Rows(modules.count, sides), byCrate = new Rows(crates.count, sides);
  for (let place = 1; place < doc.places; place++) {
    const row = { place, self: test(self, place), total: test(total, place) };
    if (any(row.total)) result.functions.set(place, row);
    byModule.addAll(modules.of[place], self, place);
    if (doc.crate[place] && doc.kind[place] !== 6 /* cause */) byCrate.addAll(crates.of[place], self, place);
  }
  for (let row = 0; row < head2.threads.length; row++) {
    const change = test(threads, row);
    if (any(change)) result.threads.set(row, change);
  }
  for (let row = 0; row < modules.count; row++) test(byModule, row);
  for (let row = 0; row < crates.count; row++) test(byCrate, row);
  result.lookedAt = chances.length;
  result.level = holmLevel(chances);
  judgeAll(changes, result.level);
  return result;
}

// src/summary.ts
var figures = /(?<![\w:.])[±+−]?\d[\d,.]*(?:\s?(?:%|[KMGT]iB(?:\/s)?|B|[mun]?s|h|min|cores?|samples|times))?(?=[\s,.;:)]|$)/;
var isName = (word) => /::|_|[a-z][A-Z]|\(|\d/.test(word);
var named2 = /* @__PURE__ */ new WeakMap();
function placesByShortName(doc) {
  let known3 = named2.get(doc);
  if (!known3) named2.set(doc, known3 = /* @__PURE__ */ new Map());
  else return known3;
  for (let place = 1; place < doc.places; place++) {
    const before = known3.get(doc.short[place]);
    if (doc.kind[place] !== 6 /* cause */ && doc.kind[place] !== 7 /* idle */ && (before === void 0 || doc.kind[place] === 0 /* code */ && doc.kind[before] !== 0 /* code */)) known3.set(doc.short[place], place);
  }
  return known3;
}
function lineOf(doc, claim) {
  const remark = /^(.{20,}?[.!?]?)\s*\(([^()]{24,})\)[.]?$/s.exec(claim.text), text = remark ? remark[1] : claim.text;
  const places = placesByShortName(doc), place = claim.focus ? Math.max(0, doc.name.indexOf(claim.focus, 1)) : 0, parts = [];
  const plain2 = (piece) => {
    if (piece) parts.push({ text: piece });
  };
  let from = 0;
  for (const found of text.matchAll(/[^\s,;]+/g)) {
    const word = found[0].replace(/[.:]+$/, ""), at = places.get(word);
    if (at === void 0 || !(isName(word) || place && doc.short[place] === word)) continue;
    plain2(text.slice(from, found.index));
    parts.push({ text: word, place: place && doc.short[place] === word ? place : at });
    from = found.index + word.length;
  }
  plain2(text.slice(from));
  for (let i = 0; i < parts.length; i++) {
    const figure2 = parts[i].place === void 0 ? figures.exec(parts[i].text) : null;
    if (!figure2) continue;
    const before = parts[i].text.slice(0, figure2.index), after = parts[i].text.slice(figure2.index + figure2[0].length);
    parts.splice(i, 1, ...before ? [{ text: before }] : [], { text: figure2[0], strong: true }, ...after ? [{ text: after }] : []);
    break;
  }
  return { subject: claim.subject ?? "", parts, doubt: remark ? remark[2] : "", metric: claim.metric, place };
}
function wholeSummary(doc) {
  return doc.head.words.claims.map((claim) => lineOf(doc, { ...claim, subject: claim.subject ?? subjectOf(claim.metric) }));
}
var largest = (of) => [...of].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
var list = (doc, rows, whole) => rows.slice(0, 3).filter(([, value], i) => i === 0 || value >= 0.05 * whole).flatMap(([place, value], i) => [{ text: i ? ", " : "" }, { text: doc.short[place], place }, { text: ` (${percent(value / whole)})` }]);
var few = 100;
function ofCpu(doc, selection, secondsLong) {
  const taken = take(doc, { ...selection, metric: "cpu" });
  const rows = functionTable(doc, buildTree(doc, taken, { threads: false, inverted: false })).filter(({ place, self }) => self > 0 && doc.kind[place] !== 6 /* cause */).sort((a, b) => b.self - a.self);
  const ns = taken.total * doc.head.period_ns, used = { text: ns > 0 ? seconds(ns / 1e9) : amount(taken.total, "samples"), strong: true };
  if (!rows.length) return { subject: "CPU", parts: [{ text: "no sample", strong: true }, { text: " in this time" }], doubt: "", metric: "cpu", place: 0 };
  return {
    subject: "CPU",
    parts: [used, { text: `${ns > 0 ? `, ${(ns / 1e9 / secondsLong).toFixed(2)} cores` : ""}; most in ` }, ...list(doc, rows.map(({ place, self }) => [place, self]), taken.total)],
    doubt: taken.total < few ? `only ${amount(taken.total, "samples")}: shares are rough` : "",
    metric: "cpu",
    place: rows[0].place
  };
}
function ofWaiting(doc, selection) {
  const taken = take(doc, { ...selection, metric: "off-cpu" }), causes = /* @__PURE__ */ new Map(), inside = /* @__PURE__ */ new Map();
  let all = 0;
  for (let i = 0; i < taken.values.length; i++) {
    const node = taken.cells.node[i], place = doc.place[node], value = taken.values[i];
    if (!value || doc.kind[place] === 7 /* idle */) continue;
    all += value;
    causes.set(place, (causes.get(place) ?? 0) + value);
    const waiter = waiterOf(doc, node);
    if (waiter) inside.set(waiter, (inside.get(waiter) ?? 0) + value);
  }
  if (!(all > 0)) return { subject: "Waiting", parts: [{ text: "none", strong: true }, { text: " without idle threads" }], doubt: "", metric: "off-cpu", place: 0 };
  const cause = ([place, value]) => `${seconds(value / 1e9)} ${causeWords(doc.name[place])}`, where = largest(inside);
  return { subject: "Waiting", parts: [
    { text: seconds(all / 1e9), strong: true },
    { text: `: ${largest(causes).slice(0, 3).filter(([, value], i) => i === 0 || value >= 0.05 * all).map(cause).join(", ")}${where.length ? "; mostly in " : ""}` },
    ...list(doc, where.slice(0, 1), all)
  ], doubt: "", metric: "off-cpu", place: 0 };
}
function ofMemory(doc, from, to) {
  const of = residentIn(doc, from, to), signed = (value) => `${value < 0 ? "−" : "+"}${bytes(Math.abs(value))}`;
  return of && { subject: "Memory", parts: [{ text: bytes(of.end), strong: true }, { text: ` resident at the end, ${signed(of.end - of.start)} in this time; ${bytes(of.most)} at most, at ${secondsText(Math.round(of.mostAt))} s` }], doubt: "", metric: doc.heap ? "heap-live" : "", place: 0 };
}
function ofHeap(doc, selection) {
  const { heap } = doc;
  if (!heap) return null;
  const grown = /* @__PURE__ */ new Map();
  let before = 0, after = 0;
  for (let cell = 0; cell < heap.node.length; cell++) {
    if (selection.thread !== null && doc.head.threads[heap.thread[cell]].name !== selection.thread) continue;
    const start = heap.first[cell], live = (until) => heap.sumAllocatedBytes[until] - heap.sumAllocatedBytes[start] - heap.sumFreedBytes[until] + heap.sumFreedBytes[start];
    const old = live(entryAt(heap, cell, selection.from)), now = live(entryAt(heap, cell, selection.to)), place = askerOf(doc, heap.node[cell]);
    before += old;
    after += now;
    grown.set(place, (grown.get(place) ?? 0) + now - old);
  }
  const rows = largest(grown), change = after - before;
  return { subject: "Heap", parts: [
    { text: `${change < 0 ? "−" : "+"}${bytes(Math.abs(change))}`, strong: true },
    { text: `, from ${bytes(Math.max(0, before))} to ${bytes(Math.max(0, after))} live${rows.length ? "; most growth in " : ""}` },
    ...rows.slice(0, 1).flatMap(([place, value]) => [{ text: doc.short[place], place }, { text: ` (+${bytes(value)})` }])
  ], doubt: "", metric: "heap-growth", place: rows[0]?.[0] ?? 0 };
}
function selectedSummary(doc, selection) {
  const plain2 = { ...selection, focus: [], ignore: [], sizes: null }, { slice_ms, duration_ns } = doc.head;
  const [from, to] = [selection.from * slice_ms, Math.min(selection.to * slice_ms, duration_ns / 1e6)];
  return [doc.costs.has("cpu") ? ofCpu(doc, plain2, Math.max(1e-9, (to - from) / 1e3)) : null, doc.costs.has("off-cpu") ? ofWaiting(doc, plain2) : null, selection.thread === null ? ofMemory(doc, from, to) : null, ofHeap(doc, plain2)].filter((line) => line !== null);
}
function selectedQuality(doc, selection) {
  if (!doc.costs.has("cpu")) return "";
  const { total } = take(doc, { ...selection, metric: "cpu", focus: [], ignore: [], sizes: null });
  return `${amount(total, "samples")} in this time${total > 0 ? `: a share of 10 % is exact to ± ${(196 * Math.sqrt(0.09 / total)).toFixed(1)} points` : ""}`;
}
var placeText = (doc, place) => doc.kind[place] === 6 /* cause */ ? causeText(doc.name[place]) : doc.short[place];
var changed = ({ base, fresh }) => base <= 0 ? fresh > 0 ? 1 : 0 : fresh <= 0 ? 1 : Math.abs(fresh - base) / Math.max(base, fresh);
function changeLine(doc, metric, c) {
  const moved = [...c.functions.values()].filter(({ self }) => self.beyondNoise).sort((a, b) => Math.abs(b.self.change) - Math.abs(a.self.change)), { whole } = c;
  const causes = moved.filter(({ place }) => doc.kind[place] === 6 /* cause */), rows = causes.length ? causes : moved;
  const interval = whole.error > 0 ? ` (${figure(whole.change, c.unit, whole.error, true)} ± ${figure(whole.error, c.unit)})` : "";
  const effect = `${whole.beyondNoise ? ofBase(whole) ? `, ${ofBase(whole)}` : "" : ", no more than noise"}${interval}`;
  return {
    subject: subjectOf(metric),
    metric,
    place: rows[0]?.place ?? 0,
    change: whole,
    doubt: "",
    parts: [
      ...c.unit === "share" ? [{ text: rows.length ? "as shares of its time, most changed: " : "no function's share of it changed by more than noise" }] : [{ text: `${figure(whole.base, c.unit)} → ${figure(whole.fresh, c.unit)}`, strong: true }, { text: `${effect}${rows.length ? "; most changed: " : ""}` }],
      ...rows.slice(0, 2).flatMap(({ place, self }, i) => [{ text: i ? ", " : "" }, { text: placeText(doc, place), place }, { text: ` (${figure(self.base, c.unit)} → ${figure(self.fresh, c.unit)})` }])
    ]
  };
}
function sortedChanges(lines) {
  const weight = ({ change }) => change ? (change.beyondNoise ? 2 : 0) + changed(change) : 0;
  return [...lines].sort((a, b) => weight(b) - weight(a));
}
var comparable = (doc) => doc.head.metrics.filter(({ name }) => canCompare(name) && name !== "heap-allocated" && name !== "heap-growth");
function changeSummary(doc, selection, base, ignoreFor) {
  return sortedChanges(comparable(doc).map(({ name }) => changeLine(doc, name, compare(doc, { ...selection, metric: name, focus: [], ignore: ignoreFor(name), sizes: null }, base))));
}
var filesSummary = (doc) => sortedChanges(doc.head.metrics.flatMap(({ name }) => doc.compared.has(name) ? [changeLine(doc, name, doc.compared.get(name))] : []));

// svg/labels.ts
var labels_exports = {};
__export(labels_exports, {
  columnsOf: () => columnsOf,
  label: () => label
});
var wide = (point) => point >= 4352 && point < 4448 || point >= 11904 && point < 42192 || point >= 44032 && point < 55204 || point >= 63744 && point < 64256 || point >= 65072 && point < 65136 || point >= 65280 && point < 65377 || point >= 127744;
var columnsOf = (text) => {
  let columns = 0;
  for (const character of text) columns += wide(character.codePointAt(0)) ? 2 : 1;
  return columns;
};
var skipBrackets = (name, open) => {
  let level = 0;
  for (let i = open; i < name.length; i++) {
    const c = name[i];
    if ("<([{".includes(c)) level++;
    if (c === ">" && name[i - 1] !== "-" || ")]}".includes(c)) {
      if (--level === 0) return i + 1;
    }
  }
  return name.length;
};
var isWord = (c) => /^[A-Za-z0-9_$]$/.test(c);
var plainPath = (path) => {
  const anonymous = "(anonymous namespace)";
  let out = "";
  for (let i = 0; i < path.length; ) {
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
var shortName = (name) => {
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
var cutInFront = (name, columns) => {
  let used = 1, tail = "";
  for (const character of [...name].reverse()) {
    used += columnsOf(character);
    if (used > columns) break;
    tail = character + tail;
  }
  return "…" + tail;
};
var closureLabel = (func, whole, columns) => {
  const name = (whole ? "" : "…") + func;
  return columnsOf(name) + 5 <= columns ? name + "::{…}" : columnsOf(name) + 1 <= columns ? name + "…" : cutInFront(func, columns - 1) + "…";
};
var isDotted = (name) => {
  if (name.includes("::") || name.startsWith("[") || name.startsWith("decltype (") || generated(name)) return false;
  let level = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if ("<([{".includes(c)) level++;
    if (")]}".includes(c) || c === ">" && (i === 0 || !"-=".includes(name[i - 1]))) level--;
    if (level === 0 && i !== 0 && c === "." && i + 1 < name.length && name[i + 1] !== "." && name[i - 1] !== "." && !name.includes(" [clone ")) return true;
    if (level === 0 && i !== 0 && name.startsWith(" (", i) && name.endsWith(")") && !name.endsWith("(inlined)")) return true;
  }
  return name.startsWith("<") && !name.includes(" as ");
};
var withoutFirstPart = (name) => {
  const pathEnd = name.search(/[( ]/), slash = name.indexOf("/");
  if (slash >= 0 && (pathEnd < 0 || slash < pathEnd)) return name.slice(slash + 1);
  for (let i = 0; i < name.length; i++) {
    if (name[i] === "(" && i !== 0 && name[i - 1] !== " ") return "";
    if ("(<[".includes(name[i])) i = skipBrackets(name, i) - 1;
    if (name[i] === ".") return name.slice(i + 1);
  }
  return "";
};
var withoutDottedArguments = (name) => {
  for (let i = 1; i < name.length; i++) {
    if ("<[".includes(name[i - 1])) i = skipBrackets(name, i - 1);
    if (name[i] === "(" && name[i - 1] !== ".") return name.slice(0, name[i - 1] === " " ? i - 1 : i);
  }
  return name;
};
var dottedLabel = (name, columns) => {
  const plain2 = withoutDottedArguments(name);
  if (columnsOf(plain2) <= columns) return plain2;
  for (let rest = withoutFirstPart(plain2); rest !== ""; rest = withoutFirstPart(rest))
    if (columnsOf(rest) + 1 <= columns) return "…" + rest;
  return cutInFront(plain2, columns);
};
var generated = (name) => {
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
var label = (name, columns) => {
  if (columnsOf(name) <= columns) return name;
  if (columns < 5) return "";
  if (isDotted(name)) return dottedLabel(name, columns);
  const made = generated(name);
  if (made && made[0] !== "") {
    const full = made.join(" ");
    return columnsOf(full) <= columns ? full : columnsOf(made[0]) <= columns ? made[0] : cutInFront(made[0], columns);
  }
  const plain2 = shortName(name);
  if (columnsOf(plain2) <= columns) return plain2;
  let named3 = plain2;
  for (let rest = plain2, at = rest.indexOf("::"); at >= 0; at = rest.indexOf("::")) {
    rest = rest.slice(at + 2);
    if (rest === "" || rest[0] === "{") continue;
    named3 = rest;
    if (columnsOf(rest) + 1 <= columns) return "…" + rest;
  }
  const closure = named3.indexOf("::{");
  return closure < 0 ? cutInFront(plain2, columns) : closureLabel(named3.slice(0, closure), named3 === plain2, columns);
};

// svg/numbers.ts
var numbers_exports = {};
__export(numbers_exports, {
  error: () => error,
  grouped: () => grouped,
  known: () => known2,
  percent: () => percent2,
  percentNumber: () => percentNumber,
  quantity: () => quantity2
});
var grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
var percentNumber = (share) => (share * 100).toFixed(share !== 0 && share * 100 < 0.995 ? 2 : 1);
var percent2 = (share) => percentNumber(share) + " %";
var times = [[1e11, 1e9, "s", 0], [1e9, 1e9, "s", 2], [1e6, 1e6, "ms", -1], [1e3, 1e3, "us", -1], [1, 1, "ns", 0]];
var sizes = [[2 ** 40, 2 ** 40, "TiB", 1], [2 ** 30, 2 ** 30, "GiB", 1], [2 ** 20, 2 ** 20, "MiB", 1], [1024, 1024, "KiB", 1], [1, 1, "bytes", 0]];
function scaled(value, steps2) {
  const [, size, unit, digits3] = steps2.find(([from]) => value >= from) ?? steps2[steps2.length - 1];
  return `${digits3 < 0 ? Number((value / size).toPrecision(3)) : (value / size).toFixed(digits3)} ${unit}`;
}
function quantity2(value, unit, count = "") {
  if (count) return `${grouped(value)} ${count}`;
  if (unit === "ns") return scaled(value, times);
  if (unit === "bytes") return scaled(value, sizes);
  return `${grouped(value)} ${unit === "samples" && value === 1 ? "sample" : unit}`;
}
function error(share, samples) {
  const z = 1.959963984540054, z2 = z * z;
  return z * Math.sqrt(share * (1 - share) / samples + z2 / (4 * samples * samples)) / (1 + z2 / samples);
}
var lastKnownDigit = (error2) => error2 < 1 ? 1 : 10 ** Math.floor(Math.log10(error2));
function known2(value, whole, samples, unit) {
  const seen = samples * value / whole, error2 = 1.959964 * value / Math.sqrt(Math.max(1, seen));
  let size = 1;
  if (unit === "bytes") while (value >= 1024 * size && size < 2 ** 40) size *= 1024;
  if (error2 < size) return quantity2(value, unit);
  const digit = lastKnownDigit(error2 / size) * size;
  return quantity2(Math.round(value / digit) * digit, unit).replace(".0 ", " ");
}

// svg/tree.ts
var tree_exports = {};
__export(tree_exports, {
  treeOf: () => treeOf2
});
var digits2 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
var valueOf = new Map([...digits2].map((digit, value) => [digit, value]));
function* numbers2(text) {
  let number = 0, scale = 1;
  for (const digit of text) {
    const value = valueOf.get(digit);
    number += (value & 31) * scale;
    scale *= 32;
    if (value < 32) {
      yield number;
      number = 0;
      scale = 1;
    }
  }
}
function namesOf(lines) {
  const names = [];
  for (const line of lines) {
    let end = 0;
    while ("ghijklmnopqrstuvwxyz0123456789-_".includes(line[end])) end++;
    const shared = [...numbers2(line.slice(0, end + 1))][0];
    names.push((names.length ? names[names.length - 1].slice(0, shared) : "") + line.slice(end + 1));
  }
  return names;
}
function treeOf2(lines, data) {
  const names = namesOf(lines.slice(3)), symbols = [], of = numbers2(lines[1]), next = (from) => from.next().value;
  for (let step = of.next(), name = 0; !step.done; step = of.next()) {
    name += step.value;
    symbols.push({ name: names[name], module: data.modules[next(of)], place: data.places?.[symbols.length] ?? "", color: next(of), hit: false });
  }
  const symbolOf = [], parent = [], depth = [], self = [], inlined = [];
  const rest = numbers2(lines[2]), firstChild = symbols.map(() => 0);
  for (let step = rest.next(); !step.done; step = rest.next()) {
    const node = symbolOf.length, flags = step.value, up = Math.floor(flags / 8);
    let above = node - 1;
    for (let level = up; level > 0; level--) above = parent[above];
    const symbol = flags & 4 ? firstChild[symbolOf[above]] : next(rest);
    if (node > 0 && up === 0) firstChild[symbolOf[above]] = symbol;
    symbolOf.push(symbol);
    parent.push(Math.max(above, 0));
    depth.push(node === 0 ? 0 : depth[above] + 1);
    inlined.push((flags & 2) !== 0);
    self.push(flags & 1 ? next(rest) : 0);
  }
  const count = symbolOf.length, total = self.slice(), end = self.map((_, node) => node + 1);
  const addUp = (values) => {
    for (let node = count - 1; node > 0; node--) values[parent[node]] += values[node];
  };
  addUp(total);
  for (let node = count - 1; node > 0; node--) end[parent[node]] = Math.max(end[parent[node]], end[node]);
  const sides = data.compare ? [[...numbers2(data.compare.base)], [...numbers2(data.compare.new)]] : null;
  sides?.forEach(addUp);
  const waker = data.woken ? [...numbers2(data.woken)].map((row) => row ? data.wakers[row - 1] : "") : [];
  return { symbols, symbolOf, parent, depth, end, inlined, self, total, waker, sides };
}
export {
  amount,
  around,
  askedSize,
  askerOf,
  bandHues,
  boxAt,
  buildTimeTree,
  buildTree,
  bytes,
  causeHues,
  causeKindOf,
  causeKinds,
  causeText,
  causeWords,
  cellOf,
  cellValues,
  cellValuesOf,
  cellsOf,
  changeColor,
  changeSummary,
  childrenOf,
  choiceOf,
  choiceQuery,
  choiceText,
  choiceWords,
  chosenBy,
  colorBy,
  colorOf,
  contrast,
  costsOf,
  cutKind,
  entryAt,
  faultHues,
  figure,
  fileOf,
  filesSummary,
  find,
  firstEdits,
  fitted,
  foldArguments,
  foldGenerics,
  folded,
  functionTable,
  groupHues,
  groupPattern,
  groupsOf,
  hash,
  hashed,
  inkOn,
  isEdit,
  isThread,
  keyHint,
  keyRowsOfPage,
  kindText,
  labelCount,
  labelOf,
  layout,
  legendOf,
  lengthAt,
  lengthScale,
  lessHues,
  lineOf,
  memoryHues,
  metricName,
  moreHues,
  nameOfKey,
  nodesWith,
  noiseHue,
  ofBase,
  overTime,
  ownerHues,
  ownersOf,
  partOf,
  patternText,
  percent,
  pictureOf,
  placeMatcher,
  placesIn,
  plainShape,
  quantity,
  quoted,
  readDocument,
  residentIn,
  runningHue,
  seconds,
  secondsText,
  selectedQuality,
  selectedSummary,
  setDark,
  shapeOf,
  shareHues,
  sizedCells,
  sizesFrom,
  sizesText,
  slowestOf,
  sortedChanges,
  spansIn,
  split,
  stallHue,
  startsOf,
  subjectOf,
  labels_exports as svg,
  numbers_exports as svgNumbers,
  tree_exports as svgTree,
  take,
  takenNodes,
  together,
  toned,
  treeOf,
  unpack,
  valueAt,
  waiterOf,
  whereOf,
  wholeEdits,
  wholeSummary,
  withCommas
};
