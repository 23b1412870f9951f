// The flame graph of a view as one SVG without a script, for a report or a chat. Pure.
export interface PictureBox { x: number; width: number; line: number; fill: string; ink: string; label: string; hint: string }

const rowHeight = 19, margin = 10, head = 52, letter = 7.2;
const escaped = (text: string) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);

// `fit` cuts a label to a number of pixels, of letters that are `letter` wide.
export function pictureOf(boxes: PictureBox[], width: number, title: string, subtitle: string, paper: string, ink: string,
  fit: (label: string, room: number, measure: (text: string) => number) => string): string {
  const lines = boxes.reduce((most, box) => Math.max(most, box.line + 1), 0), height = head + lines * rowHeight + margin;
  const measure = (text: string) => text.length * letter, out = [];
  out.push(`<svg xmlns="http://www.w3.org/2000/svg" width="${width + 2 * margin}" height="${height}" viewBox="0 0 ${width + 2 * margin} ${height}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="12">`);
  out.push(`<rect width="100%" height="100%" fill="${paper}"/>`);
  out.push(`<text x="${margin}" y="22" font-size="15" font-weight="bold" fill="${ink}">${escaped(title)}</text>`);
  out.push(`<text x="${margin}" y="41" fill="${ink}">${escaped(fit(subtitle, width, measure))}</text>`);
  for (const box of boxes) {
    const x = Math.round((margin + box.x) * 10) / 10, w = Math.round(Math.max(0.5, box.width - 0.5) * 10) / 10, y = head + box.line * rowHeight;
    const label = box.width > 24 ? fit(box.label, box.width - 8, measure) : "";
    out.push(`<g><title>${escaped(box.hint)}</title><rect x="${x}" y="${y}" width="${w}" height="${rowHeight - 1}" fill="${box.fill}"/>${label ? `<text x="${x + 4}" y="${y + 13}" fill="${box.ink}">${escaped(label)}</text>` : ""}</g>`);
  }
  return `${out.join("\n")}\n</svg>\n`;
}
