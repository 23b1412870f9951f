// The boxes of a flame graph for a width in pixels: largest first, below each call what it called. What is too narrow to see
// becomes one box that says how many calls and how much, so that widths add up. Pure.
import type { Tree } from "./aggregate";

export interface Box {
  node: number;   // of the tree; of a joined box the caller
  x: number; width: number; row: number;
  joined: number; // so many calls are in it; 0: it is one call
  value: number;
}

export interface Children { first: Uint32Array; list: Uint32Array }
// Children of each node, the largest first, or as they stand.
export function childrenOf(tree: Tree, sorted = true): Children {
  const first = new Uint32Array(tree.count + 1);
  for (let i = 1; i < tree.count; i++) first[tree.parent[i] + 1]++;
  for (let i = 0; i < tree.count; i++) first[i + 1] += first[i];
  const next = first.slice(), list = new Uint32Array(Math.max(0, tree.count - 1));
  for (let i = 1; i < tree.count; i++) list[next[tree.parent[i]]++] = i;
  const later = (a: number, b: number) => tree.total[b] - tree.total[a] || tree.place[a] - tree.place[b];
  for (let i = 0; sorted && i < tree.count; i++) {
    const from = first[i], end = first[i + 1];
    if (end - from > 16) { list.subarray(from, end).sort(later); continue; }
    // Few, as nearly always: without an array of their own.
    for (let k = from + 1; k < end; k++) {
      const node = list[k];
      let to = k;
      for (; to > from && later(list[to - 1], node) > 0; to--) list[to] = list[to - 1];
      list[to] = node;
    }
  }
  return { first, list };
}

export const leastWidth = 1.5;  // pixels

// `zoom`: this node has the full width, and its callers above it, too. Rows from the root on.
export function layout(tree: Tree, children: Children, zoom: number, width: number): Box[][] {
  const rows: Box[][] = [];
  const put = (box: Box) => (rows[box.row] ??= []).push(box);
  const path = [];
  for (let at = zoom; at !== 0; at = tree.parent[at]) path.push(at);
  path.push(0);
  path.reverse().forEach((node, row) => put({ node, x: 0, width, row, joined: 0, value: tree.total[node] }));
  const scale = tree.total[zoom] > 0 ? width / tree.total[zoom] : 0;
  const open: Box[] = [rows[path.length - 1][0]];
  while (open.length) {
    const box = open.pop()!;
    let x = box.x, count = 0, value = 0;
    for (let i = children.first[box.node]; i < children.first[box.node + 1]; i++) {
      const node = children.list[i], wide = tree.total[node] * scale;
      if (tree.total[node] <= 0) continue;
      if (wide < leastWidth) { count++; value += tree.total[node]; continue; }
      const child = { node, x, width: wide, row: box.row + 1, joined: 0, value: tree.total[node] };
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
