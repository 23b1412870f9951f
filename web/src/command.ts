// The line of fathom that prints what the page shows.
import { comparison, doc, functions, idlePattern, metric, taken, view, type View } from "./state";
import { askedSize, quoted, secondsText } from "./words";

// The selection: its table of functions has the same numbers as the page.
export function command(v: View): string {
  const { head } = doc, words = ["fathom", v.base ? "diff" : "report", quoted(head.file)];
  const edge = (slice: number) => slice > 0 && slice < head.slices ? secondsText(slice * head.slice_ms) : "";
  const time = ([from, to]: [number, number]) => `${edge(from)}:${edge(to)}`;
  if (head.compared_with !== undefined) {
    const runs = head.runs ?? { base: [head.file], new: [head.compared_with] }, single = runs.base.length === 1 && runs.new.length === 1;
    words.splice(2, words.length, ...(single ? [] : ["--base"]), ...runs.base.map(quoted), ...(single ? [] : ["--new"]), ...runs.new.map(quoted));
  }
  words.push(...head.arguments.map(quoted), "--metric", v.metric);
  if (head.compared_with === undefined && v.base) words.push("--base", time(v.base), "--new", time(v.range ?? [0, head.slices]));
  else if (head.compared_with === undefined && v.range) {
    if (edge(v.range[0])) words.push("--from", edge(v.range[0]));
    if (edge(v.range[1])) words.push("--until", edge(v.range[1]));
  }
  if (v.thread !== null) words.push("--thread", quoted(v.thread));
  if (v.sizes) words.push("--asked-size", askedSize(v.sizes));
  for (const pattern of v.focus) words.push("--focus", quoted(pattern));
  for (const pattern of v.ignore) if (!v.base || pattern !== idlePattern) words.push("--ignore", quoted(pattern));
  return words.join(" ");
}

// A pattern that only this name matches.
const exactly = (name: string) => `/^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$/`;

// Functions that are hidden, and where stacks begin: the graph and the tree show them so, and tables of functions do not.
function cuts(edits: string[]): string[] {
  return edits.flatMap((edit) => {
    const colon = edit.indexOf(":"), kind = edit.slice(0, colon), pattern = edit.slice(colon + 1);
    return kind === "hide" ? ["--hide", quoted(pattern)] : kind === "merge" ? ["--hide", quoted(exactly(pattern))] : kind === "from" ? ["--show-from", quoted(pattern)] : [];
  });
}

// The selection, and the table of the view that is open.
export function viewCommand(v: View): string {
  const words = [command(v)];
  if (v.base) return words[0];  // a comparison has one report
  const lists: Record<View["waits"], string> = { causes: "--waits", longest: "--waits", chains: "--waits", locks: "--locks", files: "--files" };
  switch (v.tab) {
    case "flame":
    case "tree": words.push(v.inverted && v.tab === "flame" ? "--tree=callers" : "--tree", ...cuts(v.edits)); break;
    case "callers": if (v.fn !== null) words.push("--callers", quoted(doc.name[v.fn])); break;
    case "threads": words.push("--threads"); break;
    case "waits": words.push(lists[v.waits]); break;
    case "heap": words.push(v.heap === "blocks" ? "--blocks" : "--heap"); break;
    case "modules": words.push("--modules"); break;
    case "series": words.push("--series"); break;
    case "spans": words.push(doc.head.arguments.includes("--spans") ? "" : "--spans"); break;
    case "quality": words.push("--all"); break;
  }
  return words.filter(Boolean).join(" ");
}

export function report(): Record<string, unknown> {  // for tests, which compare it with the program's own report
  return { total: taken.value.total, unit: metric.value.unit, command: command(view.value), functions: functions.value
    .map((row) => ({ name: doc.name[row.place], module: doc.module[row.place], self: Math.round(row.self), total: Math.round(row.total) })) };
}
export function compared(): Record<string, unknown> | null {  // the same for `fathom diff`
  const c = comparison.value;
  return c && { command: command(view.value), whole: c.whole, looked_at: c.lookedAt, level: c.level, functions: [...c.functions.values()]
    .map(({ place, self, total }) => ({ name: doc.name[place], module: doc.module[place], kind: doc.kind[place], self, total })) };
}
