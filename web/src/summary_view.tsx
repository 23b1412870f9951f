// The first lines of the page: what was recorded, and a line per subject with its figure. They follow the selected time.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { help } from "./actions";
import { canCompare } from "./compare";
import { changeSummary, filesSummary, selectedQuality, selectedSummary, wholeSummary, type SummaryLine } from "./summary";
import { change, doc, ignoreFor, selection, view, zoom } from "./state";
import { percent, secondsText, withCommas } from "./words";

const rest = 80;  // ms: while a brush is being dragged, the picture comes first

function show(line: SummaryLine, place: number): void {
  zoom.value = 0;
  const metric = doc.head.metrics.some(({ name }) => name === line.metric) ? line.metric : view.value.metric, ofWhole = !view.value.range && !view.value.base;
  change({ metric, focus: place && ofWhole ? [doc.name[place]] : [], edits: view.value.edits.filter((edit) => !edit.startsWith("from:")), ignore: ignoreFor(metric), sizes: null, thread: ofWhole ? null : view.value.thread, tab: "flame", fn: place || null });
}

function Line({ line }: { line: SummaryLine }) {
  const text = line.parts.map((part) => part.text).join("");
  return (
    <li class={line.change && !line.change.beyondNoise ? "noise" : ""}>
      {line.metric ? <button class="link subject" title={`show ${line.subject || "it"} below`} onClick={() => show(line, 0)}>{line.subject}</button> : <span class="subject">{line.subject}</span>}
      <span class="says" title={text}>{line.parts.map((part) => part.place ? <button class="link" title={`${doc.name[part.place]}: show its stacks`} onClick={() => show(line, part.place!)}>{part.text}</button> : part.strong ? <b>{part.text}</b> : part.text)}
        {line.doubt && <span class="doubt" tabIndex={0} role="note" title={line.doubt} aria-label={line.doubt}>{"\u26a0\ufe0e"}<span> {line.doubt}</span></span>}</span>
    </li>);
}

export function Summary() {
  const { words, start_unix_ms, folded } = doc.head, all = useSignal(false);
  const lines = useSignal<SummaryLine[]>(doc.compared ? filesSummary(doc) : wholeSummary(doc)), quality = useSignal(words.quality), about = useSignal("");
  const key = useComputed(() => JSON.stringify([view.value.range, view.value.base, view.value.thread]));
  useSignalEffect(() => {
    key.value;
    const { range, base, thread } = view.peek(), time = ([from, to]: [number, number]) => `${secondsText(from * doc.head.slice_ms)} – ${secondsText(Math.min(to * doc.head.slice_ms, Math.round(doc.head.duration_ns / 1e6)))} s`;
    const whole: [number, number] = [0, doc.head.slices];
    const put = () => {
      about.value = doc.compared || !range && !base && thread === null ? "" : base ? `from ${time(base)} to ${time(range ?? whole)}` : `${range ? time(range) : ""}${range && thread !== null ? ", " : ""}${thread !== null ? `thread ${thread}` : ""}`;
      if (doc.compared) return;
      lines.value = base && canCompare(view.peek().metric) ? changeSummary(doc, selection.peek(), base, ignoreFor) : range || thread !== null ? selectedSummary(doc, selection.peek()) : wholeSummary(doc);
      quality.value = range || thread !== null ? selectedQuality(doc, selection.peek()) : words.quality;
    };
    const timer = setTimeout(put, rest);
    return () => clearTimeout(timer);
  });
  const [name, ...facts] = (words.headline || doc.head.target || "a profile").split(" · ");
  const when = start_unix_ms > 0 ? ` · ${new Date(start_unix_ms).toISOString().slice(0, 16).replace("T", " ")} UTC` : "", details = `${facts.join(" · ")}${when}`;
  return (
    <header>
      <div class="title"><h1 title={name}>{name}</h1><span class="facts" title={details}>{details}</span>{about.value && <span class="chip about" id="about">{about.value}</span>}
        <button id="more" aria-expanded={all.value} aria-controls="story" onClick={() => { all.value = !all.value; }}>{all.value ? "less" : "more"}</button><button id="help" aria-label="help" title="keys and filters (?)" onClick={() => { help.value = true; }}>?</button></div>
      <ul class={all.value ? "story all" : "story"} id="story" aria-label="Summary">{lines.value.map((line) => <Line line={line} />)}
        <li class="quality"><button class="link subject" title="show the quality of the recording" onClick={() => change({ tab: "quality" })}>Quality</button><span class="says" title={quality.value}><i class={words.complaints.length ? "dot warn" : "dot"} />
          {words.complaints.length > 0 && <><button class="link" onClick={() => change({ tab: "quality" })}>{words.complaints.length === 1 ? "1 remark" : `${words.complaints.length} remarks`}</button>{quality.value && " · "}</>}{quality.value}
          {folded.calls > 0 && <> · {withCommas(folded.calls)} calls of less than {percent(folded.share)} are folded to keep the page small</>}</span></li></ul>
    </header>);
}
