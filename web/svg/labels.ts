// What a frame says in its room, as flame_graph_text.cpp has it: a browser test compares both. The last named part of a name is kept,
// and what is cut is marked. Pure.

const wide = (point: number) => (point >= 0x1100 && point < 0x1160) || (point >= 0x2e80 && point < 0xa4d0) ||
    (point >= 0xac00 && point < 0xd7a4) || (point >= 0xf900 && point < 0xfb00) || (point >= 0xfe30 && point < 0xfe70) ||
    (point >= 0xff00 && point < 0xff61) || point >= 0x1f300;
export const columnsOf = (text: string) => {
  let columns = 0;
  for (const character of text) columns += wide(character.codePointAt(0)!) ? 2 : 1;
  return columns;
};
const skipBrackets = (name: string, open: number) => {
  let level = 0;
  for (let i = open; i < name.length; i++) {
    const c = name[i];
    if ("<([{".includes(c)) level++;
    if ((c === ">" && name[i - 1] !== "-") || ")]}".includes(c)) {
      if (--level === 0) return i + 1;
    }
  }
  return name.length;
};
const isWord = (c: string) => /^[A-Za-z0-9_$]$/.test(c);
const plainPath = (path: string) => {
  const anonymous = "(anonymous namespace)";
  let out = "";
  for (let i = 0; i < path.length;) {
    const startsWord = out === "" || !isWord(out[out.length - 1]);
    if (startsWord && path.startsWith("operator", i) && !isWord(path[i + 8] || "")) {
      let stop = path.indexOf("(", i + 8);
      if (stop === i + 8) stop = path.indexOf("(", stop + 1);
      return out + (stop < 0 ? path.slice(i) : path.slice(i, stop));
    }
    if (path.startsWith(anonymous, i)) {
      i += anonymous.length;
      if (path.startsWith("::", i)) i += 2;
    } else if (path[i] === "<" && out !== "" && !out.endsWith(" ")) {
      i = skipBrackets(path, i);
    } else if (path[i] === "(" && out !== "") {
      break;
    } else if (path[i] === "{") {
      const stop = skipBrackets(path, i);
      out += path.slice(i, stop);
      i = stop;
    } else if (path[i] === " ") {
      out = "";
      i++;
    } else {
      out += path[i++];
    }
  }
  while (out.includes("::::")) out = out.replace("::::", "::");
  while (out.length > 2 && out.endsWith("::")) out = out.slice(0, -2);
  return out;
};
const shortName = (name: string) => {
  let out = "";
  if (name.startsWith("<")) {
    const stop = skipBrackets(name, 0);
    let type = name.slice(1, stop >= 2 && name[stop - 1] === ">" ? stop - 1 : stop);
    const as = type.indexOf(" as ");
    if (as >= 0) type = type.slice(0, as);
    const path = plainPath(type);
    out = path.slice(path.lastIndexOf("::") < 0 ? 0 : path.lastIndexOf("::") + 2) + plainPath(name.slice(stop));
  } else if (name !== "" && !name.startsWith("[")) {
    out = plainPath(name);
  }
  return out || name;
};
const cutInFront = (name: string, columns: number) => {
  let used = 1, tail = "";
  for (const character of [...name].reverse()) {
    used += columnsOf(character);
    if (used > columns) break;
    tail = character + tail;
  }
  return "…" + tail;
};
// Of a closure in `function`: what is cut behind the function is marked, too.
const closureLabel = (func: string, whole: boolean, columns: number) => {
  const name = (whole ? "" : "…") + func;
  return columnsOf(name) + 5 <= columns ? name + "::{…}" : columnsOf(name) + 1 <= columns ? name + "…" : cutInFront(func, columns - 1) + "…";
};
// Names of Go, Swift, D, Java and Python, as analysis/core/prose_name.cpp knows them.
const isDotted = (name: string) => {
  if (name.includes("::") || name.startsWith("[") || name.startsWith("decltype (") || generated(name)) return false;
  let level = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if ("<([{".includes(c)) level++;
    if (")]}".includes(c) || (c === ">" && (i === 0 || !"-=".includes(name[i - 1])))) level--;
    if (level === 0 && i !== 0 && c === "." && i + 1 < name.length && name[i + 1] !== "." && name[i - 1] !== "." &&
        !name.includes(" [clone ")) return true;
    if (level === 0 && i !== 0 && name.startsWith(" (", i) && name.endsWith(")") && !name.endsWith("(inlined)")) return true;
  }
  return name.startsWith("<") && !name.includes(" as ");
};
const withoutFirstPart = (name: string) => {
  const pathEnd = name.search(/[( ]/), slash = name.indexOf("/");
  if (slash >= 0 && (pathEnd < 0 || slash < pathEnd)) return name.slice(slash + 1);
  for (let i = 0; i < name.length; i++) {
    if (name[i] === "(" && i !== 0 && name[i - 1] !== " ") return "";
    if ("(<[".includes(name[i])) i = skipBrackets(name, i) - 1;
    if (name[i] === ".") return name.slice(i + 1);
  }
  return "";
};
const withoutDottedArguments = (name: string) => {
  for (let i = 1; i < name.length; i++) {
    if ("<[".includes(name[i - 1])) i = skipBrackets(name, i - 1);
    if (name[i] === "(" && name[i - 1] !== ".") return name.slice(0, name[i - 1] === " " ? i - 1 : i);
  }
  return name;
};
const dottedLabel = (name: string, columns: number) => {
  const plain = withoutDottedArguments(name);
  if (columnsOf(plain) <= columns) return plain;
  for (let rest = withoutFirstPart(plain); rest !== ""; rest = withoutFirstPart(rest))
    if (columnsOf(rest) + 1 <= columns) return "…" + rest;
  return cutInFront(plain, columns);
};
// Names of code that a run time made, as analysis/core/generated_name.cpp reads them: [function, place].
const generated = (name: string) => {
  const python = /^py::([^:]+):(.*)$/s.exec(name);
  if (python) return [python[1], python[2].slice(python[2].lastIndexOf("/") + 1)];
  const script = /^(?:LazyCompile|JS|Function|Script|Eval|InterpretedFunction):[*~^+'`]*(.*:[0-9]+):[0-9]+$/s.exec(name);
  if (!script) return null;
  const line = script[1].lastIndexOf(":");
  let blank = script[1].indexOf(" /");
  if (blank < 0) blank = script[1].indexOf(" file://");
  if (blank < 0) blank = script[1].lastIndexOf(" ", line);
  if (blank < 0 || blank > line) return null;
  const path = script[1].slice(blank + 1);
  return [script[1].slice(0, blank), path.slice(path.lastIndexOf("/") + 1)];
};
export const label = (name: string, columns: number) => {
  if (columnsOf(name) <= columns) return name;
  if (columns < 5) return "";
  if (isDotted(name)) return dottedLabel(name, columns);
  const made = generated(name);
  if (made && made[0] !== "") {
    const full = made.join(" ");
    return columnsOf(full) <= columns ? full : columnsOf(made[0]) <= columns ? made[0] : cutInFront(made[0], columns);
  }
  const plain = shortName(name);
  if (columnsOf(plain) <= columns) return plain;
  let named = plain;
  for (let rest = plain, at = rest.indexOf("::"); at >= 0; at = rest.indexOf("::")) {
    rest = rest.slice(at + 2);
    if (rest === "" || rest[0] === "{") continue;  // a closure says nothing without its function
    named = rest;
    if (columnsOf(rest) + 1 <= columns) return "…" + rest;
  }
  const closure = named.indexOf("::{");
  return closure < 0 ? cutInFront(plain, columns) : closureLabel(named.slice(0, closure), named === plain, columns);
};
