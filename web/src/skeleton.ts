// The tree of all cells of a table, with or without threads as the first level. It stays while selections change: `order` has
// the cells in the order of a walk down the tree, so that the cells of a node and its callees are one range, and their cost is
// the difference of two running sums. Out of a million nodes, only the visible ones are ever computed. Pure.
import type { Cells, Doc, Shape } from "./types";

export interface Skeleton {
  parent: Uint32Array; place: Uint32Array; order: Uint32Array;
  first: Uint32Array; own: Uint32Array; end: Uint32Array;  // by node: the start of its cells, the end of its own, and the end of all
  outermost?: Uint8Array;
}

// Rows of numbers by key, equal keys in their earlier order.
function sortedBy(rows: Uint32Array, key: Uint32Array, keys: number): Uint32Array {
  const next = new Uint32Array(keys + 1), out = new Uint32Array(rows.length);
  for (let i = 0; i < rows.length; i++) next[key[rows[i]] + 1]++;
  for (let i = 0; i < keys; i++) next[i + 1] += next[i];
  for (let i = 0; i < rows.length; i++) out[next[key[rows[i]]]++] = rows[i];
  return out;
}

// Nodes of a shape are in the order of a walk, so one pass over the cells in that order meets each call when its first cell
// comes, and its callers before it: no node is looked up, sorted or moved.
export function makeSkeleton(doc: Doc, cells: Cells, shape: Shape, threads: boolean): Skeleton {
  const count = shape.parent.length, length = cells.node.length, { shown } = doc, { parent: callerOf, place: placeOf, of } = shape;
  const node = new Uint32Array(length), rank = new Uint32Array(length), inTurn = new Uint32Array(length), ranks = new Map<number, number>();
  for (let i = 0; i < length; i++) {
    node[i] = of[shown[cells.node[i]]];
    inTurn[i] = i;
    if (!threads) continue;
    let at = ranks.get(cells.thread[i]);  // threads in the order of their first cells
    if (at === undefined) ranks.set(cells.thread[i], (at = ranks.size));
    rank[i] = at;
  }
  const byNode = sortedBy(inTurn, node, count), order = threads ? sortedBy(byNode, rank, ranks.size) : byNode;

  let room = count + (count >> 3) + ranks.size + 1, rows = 1;
  let parent = new Uint32Array(room), place = new Uint32Array(room), first = new Uint32Array(room), own = new Uint32Array(room);
  const rowOf = new Uint32Array(count);  // by node of the shape; rows of earlier threads are below `top`, the row of this thread
  for (let k = 0, top = 0, thread = -1; k < length; k++) {
    const cell = order[k], leaf = node[cell], isNext = threads && cells.thread[cell] !== thread;
    const lowest = isNext ? rows : top;
    let size = isNext ? 1 : 0, up = leaf;
    for (; up !== 0 && rowOf[up] <= lowest; up = callerOf[up]) size++;
    if (rows + size > room) {
      room = 2 * (rows + size);
      [parent, place, first, own] = [parent, place, first, own].map((from) => { const to = new Uint32Array(room); to.set(from); return to; });
    }
    if (isNext) {
      thread = cells.thread[cell];
      rowOf[0] = top = rows++;
      place[top] = doc.places + thread;
      first[top] = own[top] = k;
      size--;
    }
    // From the new call that has the cell up to the last caller without a row.
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

// By node: whether no caller is the same function. `places`: the number of places in the tree.
export function outermostOf({ parent, place }: Skeleton, places: number): Uint8Array {
  const out = new Uint8Array(parent.length), onPath = new Uint32Array(places);
  for (let i = 1, last = 0; i < out.length; last = i++) {
    for (; last !== parent[i]; last = parent[last]) onPath[place[last]]--;
    out[i] = onPath[place[i]]++ === 0 ? 1 : 0;
  }
  return out;
}
