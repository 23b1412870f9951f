// Source and machine code of the selected function. A served page asks its server, for the current selection; a page in a file
// contains the code that was put into it (--with-source), for the whole recording.
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { unpack } from "./document";
import { foldArguments, foldGenerics } from "./names";
import { change, doc, metric, view } from "./state";
import { amount, askedSize, percent } from "./words";

interface Chained { function: string; file: string; line: number }
interface Instruction { address: string; text: string; self: number; total: number; chain: Chained[] }
interface Block { function: string; module: string; address: string; bytes: number; gap: string; instructions: Instruction[] }
interface Code { problem?: string; all: number; self: number; sentences: string[]; blocks: Block[]; blocks_left_out: number; sources: Record<string, Record<string, string>> }

const asks = () => document.querySelector("meta[name=fathom-code]") !== null;
const held = () => document.getElementById("code");
export const showCode = (fn: number) => { change({ fn, tab: "callers" }); setTimeout(() => document.getElementById("source")?.scrollIntoView(), 200); };
export const hasCode = () => asks() || held() !== null;

// The selection as options of the command line.
function question(fn: number): string {
  const v = view.value, parts = new URLSearchParams({ fn: doc.name[fn], metric: v.metric });
  if (v.range) {
    if (v.range[0] > 0) parts.set("from", `${v.range[0] * doc.head.slice_ms / 1000}`);
    if (v.range[1] < doc.head.slices) parts.set("until", `${v.range[1] * doc.head.slice_ms / 1000}`);
  }
  if (v.thread !== null) parts.set("thread", v.thread);
  v.focus.forEach((pattern) => parts.append("focus", pattern));
  v.ignore.forEach((pattern) => parts.append("ignore", pattern));
  if (v.sizes) parts.set("asked-size", askedSize(v.sizes));
  return parts.toString();
}

