// Spans over time and by length: what a box holds, and that the words made from it choose the same. `node --test web/test`
import assert from "node:assert/strict";
import { test } from "node:test";
import * as page from "../dist/pure.mjs";
import { documentOf, randomOf, someDocument } from "./documents.mjs";

function someSpans(seed) {
  const random = randomOf(seed), rows = [];
  for (let i = 0, start = 0; i < 300; i++) rows.push({ kind: random(2), start: (start += random(2e6)), length: Math.floor(10 ** (random(9000) / 1000)), thread: ["main", "worker", ""][random(3)] });
  const kinds = ["newPayload", "engine::fcu"].map((name, kind) => {
    const lengths = rows.filter((row) => row.kind === kind).map(({ length }) => length).sort((a, b) => a - b);
    return { name, count: lengths.length, untimed: 0, p50_ns: lengths[lengths.length >> 1], p95_ns: lengths[Math.floor(lengths.length * 0.95)], most_ns: lengths.at(-1) };
  });
  return { kinds, rows };
}
const opened = (spans) => page.readDocument(documentOf({ ...someDocument(1), spans }));

test("spans are decoded to what was written, and a document without them has none", () => {
  const spans = someSpans(3), doc = opened(spans);
  assert.deepEqual([...doc.spans.kind].map((kind, i) => ({ kind, start: doc.spans.start[i], length: doc.spans.length[i], thread: doc.head.texts[doc.spans.thread[i]] })), spans.rows);
  assert.equal(opened(null).spans, null);
});

test("a box holds the spans that overlap its time and have its length", () => {
  for (let seed = 1; seed < 20; seed++) {
    const spans = someSpans(seed), doc = opened(spans), random = randomOf(seed + 99), from = random(3e8), least = random(1e6), box = { from, to: from + random(3e8), least, most: least + random(1e8) };
    for (const kind of [0, 1])
      assert.deepEqual(page.spansIn(doc.spans, kind, box), spans.rows.flatMap((row, i) => row.kind === kind && row.length >= box.least && row.length < box.most && row.start < box.to && row.start + row.length >= box.from ? [i] : []));
  }
});

test("the command made from spans chooses all of them, and three digits suffice", () => {
  for (let seed = 1; seed < 40; seed++) {
    const doc = opened(someSpans(seed)), random = randomOf(seed + 7), kind = random(2), of = doc.head.spans.kinds[kind];
    const least = 10 ** (random(9000) / 1000), rows = page.spansIn(doc.spans, kind, { from: 0, to: Infinity, least, most: least * (2 + random(100)) });
    if (!rows.length) continue;
    const choice = page.choiceOf(doc.spans, of, rows);
    for (const row of rows) assert.ok(doc.spans.length[row] >= choice.slower * 1e9 && (choice.faster === null || doc.spans.length[row] < choice.faster * 1e9), JSON.stringify([choice, doc.spans.length[row]]));
    assert.ok(page.chosenBy(doc.spans, kind, choice) >= rows.length);
    const shortest = Math.min(...rows.map((row) => doc.spans.length[row]));
    assert.ok(choice.slower * 1e9 >= shortest * 0.99 - 1, "no more than a hundredth below the shortest");
  }
});

test("the slowest are one in twenty, also if most spans take the same time", () => {
  const rows = Array.from({ length: 100 }, (_, i) => ({ kind: 0, start: i * 1e6, length: i % 20 === 7 ? 95e6 : 20e6, thread: "main" }));
  const kinds = [{ name: "x", count: 100, untimed: 0, p50_ns: 20e6, p95_ns: 20e6, most_ns: 95e6 }], doc = opened({ kinds, rows });
  const choice = page.slowestOf(doc.spans, 0, kinds[0]);
  assert.deepEqual(choice, { name: "x", slower: 0.095, faster: null });
  assert.equal(page.chosenBy(doc.spans, 0, choice), 5);
  for (let seed = 1; seed < 20; seed++) {
    const spans = someSpans(seed), some = opened(spans), chosen = page.chosenBy(some.spans, 1, page.slowestOf(some.spans, 1, spans.kinds[1]));
    assert.ok(chosen >= 1 && chosen >= Math.floor(spans.kinds[1].count / 20));
  }
});

test("the height of a length and the length of a height are each other's inverse", () => {
  const scale = { least: 100, most: 1e9 };
  for (const part of [0, 0.1, 0.5, 0.99, 1]) assert.ok(Math.abs(page.partOf(scale, page.lengthAt(scale, part)) - part) < 1e-9);
  assert.equal(page.partOf(scale, 1), 0);
  assert.equal(page.partOf(scale, 1e12), 1);
});

test("a choice is written as the program reads it", () => {
  const choice = { name: "a b", slower: 0.1, faster: 0.25 };
  assert.equal(page.choiceWords(choice), "--span 'a b' --slower-than 0.1 --faster-than 0.25");
  assert.equal(page.choiceQuery(choice), "span=a+b&slower-than=0.1&faster-than=0.25");
  assert.equal(page.choiceText(choice), "span a b, at least 100 ms, less than 250 ms");
  assert.equal(page.choiceWords({ name: "x", slower: 0, faster: null }), "--span x");
});
