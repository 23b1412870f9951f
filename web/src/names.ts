// Names of functions that do not fit: one rule for all views. The last named part of a name is never lost, and what is cut is
// marked. Pure.

// Replaces generic and function arguments by "…": "HashMap<…>::insert".
export function foldGenerics(name: string): string {
  let out = "", depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === "<" && name[i - 1] !== "-" && !out.endsWith("operator") && !(depth === 0 && (i === 0 || name[i - 1] === " "))) { if (depth++ === 0) out += "<…"; }
    else if (c === ">" && depth > 0 && name[i - 1] !== "-") { if (--depth === 0) out += ">"; }
    else if (depth === 0) out += c;
  }
  return depth === 0 ? out : name;
}
// "f(int, char const*) const" becomes "f(…)". Keeps the rest of a path ("(*T).method"), and an empty pair.
export function foldArguments(name: string): string {
  const end = name.lastIndexOf(")");
  if (end < 0 || !/^( const| volatile| &&?|&&?)*( \[.*\])?$/.test(name.slice(end + 1))) return name;
  for (let i = end, depth = 0; i > 0; i--) {
    if (name[i] === ")") depth++;
    else if (name[i] === "(" && --depth === 0) return i + 1 === end || name[i - 1] === " " ? name : `${name.slice(0, i)}(…)`;
  }
  return name;
}
// A namespace without a name says nothing.
const named = (name: string) => name.replaceAll("(anonymous namespace)::", "");
export const folded = (name: string) => foldGenerics(foldArguments(named(name)));

// Where the named parts of a path begin: "a::b<c::d>::{{closure}}" has parts at 0 and 3, because a closure belongs to its
// function.
function partsOf(name: string): number[] {
  const out = [0];
  for (let i = 0, depth = 0; i + 2 < name.length; i++) {
    if ("<([{".includes(name[i])) depth++;
    else if (">)]}".includes(name[i]) && name[i - 1] !== "-") depth = Math.max(0, depth - 1);
    if (depth === 0 && name[i] === ":" && name[i + 1] === ":" && name[i + 2] !== "{" && name[i + 2] !== ":") out.push(i + 2);
  }
  return out;
}
// The path and the last named part: "a::b::" and "serve::{{closure}}". Of Go and paths of files: what follows the last slash.
export function split(name: string): [path: string, last: string] {
  const short = folded(name), parts = partsOf(short), at = parts.length > 1 ? parts[parts.length - 1] : /^[\w.@-]+(\/[\w.@-]+)+/.test(short) ? short.lastIndexOf("/") + 1 : 0;
  return [short.slice(0, at), short.slice(at)];
}

// "<a::Pool<…> as b::Api>::go" is "go" of "Pool", and "<T as b::Api>::go" of "Api".
const implemented = /^<(?:[^<>]*::)?([^<>:]+)(?:<…>)? as (?:[^<>]*::)?([^<>:]+)(?:<…>)?>::(.*)$/s;
const leastOfOwner = 4;  // letters: fewer do not tell one type from another

// For a box of `room`: removes first the arguments, then the generics, then the path from the left, and at last letters, with a
// mark for each. What is left of the room shows the start of the type or namespace that a function belongs to. "" if not even three letters fit.
export function fitted(name: string, room: number, width: (text: string) => number): string {
  if (width(name) <= room) return name;
  let short = named(name);
  if (width(short) <= room) return short;
  short = foldArguments(short);
  if (width(short) <= room) return short;
  short = foldGenerics(short);
  if (width(short) <= room) return short;
  const parts = partsOf(short);
  let last = short.slice(parts[parts.length - 1]);
  const method = implemented.exec(short), type = method ? method[1].length > 1 ? method[1] : method[2] : "";
  if (method && width(`…::${type}::${method[3]}`) <= room) return `…::${type}::${method[3]}`;
  for (let i = 1; i < parts.length; i++) {
    const tail = `…::${short.slice(parts[i])}`, left = Math.floor((room - width(tail)) / Math.max(1, width("0")));
    if (left < 0) continue;
    const owner = i === 1 && method ? type : short.slice(parts[i - 1], parts[i] - 2).replace(/<…>$/, "");
    return left >= leastOfOwner && left < owner.length && /^\w+$/.test(owner) ? `${owner.slice(0, left)}${tail}` : tail;
  }
  last = last.replace(/(?<!operator)\(…?\)$/, "");
  if (width(last) > room) last = last.replace(/<…>$/, "");
  if (width(last) > room) last = last.replace(/(::\{\{.*\}\})+$/, "::{…}");
  if (width(last) > room) last = last.replace(/::\{…\}$/, "");
  if (width(last) <= room) return last;
  const characters = Math.floor(room / Math.max(1, width("0"))) - 1, tail = Math.floor(characters / 3);
  if (characters < 3) return "";
  if (/[/.]/.test(last)) return `…${last.slice(-characters)}`;
  return characters < 9 ? `${last.slice(0, characters)}…` : `${last.slice(0, characters - tail)}…${last.slice(-tail)}`;
}
