// Numbers in words, as flame_graph_text.cpp and analysis/core/words.cpp have them. Pure.

export const grouped = (number: number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
export const percentNumber = (share: number) => (share * 100).toFixed(share !== 0 && share * 100 < 0.995 ? 2 : 1);
export const percent = (share: number) => percentNumber(share) + " %";

// Where a unit begins, its size and word, and its digits; below 0: three that count.
type Step = [from: number, size: number, unit: string, digits: number];
const times: Step[] = [[1e11, 1e9, "s", 0], [1e9, 1e9, "s", 2], [1e6, 1e6, "ms", -1], [1e3, 1e3, "us", -1], [1, 1, "ns", 0]];
const sizes: Step[] = [[2 ** 40, 2 ** 40, "TiB", 1], [2 ** 30, 2 ** 30, "GiB", 1], [2 ** 20, 2 ** 20, "MiB", 1], [1024, 1024, "KiB", 1], [1, 1, "bytes", 0]];
function scaled(value: number, steps: Step[]): string {
  const [, size, unit, digits] = steps.find(([from]) => value >= from) ?? steps[steps.length - 1];
  return `${digits < 0 ? Number((value / size).toPrecision(3)) : (value / size).toFixed(digits)} ${unit}`;
}
// `count`: the word for what is counted, if the picture has one of its own.
export function quantity(value: number, unit: string, count = ""): string {
  if (count) return `${grouped(value)} ${count}`;
  if (unit === "ns") return scaled(value, times);
  if (unit === "bytes") return scaled(value, sizes);
  return `${grouped(value)} ${unit === "samples" && value === 1 ? "sample" : unit}`;
}

// Half the Wilson interval at 95 %.
export function error(share: number, samples: number): number {
  const z = 1.959963984540054, z2 = z * z;
  return (z * Math.sqrt((share * (1 - share)) / samples + z2 / (4 * samples * samples))) / (1 + z2 / samples);
}

// With the digits that are known, as analysis/core/rounding.cpp has it: what was sampled is a multiple of what was seen.
const lastKnownDigit = (error: number) => (error < 1 ? 1 : 10 ** Math.floor(Math.log10(error)));
export function known(value: number, whole: number, samples: number, unit: string): string {
  const seen = (samples * value) / whole, error = (1.959964 * value) / Math.sqrt(Math.max(1, seen));
  let size = 1;
  if (unit === "bytes") while (value >= 1024 * size && size < 2 ** 40) size *= 1024;
  if (error < size) return quantity(value, unit);
  const digit = lastKnownDigit(error / size) * size;
  return quantity(Math.round(value / digit) * digit, unit).replace(".0 ", " ");
}
