// The figure of `fathom diff` on two sides (src/analysis/diff/estimate.h has the reasons), for two times of one recording: the
// error of each figure, Student's t, and Holm's procedure for all judged figures together. Pure.
import type { Change, Figure, Scale } from "./types";

const manyDegrees = 1e4, leastPieces = 5;
export const nothing: Change = { base: 0, fresh: 0, change: 0, sd: 0, freedom: manyDegrees, p: 1, error: 0, lookedAt: false, beyondNoise: false };

const sum = (values: Float64Array) => { let all = 0; for (const value of values) all += value; return all; };

function samplingVariance(value: number, whole: number, scale: Scale): number {
  if (scale.weight <= 0) return 0;
  const left = scale.ofWhole ? (whole > 0 ? 1 - value / whole : 1) : scale.most > 0 ? 1 - value / scale.most : 1;
  return scale.weight * Math.max(value * Math.max(left, 0), scale.weight);
}

function varianceOverTime(values: Float64Array, wholes: Float64Array, scale: Scale): number {
  const count = scale.pieces;
  if (count < leastPieces) return 0;
  const all = sum(values.subarray(0, count)), whole = sum(wholes.subarray(0, count)), away = new Float64Array(count);
  for (let i = 0; i < count; i++) away[i] = values[i] - (!scale.ofWhole ? all / count : whole > 0 ? all / whole * wholes[i] : 0);
  const covariance = (lag: number) => {
    let together = 0;
    for (let i = lag; i < count; i++) together += away[i] * away[i - lag];
    return together / (count - 1);
  };
  const alone = covariance(0), stretch = count * scale.whole * scale.whole;
  if (covariance(1) * Math.sqrt(count) <= 2 * alone) return stretch * alone;
  return stretch * Math.max(alone, alone + 4 / 3 * covariance(1) + 2 / 3 * covariance(2));
}

// The spread that chance alone shows in one case of twenty, divided by the expected one (Wilson and Hilferty 1931).
const likelySpread = (pieces: number) => {
  if (pieces < leastPieces) return 1;
  const part = 2 / (9 * (pieces - 1));
  return (1 - part + 1.6449 * Math.sqrt(part)) ** 3;
};

// `values`: for each piece, and for the rest after them; `wholes`: the sum over all functions there.
export function figureOf(values: Float64Array, wholes: Float64Array, scale: Scale): Figure {
  const all = sum(values), whole = sum(wholes), factor = scale.ofWhole ? (whole > 0 ? 1 / whole : 0) : scale.factor;
  let variance = samplingVariance(all, whole, scale), freedom = manyDegrees;
  const overTime = varianceOverTime(values, wholes, scale);
  if (overTime > variance * likelySpread(scale.pieces)) { variance = overTime; freedom = scale.pieces - 1; }
  return { mean: all * factor, variance: variance * factor * factor, freedom };
}

// log of the gamma function (Stirling's series, after moving arguments below 8 upwards).
function logGamma(x: number): number {
  let shift = 0;
  for (; x < 8; x++) shift += Math.log(x);
  const y = 1 / (x * x);
  return (x - 0.5) * Math.log(x) - x + 0.9189385332046727 + (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x - shift;
}
// The regularized incomplete beta function, by its continued fraction (DLMF 8.17.22).
function beta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - beta(1 - x, b, a);
  const tiny = 1e-300, nonzero = (value: number) => Math.abs(value) < tiny ? tiny : value;
  let c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (let m = 1; m <= 2000; m++) {
    let step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + step * d);
    c = nonzero(1 + step / c);
    fraction *= c * d;
    step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + step * d);
    c = nonzero(1 + step / c);
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-12) break;
  }
  return fraction * Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
}
// The probability of a deviation of at least `t` in either direction.
const chanceOf = (t: number, freedom: number) => beta(freedom / (freedom + t * t), freedom / 2, 0.5);
function deviationAt(chance: number, freedom: number): number {
  let low = 0, high = 1;
  while (chanceOf(high, freedom) > chance && high < 1e12) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (chanceOf(middle, freedom) > chance) low = middle; else high = middle;
  }
  return high;
}

export function changeBetween(base: Figure, fresh: Figure): Change {
  const change = fresh.mean - base.mean, variance = base.variance + fresh.variance, sd = Math.sqrt(variance);
  const shaky = base.variance ** 2 / base.freedom + fresh.variance ** 2 / fresh.freedom;
  const freedom = Math.min(manyDegrees, Math.max(1, shaky > 0 ? variance * variance / shaky : manyDegrees));
  const p = change === 0 ? 1 : sd > 0 ? chanceOf(Math.abs(change) / sd, freedom) : 0;
  return { base: base.mean, fresh: fresh.mean, change, sd, freedom, p, error: 0, lookedAt: false, beyondNoise: false };
}

// Compares the smallest p-value with level / n, the next with level / (n - 1) ...; stops at the first failure.
export function holmLevel(chances: number[], level = 0.05): number {
  const sorted = Float64Array.from(chances).sort();
  let taken = 0;
  while (taken < sorted.length && sorted[taken] <= level / (sorted.length - taken)) taken++;
  return level / Math.max(sorted.length - taken, 1);
}

export function judgeAll(changes: Change[], single: number): void {
  const deviations = new Map<number, number>();
  for (const change of changes) {
    change.beyondNoise = change.lookedAt && change.p <= single && change.change !== 0;
    if (change.sd <= 0) continue;
    let deviation = deviations.get(change.freedom);
    if (deviation === undefined) deviations.set(change.freedom, (deviation = deviationAt(single, change.freedom)));
    change.error = change.sd * deviation;
  }
}
