// What a canvas shows, as a table that a screen reader reads and that copies as text. A button that is seen when it has the
// focus shows it to everybody.
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { copy } from "./clipboard";

export interface Table { head: string[]; rows: string[][] }
export const asText = ({ head, rows }: Table) => [head, ...rows].map((row) => row.join("\t")).join("\n");

export function CanvasTable({ id, caption, table }: { id: string; caption: string; table: ReadonlySignal<Table> }) {
  const open = useSignal(false), { head, rows } = table.value;
  return (
    <div class="canvas-table">
      <button class={open.value ? "" : "when-focused"} aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>{open.value ? "hide the table" : "show as a table"}</button>
      <button class={open.value ? "" : "when-focused"} onClick={() => copy(asText(table.value), `${rows.length} rows as text`)}>copy as text</button>
      <div class={open.value ? "" : "visually-hidden"}><table id={id}><caption>{caption}</caption>
        <thead><tr>{head.map((name) => <th scope="col">{name}</th>)}</tr></thead>
        <tbody>{rows.map((row) => <tr>{row.map((cell) => <td>{cell}</td>)}</tr>)}</tbody></table></div>
    </div>);
}
