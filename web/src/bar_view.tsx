// What is selected: metric, time, thread and patterns, each a chip that drops it, and the field that searches and adds patterns.
import { useSignal } from "@preact/signals";
import { makeBase, say, toggleEdit } from "./actions";
import { canCompare } from "./compare";
import { copy } from "./clipboard";
import { viewCommand } from "./command";
import { goToMatch, useMatches } from "./flame_view";
import { keyHint } from "./key_names";
import { folded } from "./names";
import { startsOf, wholeEdits } from "./shape";
import { cutChoice, cutText, dropChoice } from "./spans_view";
import { change, doc, dropFrom, hasIdle, ignoreFor, isIdleHidden, search, showFrom, showSizes, toggleIdle, view, zoom } from "./state";
import { Kind } from "./types";
import { metricName, patternText, percent, secondsText, sizesFrom, sizesText, withCommas } from "./words";

function Chip({ text, title, drop, kind = "", brief }: { text: string; title: string; drop: () => void; kind?: string; brief?: string }) {
  return <button class={`chip ${kind}`} title={`${title}; click to drop it`} aria-label={text} onClick={drop}>{brief ? <><i class="long">{text}</i><i class="brief">{brief}</i></> : text} <span aria-hidden="true">×</span></button>;
}

export const editNames: Record<(typeof wholeEdits)[number], string> = { plumbing: "library frames folded", kernel: "kernel side folded", own: "only own code", recursion: "recursion folded", runtime: "no language libraries" };
const briefNames: Record<string, string> = { plumbing: "library", kernel: "kernel" };  // on a phone
const editHints: Record<string, string> = { plumbing: `hides frames of libraries that only pass time on to the program's code, such as start_thread (${keyHint("libraries")})`, kernel: `what the kernel does for one call is one box (${keyHint("kernel")})` };

// Text in the field that is more than a search.
const words = /^(focus|ignore|hide|show-from|cause|size)[: ]\s*(.+)$|^(module|crate)(?: |:(?!:))\s*(.+)$/;

