// Values read over time: each series with its value at both ends of the selection, and its course.
import { useComputed } from "@preact/signals";
import { valueAt } from "./series";
import { change, doc, lineName, selection, view } from "./state";
import type { Line } from "./types";
import { quantity } from "./words";

function Course({ line }: { line: Line }) {
  // Bytes start at zero; for a counter, the growth since the start is shown.
  const end = doc.head.duration_ns / 1e6, counts = line.unit !== "bytes" && line.value.every((value, i) => i === 0 || value >= line.value[i - 1]);
  const most = line.value.reduce((a, b) => Math.max(a, b), 0), least = counts ? line.value[0] : line.value.reduce((a, b) => Math.min(a, b), 0), scale = most > least ? 22 / (most - least) : 0;
  const step = Math.max(1, Math.floor(line.ms.length / 300)), points = [];
  for (let i = 0; i < line.ms.length; i += step) points.push(`${(line.ms[i] / end * 160).toFixed(1)},${(24 - (line.value[i] - least) * scale).toFixed(1)}`);
  const { range } = view.value, x = (slice: number) => slice / doc.head.slices * 160;
  return <svg class="course" viewBox="0 0 160 25" width="160" height="25" aria-hidden="true">
    {range && <rect x={x(range[0])} width={x(range[1]) - x(range[0])} y="0" height="25" fill="var(--chip)" />}
    <polyline points={points.join(" ")} fill="none" stroke="var(--accent)" stroke-width="1.2" /></svg>;
}

export function SeriesTable() {
  const rows = useComputed(() => {
    const { from, to } = selection.value, width = doc.head.slice_ms;
    return doc.lines.map((line) => {
      const start = valueAt(line, from * width), end = valueAt(line, to * width);
      let most = Math.max(start, end);
      for (let i = 0; i < line.ms.length; i++) if (line.ms[i] >= from * width && line.ms[i] <= to * width) most = Math.max(most, line.value[i]);
      return { line, name: lineName(line), start, end, most };
    }).sort((a, b) => a.name.localeCompare(b.name));
  });
  if (!rows.value.length) return <p class="empty">This recording has no values over time. Record with --memory, or with --scrape URL for the metrics of a program.</p>;
  return (
    <div class="scroll"><table id="series"><thead><tr><th class="left">series</th><th class="left">over time</th><th>at the start</th><th>at the end</th><th>change</th><th>most</th></tr></thead>
      <tbody>{rows.value.map(({ line, name, start, end, most }) => <tr key={name} class={view.value.series === name ? "on" : ""}>
        <td class="left"><button class="link name" aria-pressed={view.value.series === name} title="as a lane over the time axis" onClick={() => change({ series: view.value.series === name ? null : name })}>{name}</button></td>
        <td class="left"><Course line={line} /></td><td>{quantity(start, line.unit)}</td><td>{quantity(end, line.unit)}</td>
        <td>{end > start ? "+" : end < start ? "−" : ""}{quantity(Math.abs(end - start), line.unit)}</td><td>{quantity(most, line.unit)}</td></tr>)}</tbody></table></div>);
}
