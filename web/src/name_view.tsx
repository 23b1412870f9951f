// A function's name in a row: a link with its colour and its menu. If the room is too small, the path is cut and not the last named
// part.
import { openMenu } from "./actions";
import { labelOf } from "./aggregate";
import { colorOf } from "./colors";
import { split } from "./names";
import { change, doc } from "./state";

export function Short({ text }: { text: string }) {
  const [path, last] = split(text);
  return <span class="short">{path && <span class="path">{path}</span>}<span class="last">{last}</span></span>;
}

const menuOf = (place: number) => (event: MouseEvent) => {
  if (place <= 0 || place >= doc.places) return;
  event.preventDefault();
  openMenu(place, event.clientX, event.clientY);
};

// `brief`: for a narrow column, the function and what it belongs to.
export function Name({ place, to, title = "", brief = false }: { place: number; to?: () => void; title?: string; brief?: boolean }) {
  const label = labelOf(doc, place);
  return <span class="named"><s style={{ background: colorOf(doc, place) }} /><button class="link name" title={title || label} data-place={place} onContextMenu={menuOf(place)} onClick={to ?? (() => change({ fn: place, tab: "callers" }))}><Short text={brief && place < doc.places ? doc.short[place] : label} /></button></span>;
}