let file: Promise<Record<string, Code>> | null = null;
async function codeOf(fn: number, asked: string): Promise<Code | string> {
  if (asks()) {
    const answer = await fetch(`code?${asked}${location.search.replace("?", "&")}`);
    if (!answer.ok) return "fathom view, which serves this page, does not answer.";
    const code: Code = await answer.json();
    return code.problem ?? code;
  }
  file ??= unpack(held()!.textContent!).then((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  return (await file)[doc.name[fn]] ?? "This file does not have the code of this function. It has the code of the functions with the highest self cost.";
}

const base = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const around = 2;  // instructions without cost that are shown around each one with cost

const share = (value: number, of: number) => value === 0 || of === 0 ? "" : percent(value / of);
// How much of the function's own cost: a background that leaves the text readable.
const heat = (self: number, code: Code) => self > 0 && code.self > 0 ? { background: `color-mix(in srgb, var(--heat) ${Math.round(6 + 38 * Math.min(1, self / code.self))}%, transparent)` } : {};
const lineKey = ({ chain }: Instruction) => chain[0]?.line ? `${chain[0].file}:${chain[0].line}` : "";

// The lines that the instructions come from, with their neighbours as far as they are known: files in the order of their cost.
function SourceLines({ code, block, chosen, choose }: { code: Code; block: Block; chosen: string; choose: (key: string) => void }) {
  const costs = new Map<string, number>(), files = new Map<string, number>();
  for (const row of block.instructions) {
    const key = lineKey(row);
    if (!key) continue;
    costs.set(key, (costs.get(key) ?? 0) + row.self);
    files.set(row.chain[0].file, (files.get(row.chain[0].file) ?? 0) + row.self);
  }
  if (!files.size) return null;
  return (
    <table class="code source-lines"><thead><tr><th>self</th><th class="left">source</th></tr></thead>
      {[...files].sort((a, b) => b[1] - a[1]).map(([file]) => {
        const texts = code.sources[file] ?? {}, lines = [...new Set([...Object.keys(texts), ...[...costs.keys()].filter((key) => key.startsWith(`${file}:`)).map((key) => key.slice(file.length + 1))])].map(Number).sort((a, b) => a - b);
        return (
          <tbody key={file}><tr><td /><td class="left quiet" title={file}>{base(file)}</td></tr>
            {lines.map((line) => {
              const key = `${file}:${line}`, self = costs.get(key);
              return <tr key={line} class={key === chosen ? "on" : ""}><td style={heat(self ?? 0, code)}>{share(self ?? 0, code.self)}</td>
                <td class="left">{self === undefined ? <><span class="quiet">{line}</span> {texts[line]}</> : <button class="link" aria-pressed={key === chosen} title="show its instructions" onClick={() => choose(key)}><span class="quiet">{line}</span> {texts[line] ?? "(the source is not here)"}</button>}</td></tr>;
            })}</tbody>);
      })}</table>);
}

// Side by side where there is room: a line of the source shows its instructions, and an instruction its line.
function Sides({ code, block }: { code: Code; block: Block }) {
  const chosen = useSignal(""), machine = useRef<HTMLDivElement>(null);
  const choose = (key: string) => { chosen.value = key; setTimeout(() => machine.current?.querySelector("tr.on")?.scrollIntoView({ block: "nearest" })); };
  return (
    <><h4>{block.function} <span class="quiet">in {block.module}{block.bytes > 0 && `, at ${block.address}, ${block.bytes} bytes`}</span></h4>
      {block.gap && <p>{block.gap}.</p>}
      <div class="code-sides"><div><SourceLines code={code} block={block} chosen={chosen.value} choose={choose} /></div>
        <div ref={machine}><Lines code={code} block={block} chosen={chosen.value} choose={(key) => { chosen.value = key; }} /></div></div></>);
}

function Lines({ code, block, chosen, choose }: { code: Code; block: Block; chosen: string; choose: (key: string) => void }) {
  const all = useSignal(false), rows = block.instructions, shown = rows.map(() => all.value), out = [];
  rows.forEach((row, i) => { if (row.total !== 0 || chosen && lineKey(row) === chosen) shown.fill(true, Math.max(0, i - around), i + around + 1); });
  let last: Chained[] = [];
  for (let i = 0; i < rows.length; i++) {
    if (!shown[i]) {
      const first = i;
      while (i + 1 < rows.length && !shown[i + 1]) i++;
      out.push(<tr class="fold" key={`f${i}`}><td colSpan={3} /><td class="left"><button class="link" onClick={() => { all.value = true; }}>⋯ {i - first + 1} instructions without cost</button></td></tr>);
      continue;
    }
    const { chain, self, total, address, text } = rows[i], deep = Math.max(0, chain.length - 1);
    let same = 0;
    const at = (of: Chained[], level: number) => of[of.length - 1 - level];
    while (same < last.length && same < chain.length && JSON.stringify(at(last, same)) === JSON.stringify(at(chain, same))) same++;
    if (same === chain.length && same < last.length) same--;
    for (let level = same; level < chain.length; level++) {
      const line = at(chain, level), source = code.sources[line.file]?.[line.line] ?? "";
      out.push(<tr class="source" key={`${i}.${level}`}><td colSpan={3} /><td class="left" title={line.file} style={{ "padding-left": `${1 + level * 1.5}em` }}>
        {level > 0 && <>↳ <span title={line.function}>{foldGenerics(foldArguments(line.function))}</span> </>}<span class="quiet">{line.line ? `${base(line.file)}:${line.line}` : base(line.file)}</span> <span class="text">{source.trim()}</span></td></tr>);
    }
    last = chain;
    const key = lineKey(rows[i]);
    out.push(<tr key={i} class={`${code.self > 0 && self / code.self >= 0.1 ? "hot" : ""}${key && key === chosen ? " on" : ""}`} onClick={() => choose(key)}><td style={heat(self, code)}>{share(self, code.self)}</td><td class="bar-cell" style={{ "--share": code.all > 0 ? self / code.all : 0 } as never}>{share(self, code.all)}</td><td>{total !== self ? share(total, code.all) : ""}</td>
      <td class="left" style={{ "padding-left": `${1 + deep * 1.5}em` }}><span class="quiet">{address.slice(2)}</span> {text || chain[0]?.function}</td></tr>);
  }
  return <table class="code"><thead><tr><th>self</th><th>of all</th><th>total</th><th class="left">machine code</th></tr></thead><tbody>{out}</tbody></table>;
}

export function Code({ fn }: { fn: number }) {
  const asked = question(fn), code = useSignal<Code | string | null>(null);
  useEffect(() => {
    let wanted = true;
    code.value = null;
    // No requests while a brush is being dragged.
    const timer = setTimeout(() => codeOf(fn, asked).catch((error) => `${error}`).then((found) => { if (wanted) code.value = found; }), 150);
    return () => { wanted = false; clearTimeout(timer); };
  }, [asked]);
  const found = code.value;
  return (
    <section id="source"><h3>Source and machine code{!asks() && ", of the whole recording"}</h3>
      {found === null ? <p class="quiet">reading …</p> : typeof found === "string" ? <p>{found}</p>
        : <>{found.sentences.map((text) => <p>{text}</p>)}{found.blocks.map((block, i) => <Sides code={found} block={block} key={i} />)}
          {found.blocks_left_out > 0 && <p class="quiet">{found.blocks_left_out} more pieces of code are not shown.</p>}
          <p class="quiet">Shares are of {amount(found.self, metric.value.unit)} in its own code, and of all.</p></>}
    </section>);
}
