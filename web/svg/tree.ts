// The call tree of a picture, from the text in its <metadata> (flame_graph_data.h says how it is written). Pure.

export interface PictureData {
  classes: string[]; modules: string[]; root: string; type: string; unit: string; count: string;
  threads: boolean; reverse: boolean; inverted: boolean; estimated: boolean; fluid: boolean; light: boolean;
  effective: number;  // independent samples; 0: every event was counted
  width: number; top: number; rows: number; frame: number; pad: number; font: number; column: number; min: number;  // pixels
  places?: string[];  // "slow.cpp:24" by symbol; "": unknown
  wakers?: string[]; woken?: string;  // who ended the waits, and by node the row of that plus one
  compare?: { base: string; new: string; scale: number; percent: boolean; unit: string };
}
interface Symbol { name: string; module: string; place: string; color: number; hit: boolean }
// Per node, depth first: a node's subtree is the nodes up to `end`.
interface FlameTree {
  symbols: Symbol[];
  symbolOf: number[]; parent: number[]; depth: number[]; end: number[]; inlined: boolean[];
  self: number[]; total: number[];
  waker: string[];  // in words, "woken by persistence in Wal::sync"; "": unknown. May be empty
  sides: [base: number[], fresh: number[]] | null;  // of a comparison: with what each frame calls
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const valueOf = new Map([...digits].map((digit, value) => [digit, value]));
function* numbers(text: string): Generator<number, void> {
  let number = 0, scale = 1;
  for (const digit of text) {
    const value = valueOf.get(digit)!;
    number += (value & 31) * scale;
    scale *= 32;
    if (value < 32) {
      yield number;
      number = 0;
      scale = 1;
    }
  }
}

// Each name begins with as much of the one before as its first number says.
function namesOf(lines: string[]): string[] {
  const names: string[] = [];
  for (const line of lines) {
    let end = 0;
    while ("ghijklmnopqrstuvwxyz0123456789-_".includes(line[end])) end++;
    const shared = [...numbers(line.slice(0, end + 1))][0];
    names.push((names.length ? names[names.length - 1].slice(0, shared) : "") + line.slice(end + 1));
  }
  return names;
}

// `lines`: those of the metadata; the first one, which is JSON, is `data`.
export function treeOf(lines: string[], data: PictureData): FlameTree {
  const names = namesOf(lines.slice(3)), symbols: Symbol[] = [], of = numbers(lines[1]), next = (from: Generator<number, void>) => from.next().value as number;
  for (let step = of.next(), name = 0; !step.done; step = of.next()) {
    name += step.value;
    symbols.push({ name: names[name], module: data.modules[next(of)], place: data.places?.[symbols.length] ?? "", color: next(of), hit: false });
  }
  const symbolOf: number[] = [], parent: number[] = [], depth: number[] = [], self: number[] = [], inlined: boolean[] = [];
  const rest = numbers(lines[2]), firstChild = symbols.map(() => 0);
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
  const addUp = (values: number[]) => { for (let node = count - 1; node > 0; node--) values[parent[node]] += values[node]; };
  addUp(total);
  for (let node = count - 1; node > 0; node--) end[parent[node]] = Math.max(end[parent[node]], end[node]);
  const sides: FlameTree["sides"] = data.compare ? [[...numbers(data.compare.base)], [...numbers(data.compare.new)]] : null;
  sides?.forEach(addUp);
  const waker = data.woken ? [...numbers(data.woken)].map((row) => (row ? data.wakers![row - 1] : "")) : [];
  return { symbols, symbolOf, parent, depth, end, inlined, self, total, waker, sides };
}
