// The boxes of a flame graph for a width in pixels: largest first, callees below their caller. Boxes too narrow to see are
// joined into one that shows their number and cost, so that widths add up. Pure.
import type { Box, Tree } from "./types";

// Children of node i are in `list` at first[i] to first[i + 1]: get them with `of`, which sorts the largest first on the first
// access of a node. Out of a million nodes, only a few thousand are accessed.
export class Children {
  private seen = new Map<number, Uint32Array>();
  constructor(private tree: Tree, readonly first: Uint32Array, readonly list: Uint32Array, private sorted: boolean) {}
  // Only those with a cost.
  of(node: number): Uint32Array {
    const known = this.seen.get(node);
    if (known) return known;
    // A node may have thousands: computes each cost once.
    const { place } = this.tree, ids: number[] = [], costs: number[] = [];
    for (let i = this.first[node]; i < this.first[node + 1]; i++) {
      const cost = this.tree.totalOf(this.list[i]);
      if (cost > 0) { ids.push(this.list[i]); costs.push(cost); }
    }
    const order = Uint32Array.from(ids.keys());
    if (this.sorted && order.length > 1) order.sort((a, b) => costs[b] - costs[a] || place[ids[a]] - place[ids[b]]);
    const some = order.map((i) => ids[i]);
    this.seen.set(node, some);
    return some;
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

export const leastWidth = 1.5;  // pixels

// `zoom`: this node has the full width, and so do its callers above it. Rows start at the root.
export function layout(tree: Tree, children: Children, zoom: number, width: number): Box[][] {
  const rows: Box[][] = [];
  const put = (box: Box) => (rows[box.row] ??= []).push(box);
  const path = [];
  for (let at = zoom; at !== 0; at = tree.parent[at]) path.push(at);
  path.push(0);
  path.reverse().forEach((node, row) => put({ node, x: 0, width, row, joined: 0, value: tree.totalOf(node) }));
  const scale = tree.totalOf(zoom) > 0 ? width / tree.totalOf(zoom) : 0;
  const open: Box[] = [rows[path.length - 1][0]];
  while (open.length) {
    const box = open.pop()!;
    let x = box.x, count = 0, value = 0;
    for (const node of children.of(box.node)) {
      const total = tree.totalOf(node), wide = total * scale;
      if (total <= 0) continue;
      if (wide < leastWidth) { count++; value += total; continue; }
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
