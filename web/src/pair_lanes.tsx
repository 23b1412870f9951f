// The lanes of two recordings over each other: both begin at the left, on one time axis and one scale.
import { change, doc } from "./state";
import type { CourseLine } from "./types";
import { bytes, seconds } from "./words";

const ofUnit = (value: number, unit: string) => unit === "bytes" ? bytes(value) : `${value.toFixed(value < 10 ? 2 : 1)} ${unit}`;
const mean = (values: Float64Array) => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length), most = (values: Float64Array) => values.reduce((a, b) => Math.max(a, b), 0);
const metrics: Record<string, string> = { CPU: "cpu", Waiting: "off-cpu", "Live heap": "heap-live" };
const height = 30;

// Steps, each as wide as its time.
function path(values: Float64Array, step: number, end: number, top: number): string {
  return [...values].map((value, i) => { const y = (height - 1 - value / top * (height - 3)).toFixed(1); return `${i ? "L" : "M"}${(i * step / end * 1000).toFixed(1)} ${y}H${(Math.min(end, (i + 1) * step) / end * 1000).toFixed(1)}`; }).join("");
}

function Row({ line, steps, end }: { line: CourseLine; steps: [number, number]; end: number }) {
  const top = Math.max(most(line.base), most(line.fresh)) || 1, metric = metrics[line.name], known = doc.head.metrics.some(({ name }) => name === metric);
  // Memory is compared at its most, what is spent by its mean.
  const figure = line.unit === "bytes" ? most : mean, [base, fresh] = [ofUnit(figure(line.base), line.unit), ofUnit(figure(line.fresh), line.unit)];
  // A unit that both have stands once.
  const ending = / \S+$/.exec(fresh)?.[0] ?? "", figures = `${ending && base.endsWith(ending) ? base.slice(0, -ending.length) : base} → ${fresh}`, kind = line.unit === "bytes" ? " at most" : "", text = figures + kind;
  return (
    <><div class="label"><b>{known ? <button class="link lane-title" title={`show ${line.name} below`} onClick={() => change({ metric })}>{line.name}</button> : line.name}</b><span class="figures" title={text}>{figures}<span class="wide">{kind}</span></span></div>
      <svg class="pair-lane" viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" role="img" aria-label={`${line.name}, ${text}`}>
        <path d={path(line.fresh, steps[1], end, top)} class="fresh" vector-effect="non-scaling-stroke" /><path d={path(line.base, steps[0], end, top)} class="base" vector-effect="non-scaling-stroke" /></svg></>);
}

export function PairLanes() {
  const { courses, head } = doc, runs = head.runs;
  if (!courses.length) return null;
  const steps = head.courses!.step_s, end = Math.max(...courses.map(({ base, fresh }) => Math.max(base.length * steps[0], fresh.length * steps[1])));
  const first = runs && (runs.base.length > 1 || runs.new.length > 1) ? " (first runs)" : "";
  return (
    <section class="pair-lanes" aria-label="Both recordings over time">
      {courses.map((line) => <Row key={line.name} line={line} steps={steps} end={end} />)}
      <span class="label quiet">0 to {seconds(end)}{first}</span><p class="legend pair-legend"><span><s class="base" />base</span><span><s class="fresh" />new</span></p>
    </section>);
}