export function Bar() {
  const v = view.value, cut = cutChoice(), text = useSignal(""), matches = useMatches();
  const add = (event: Event) => {
    event.preventDefault();
    const typed = text.value.trim(), hit = words.exec(typed);
    if (!typed) return;
    if (hit?.[3]) change({ focus: [...v.focus, `${hit[3]}:${hit[4]}`] });
    else if (hit?.[1] === "cause") {
      const cause = doc.name.find((name, i) => doc.kind[i] === Kind.cause && name.includes(hit[2])) ?? `[wait: ${hit[2]}]`;
      change({ metric: doc.costs.has("off-cpu") ? "off-cpu" : v.metric, focus: [...v.focus, cause] });
    } else if (hit?.[1] === "size" && doc.heap) {
      const sizes = sizesFrom(hit[2]);
      if (!sizes) return say("size 64KiB:1MiB, or 4096, 1MiB: or :100");
      showSizes(sizes);
    } else if (hit?.[1] === "ignore") change({ ignore: [...v.ignore, hit[2]] });
    else if (hit?.[1] === "show-from") showFrom(hit[2]);
    else if (hit?.[1] === "hide") change({ edits: [...v.edits.filter((edit) => edit !== `hide:${hit[2]}`), `hide:${hit[2]}`] });
    else change({ focus: [...v.focus, hit ? hit[2] : typed] });
    text.value = search.value = "";
    zoom.value = 0;
  };
  const typed = (value: string) => { text.value = value; search.value = words.test(`${value}x`) ? "" : value; };
  return (
    <div class="bar">
      {doc.head.metrics.length > 0 && <><label class="visually-hidden" for="metric">Metric</label>
      <select id="metric" value={v.metric} onChange={(event) => { zoom.value = 0; change({ metric: event.currentTarget.value, ignore: ignoreFor(event.currentTarget.value, v.ignore) }); }}>
        {doc.head.metrics.map((one) => <option value={one.name} disabled={!doc.compared && !canCompare(one.name) && (v.range ?? v.base) !== null}>{metricName(one)}</option>)}
      </select></>}
      {cut && (doc.head.spans!.can_ask ? <Chip kind="span" text={cutText(cut)} title="only the time of these spans, in every view" drop={dropChoice} /> : <span class="chip span" title="the recording was cut to the time of these spans">{cutText(cut)}</span>)}
      {v.range && !doc.compared && <Chip text={`${secondsText(v.range[0] * doc.head.slice_ms)} – ${secondsText(v.range[1] * doc.head.slice_ms)} s`} title="only this time" drop={() => change({ range: null })} />}
      {v.base && !doc.compared && <Chip kind="base" text={`compared with ${secondsText(v.base[0] * doc.head.slice_ms)} – ${secondsText(v.base[1] * doc.head.slice_ms)} s`} title="base of the comparison" drop={() => change({ base: null })} />}
      {v.range && !v.base && canCompare(v.metric) && <button class="chip add" title={`${keyHint("base")}: choose another time to compare it with this one`} onClick={makeBase}>compare with this time</button>}
      {v.thread !== null && <Chip text={`thread ${v.thread}`} title="only threads of this name" drop={() => change({ thread: null })} />}
      {v.focus.filter((pattern) => !startsOf(v.edits).includes(pattern)).map((pattern) => <Chip text={patternText("focus", pattern)} title={`only stacks with ${pattern}`} drop={() => change({ focus: v.focus.filter((p) => p !== pattern) })} />)}
      {v.ignore.map((pattern) => <Chip text={pattern === "(idle:" ? "not idle" : patternText("ignore", pattern)} title={`no stacks with ${pattern}`} drop={() => change({ ignore: v.ignore.filter((p) => p !== pattern) })} />)}
      {v.sizes && <Chip text={sizesText(v.sizes)} title="only call sites that allocated blocks of these sizes, with all their memory" drop={() => change({ sizes: null })} />}
      {v.edits.map((edit) => edit.startsWith("from:")
        ? <Chip kind="edit" text={`show from ${folded(edit.slice(5))}`} title="only stacks with it, without its callers" drop={() => { zoom.value = 0; dropFrom(edit); }} />
        : <Chip kind="edit" text={(editNames as Record<string, string>)[edit] ?? folded(edit.replace(":", " "))} brief={briefNames[edit]} title={editHints[edit] ?? "changes the tree: sums stay, calls go"} drop={() => toggleEdit(edit)} />)}
      {v.metric === "off-cpu" && !v.base && hasIdle() && !isIdleHidden() && <button class="chip add" title="leave out threads that wait for work" onClick={toggleIdle}>+ not idle</button>}
      <form onSubmit={add}>
        <input id="search" value={text.value} placeholder="search, or focus, hide, module … (?)" aria-label="Search, focus, ignore, hide or show-from" autocomplete="off" spellcheck={false}
          onInput={(event) => typed(event.currentTarget.value)} onKeyDown={(event) => { if ((event.key === "ArrowDown" || event.key === "ArrowUp") && matches.value) { goToMatch(matches.value.places, event.key === "ArrowDown" ? 1 : -1); event.preventDefault(); } else if (event.key === "Escape") { typed(""); event.currentTarget.blur(); event.stopPropagation(); } }} />
      </form>
      {matches.value && <><span class="found" role="status">{withCommas(matches.value.calls)} {matches.value.calls === 1 ? "box" : "boxes"}, {percent(matches.value.share)}{zoom.value > 0 ? " of the zoom" : ""}</span>
        <button title={`${keyHint("previous")}, or arrow up in the field`} onClick={() => goToMatch(matches.value!.places, -1)}>previous</button><button title={`${keyHint("next")}, or arrow down in the field`} onClick={() => goToMatch(matches.value!.places, 1)}>next</button></>}
      <button onClick={() => copy(viewCommand(v), viewCommand(v))} title={viewCommand(v)} id="copy">copy<span> as command</span></button>
    </div>);
}

