// The boxes of a flame graph for a width in pixels: largest first, callees below their caller. Boxes too narrow to see are
// joined into one that shows their number and cost, so that widths add up. Pure.
import type { Box, Tree } from "./types";

// Children of node i are in `list` at first[i] to first[i + 1]: get them with `of`, which sorts the largest first on the first
// access of a node. Out of a million nodes, only a few thousand are accessed.
class Children {
  private seen = new Map<number, { ids: Uint32Array; costs: Float64Array }>();
  private sorted = new Map<number, Uint32Array>();
  constructor(private tree: Tree, readonly first: Uint32Array, readonly list: Uint32Array, private bySize: boolean) {}
  // Those with a cost, in the order of the tree. A node may have thousands: computes each cost once.
  private withCost(node: number): { ids: Uint32Array; costs: Float64Array } {
    let known = this.seen.get(node);
    if (known) return known;
    const from = this.first[node], size = this.first[node + 1] - from, ids = new Uint32Array(size), costs = new Float64Array(size);
    let count = 0;
    for (let i = 0; i < size; i++) {
      const cost = this.tree.totalOf(this.list[from + i]);
      if (cost > 0) { ids[count] = this.list[from + i]; costs[count++] = cost; }
    }
    this.seen.set(node, (known = { ids: ids.subarray(0, count), costs: costs.subarray(0, count) }));
    return known;
  }
  private inOrder({ ids, costs }: { ids: Uint32Array; costs: Float64Array }, some: number[]): number[] {
    const { place } = this.tree;
    if (this.bySize) some.sort((a, b) => costs[b] - costs[a] || place[ids[a]] - place[ids[b]]);
    return some.map((i) => ids[i]);
  }
  of(node: number): Uint32Array {
    let known = this.sorted.get(node);
    if (known) return known;
    const all = this.withCost(node);
    this.sorted.set(node, (known = Uint32Array.from(this.inOrder(all, [...all.ids.keys()]))));
    return known;
  }
  // Only those that cost at least `least`, and the sum of the others: sorting the narrow ones would take longer than drawing.
  atLeast(node: number, least: number): { wide: number[]; others: number; value: number } {
    const all = this.withCost(node), some: number[] = [];
    let value = 0;
    for (let i = 0; i < all.ids.length; i++) if (all.costs[i] < least) value += all.costs[i]; else some.push(i);
    return { wide: this.inOrder(all, some), others: all.ids.length - some.length, value };
  }
}

// Trees of other selections have the same parents.
const orders = new WeakMap<Uint32Array, { first: Uint32Array; list: Uint32Array }>();
// Children of each node, largest first, or in their own order.
export function childrenOf(tree: Tree, sorted = true): Children {
  let known = orders.get(tree.parent);
  if (!known) {
    const first = new Uint32Array(tree.count + 1);
    for (let i = 1; i < tree.count; i++) first[tree.parent[i] + 1]++;
    for (let i = 0; i < tree.count; i++) first[i + 1] += first[i];
    const next = first.slice(), list = new Uint32Array(Math.max(0, tree.count - 1));
    for (let i = 1; i < tree.count; i++) list[next[tree.parent[i]]++] = i;
    orders.set(tree.parent, (known = { first, list }));
  }
  return new Children(tree, known.first, known.list, sorted);
}

const leastWidth = 1.5;  // pixels

// `zoom`: this node has the full width, and so do its callers above it. Rows start at the root.
export function layout(tree: Tree, children: Children, zoom: number, width: number): Box[][] {
  const rows: Box[][] = [];
  const put = (box: Box) => (rows[box.row] ??= []).push(box);
  const path = [];
  for (let at = zoom; at !== 0; at = tree.parent[at]) path.push(at);
  path.push(0);
  path.reverse().forEach((node, row) => put({ node, x: 0, width, row, joined: 0, value: tree.totalOf(node) }));
  const scale = tree.totalOf(zoom) > 0 ? width / tree.totalOf(zoom) : 0, least = scale > 0 ? leastWidth / scale : Infinity;
  const open: Box[] = [rows[path.length - 1][0]];
  while (open.length) {
    const box = open.pop()!;
    const { wide, others, value } = children.atLeast(box.node, least);
    let x = box.x;
    for (const node of wide) {
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

export function boxAt(rows: Box[][], row: number, x: number): Box | null {
  const boxes = rows[row];
  if (!boxes) return null;
  let low = 0, high = boxes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (boxes[middle].x + boxes[middle].width <= x) low = middle + 1; else high = middle;
  }
  return low < boxes.length && boxes[low].x <= x ? boxes[low] : null;
}
