// Builds dist/page.js and dist/page.css, which the program embeds, and refuses a script that is larger than it may be.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

// "keys:page" is the table of keys as the page has it: one table for it, the pictures and the terminal views. Of each row the keys,
// the name of what they do, and the words for the help.
const keyTable = "../src/present/keys/key_rules.txt", surfaces = ["page", "picture", "tui", "top", "watch"];
const keysOf = (surface) => readFileSync(keyTable, "utf8").split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split("|").map((cell) => cell.trim()))
  .filter((cells) => cells[2 + surfaces.indexOf(surface)]).map((cells) => [cells[0].split(/ +/), cells[1], cells[2 + surfaces.indexOf(surface)]]);
const keys = { name: "keys", setup(build) {
  build.onResolve({ filter: /^keys:/ }, ({ path }) => ({ path: path.slice(5), namespace: "keys" }));
  build.onLoad({ filter: /.*/, namespace: "keys" }, ({ path }) => ({ contents: `export default ${JSON.stringify(keysOf(path))}`, loader: "js" }));
} };
const common = { plugins: [keys], bundle: true, target: "es2022", jsx: "automatic", jsxImportSource: "preact", charset: "utf8" };
await build({ ...common, entryPoints: ["src/page.tsx"], outfile: "dist/page.js", format: "iife", minify: true, legalComments: "none" });
await build({ ...common, entryPoints: ["src/page.css"], outfile: "dist/page.css", minify: true });
// The script of flame graphs in SVG, which stands in each picture.
await build({ ...common, entryPoints: ["svg/flame_graph.ts"], outfile: "dist/flame_graph.js", format: "iife", minify: true, legalComments: "none" });
// What is pure, for tests under Node, which have no packages there: it is checked in, too, and not embedded.
await build({ bundle: true, plugins: [keys], target: "es2022", charset: "utf8", format: "esm", entryPoints: ["test/pure.ts"], outfile: "dist/pure.mjs" });
// preact and its signals ask for this notice to stay with copies.
const notice = "/* Contains preact and @preact/signals: Copyright (c) 2015-present Jason Miller, 2022-present Preact Team; MIT licence */\n";
const script = notice + readFileSync("dist/page.js", "utf8");
writeFileSync("dist/page.js", script);
const most = { script: 190_000, compressed: 68_000 };
const compressed = gzipSync(script).length;
console.log(`page.js: ${script.length} bytes, ${compressed} compressed`);
if (script.length > most.script || compressed > most.compressed) throw new Error("the script is larger than it may be");
const picture = readFileSync("dist/flame_graph.js", "utf8");
console.log(`flame_graph.js: ${picture.length} bytes, ${gzipSync(picture).length} compressed`);
if (picture.length > 24_000) throw new Error("the script of the pictures is larger than it may be");
if (picture.includes("]]>")) throw new Error("the script of the pictures cannot be embedded");
if (script.includes(')PAGE"') || /<\/script/i.test(script)) throw new Error("the script cannot be embedded");

// What dist was built from and what came of it, as sha256sum checks it: a test without Node sees a dist that is older than src.
const sources = ["src", "svg"].flatMap((folder) => readdirSync(folder).sort().map((name) => `${folder}/${name}`));
const line = (name) => `${createHash("sha256").update(readFileSync(name)).digest("hex")}  ${name}\n`;
writeFileSync("dist/SHA256SUMS", [...sources, "build.mjs", keyTable, "package-lock.json", "tsconfig.json", "test/pure.ts", "dist/page.js", "dist/page.css", "dist/flame_graph.js", "dist/pure.mjs"].map(line).join(""));
