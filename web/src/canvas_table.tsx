// The content of a canvas, as a table for screen readers that copies as text. A button, visible when it has the focus, shows
// the table to everybody.
import { useSignal, useSignalEffect, type ReadonlySignal } from "@preact/signals";
import { copy } from "./clipboard";

interface Table { head: string[]; rows: string[][] }
const asText = ({ head, rows }: Table) => [head, ...rows].map((row) => row.join("\t")).join("\n");

const rest = 150;  // ms without a change, after which an invisible table is rebuilt: its layout takes longer than the picture

function Cells({ id, caption, table }: { id: string; caption: ReadonlySignal<string>; table: ReadonlySignal<Table> }) {
  const { head, rows } = table.value;
  return (
    <table id={id}><caption>{caption.value}</caption>
      <thead><tr>{head.map((name) => <th scope="col">{name}</th>)}</tr></thead>
      <tbody>{rows.map((row) => <tr>{row.map((cell) => <td>{cell}</td>)}</tr>)}</tbody></table>);
}

export function CanvasTable({ id, caption, table }: { id: string; caption: ReadonlySignal<string> | string; table: ReadonlySignal<Table> }) {
  const words = () => typeof caption === "string" ? caption : caption.value;
  const open = useSignal(false), said = useSignal(words()), shown = useSignal(table.peek());
  useSignalEffect(() => {
    const now = table.value, head = words(), put = () => { said.value = head; shown.value = now; };
    if (open.value) { put(); return; }
    const timer = setTimeout(put, rest);
    return () => clearTimeout(timer);
  });
  return (
    <div class="canvas-table">
      <button class={open.value ? "" : "when-focused"} aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>{open.value ? "hide the table" : "show as a table"}</button>
      <button class={open.value ? "" : "when-focused"} onClick={() => copy(asText(table.value), `${table.value.rows.length} rows as text`)}>copy as text</button>
      <div class={open.value ? "" : "visually-hidden"}><Cells id={id} caption={said} table={shown} /></div>
    </div>);
}
