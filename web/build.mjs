// Builds dist/page.js and dist/page.css, which the program embeds, and refuses a script that is larger than it may be.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const common = { bundle: true, target: "es2022", jsx: "automatic", jsxImportSource: "preact", charset: "utf8" };
await build({ ...common, entryPoints: ["src/page.tsx"], outfile: "dist/page.js", format: "iife", minify: true, legalComments: "none" });
await build({ ...common, entryPoints: ["src/page.css"], outfile: "dist/page.css", minify: true });
// What is pure, for tests under Node, which have no packages there: it is checked in, too, and not embedded.
await build({ bundle: true, target: "es2022", charset: "utf8", format: "esm", entryPoints: ["test/pure.ts"], outfile: "dist/pure.mjs" });
// preact and its signals ask for this notice to stay with copies.
const notice = "/* Contains preact and @preact/signals: Copyright (c) 2015-present Jason Miller, 2022-present Preact Team; MIT licence */\n";
const script = notice + readFileSync("dist/page.js", "utf8");
writeFileSync("dist/page.js", script);
const most = { script: 190_000, compressed: 66_000 };
const compressed = gzipSync(script).length;
console.log(`page.js: ${script.length} bytes, ${compressed} compressed`);
if (script.length > most.script || compressed > most.compressed) throw new Error("the script is larger than it may be");
if (script.includes(')PAGE"') || /<\/script/i.test(script)) throw new Error("the script cannot be embedded");

// What dist was built from and what came of it, as sha256sum checks it: a test without Node sees a dist that is older than src.
const sources = readdirSync("src").sort().map((name) => `src/${name}`);
const line = (name) => `${createHash("sha256").update(readFileSync(name)).digest("hex")}  ${name}\n`;
writeFileSync("dist/SHA256SUMS", [...sources, "build.mjs", "package-lock.json", "tsconfig.json", "test/pure.ts", "dist/page.js", "dist/page.css", "dist/pure.mjs"].map(line).join(""));
