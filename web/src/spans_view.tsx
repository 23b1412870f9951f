// Spans as a view: kinds with their lengths, and the longest spans in the selected time; each chooses what all views then show.
import { useComputed } from "@preact/signals";
import { say } from "./actions";
import { copy } from "./clipboard";
import { choiceOf, choiceQuery, choiceText, choiceWords, chosenBy, cutKind, kindText, slowestOf, spansIn, type SpanBox, type SpanChoice } from "./spans";
import { change, doc, view, writeAddress } from "./state";
import { quoted, seconds, withCommas } from "./words";

// The server cuts the recording to these spans, so that each view has their time alone. A page in a file names the command.
export function choose(choice: SpanChoice): void {
  const { head } = doc;
  if (head.spans!.can_ask) { writeAddress(); location.href = `?${choiceQuery(choice)}${location.hash}`; return; }
  const given = head.arguments.indexOf("--span"), files = given < 0 ? head.arguments : head.arguments.slice(0, given);
  const text = ["fathom view", quoted(head.file), ...files.map(quoted), choiceWords(choice)].join(" ");
  void copy(text, text);
}
export const dropChoice = () => { writeAddress(); location.href = `./${location.hash}`; };
export const cutChoice = (): SpanChoice | null => { const cut = doc.head.spans?.cut; return cut ? { name: cut.name, slower: cut.slower_s, faster: cut.faster_s } : null; };
export function cutText(choice: SpanChoice): string {
  const kind = cutKind(doc), all = doc.head.spans!.kinds[kind];
  return `${choiceText(choice)}${all ? `: ${withCommas(chosenBy(doc.spans!, kind, choice))} of ${withCommas(all.count)}` : ""}`;
}

// One span: its time on its thread, at the edges of slices.
export function chooseSpan(row: number): void {
  const { spans, head } = doc, width = head.slice_ms * 1e6, at = (ns: number) => ns / width;
  const start = spans!.start[row], end = start + spans!.length[row];
  const from = Math.max(0, Math.min(head.slices - 1, Math.floor(at(start)))), to = Math.max(from + 1, Math.min(head.slices, Math.ceil(at(end))));
  const thread = head.texts[spans!.thread[row]];
  change({ range: to - from < head.slices ? [from, to] : null, base: null, thread: head.threads.some(({ name }) => name === thread) ? thread : null });
  say(`${head.spans!.kinds[spans!.kind[row]].name}: ${seconds(spans!.length[row] / 1e9)}${thread ? ` on ${thread}` : ""}, from ${(start / 1e9).toFixed(3)} s`);
}

// A box in the heat map: lengths, and the time if it is not all of it.
export function chooseBox(kind: number, box: SpanBox, range: [number, number] | null): void {
  const rows = spansIn(doc.spans!, kind, box);
  if (!rows.length) { say("no span lies there"); return; }
  change({ range, base: null });
  choose(choiceOf(doc.spans!, doc.head.spans!.kinds[kind], rows));
}

export function Slowest({ kind }: { kind: number }) {
  const of = doc.head.spans!.kinds[kind], choice = slowestOf(doc.spans!, kind, of);
  return <button class="link heat" title={`${choiceText(choice)}: their time alone, in every view`} onClick={() => choose(choice)}>slowest 5 %</button>;
}

const most = 200;
export function Spans() {
  const { spans, head } = doc, kinds = head.spans!.kinds;
  const rows = useComputed(() => {
    const { range, thread } = view.value, width = head.slice_ms * 1e6;
    const [from, to] = range ?? [0, head.slices], box = { from: from * width, to: to * width, least: 0, most: Infinity };
    return kinds.flatMap((_, kind) => spansIn(spans!, kind, box)).filter((row) => thread === null || head.texts[spans!.thread[row]] === thread).sort((a, b) => spans!.length[b] - spans!.length[a]);
  });
  return (
    <div class="scroll">
      <table id="spans"><thead><tr><th class="left">span</th><th>count</th><th>p50</th><th>p95</th><th>longest</th><th class="left">only these</th></tr></thead>
        <tbody>{kinds.map((kind, i) => <tr title={kindText(kind)}><td class="left"><button class="link name" title="all of its spans: their time alone, in every view" onClick={() => choose({ name: kind.name, slower: 0, faster: null })}>{kind.name}</button></td>
          <td>{withCommas(kind.count + kind.untimed)}</td><td>{seconds(kind.p50_ns / 1e9)}</td><td>{seconds(kind.p95_ns / 1e9)}</td><td>{seconds(kind.most_ns / 1e9)}</td><td class="left"><Slowest kind={i} /></td></tr>)}</tbody></table>
      <p class="quiet">Where their time goes, and what the slow ones have in common: <code>fathom report {quoted(head.file)} --spans</code></p>
      <h3>The longest in the selected time</h3>
      {rows.value.length === 0 ? <p class="empty">No span lies in this selection. Choose a longer time, or drop a chip above.</p>
        : <table id="longest-spans"><thead><tr><th>took</th><th>from</th><th class="left">span</th><th class="left">thread</th></tr></thead>
          <tbody>{rows.value.slice(0, most).map((row) => <tr><td><button class="link" title="only its time, on its thread" onClick={() => chooseSpan(row)}>{seconds(spans!.length[row] / 1e9)}</button></td><td>{(spans!.start[row] / 1e9).toFixed(3)} s</td><td class="left">{kinds[spans!.kind[row]].name}</td><td class="left">{head.texts[spans!.thread[row]] || <span class="quiet">several, or unknown</span>}</td></tr>)}</tbody></table>}
      {rows.value.length > most && <p class="quiet">{withCommas(rows.value.length - most)} shorter ones are not listed.</p>}
    </div>);
}
