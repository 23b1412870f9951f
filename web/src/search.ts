// The result of a search in a tree: matching names, and the cost below them, each stack once. Pure.
import { labelCount, labelOf } from "./aggregate";
import type { Doc, Found, Tree } from "./types";

// A regular expression, or literal text if it is not a valid one. Lower case also matches upper case.
function searchMatcher(text: string): ((name: string) => boolean) | null {
  if (!text) return null;
  const sensitive = /[A-Z]/.test(text);
  try {
    const expression = new RegExp(text, sensitive ? "" : "i");
    return (name) => expression.test(name);
  } catch {
    const plain = text.toLowerCase();
    return (name) => name.toLowerCase().includes(plain);
  }
}

export function find(doc: Doc, tree: Tree, top: number, text: string): Found | null {
  const matches = searchMatcher(text);
  if (!matches) return null;
  const places = new Uint8Array(labelCount(doc));
  for (let i = 1; i < places.length; i++) places[i] = matches(labelOf(doc, i)) ? 1 : 0;
  const state = new Uint8Array(tree.count);  // 1: below the zoomed node, 2: and below a match
  let value = 0, calls = 0;
  state[top] = 1;
  // The user who zoomed to a match sees it, so it counts.
  if (top > 0 && places[tree.place[top]]) { state[top] = 2; value = tree.totalOf(top); calls = 1; }
  for (let i = top + 1; i < tree.count; i++) {
    const above = state[tree.parent[i]];
    if (!above || !(tree.totalOf(i) > 0)) continue;
    state[i] = above;
    if (!places[tree.place[i]]) continue;
    calls++;
    if (above === 1) { state[i] = 2; value += tree.totalOf(i); }
  }
  return { places, value, calls, share: tree.totalOf(top) > 0 ? value / tree.totalOf(top) : 0 };
}
