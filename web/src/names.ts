// Names of functions that do not fit: one rule for all views. Pure.
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
// Removes first the arguments, then the generics, then text on the left, where paths begin: the most specific part of a name is
// at its end.
export function fitted(name: string, room: number, width: (text: string) => number): string {
  if (width(name) <= room) return name;
  let short = foldArguments(name);
  if (width(short) <= room) return short;
  short = foldGenerics(short);
  if (width(short) <= room) return short;
  let last = short;
  for (let i = 0, depth = 0; i + 1 < short.length; i++) {
    if ("<([{".includes(short[i])) depth++;
    else if (">)]}".includes(short[i])) depth--;
    if (depth !== 0 || short[i] !== ":" || short[i + 1] !== ":" || short[i + 2] === "{") continue;
    last = short.slice(i + 2);
    if (width(`…::${last}`) <= room) return `…::${last}`;
  }
  last = last.replace(/(?<!operator)\(…?\)$/, "");
  if (width(last) > room) last = last.replace(/<…>$/, "");
  if (width(last) <= room) return last;
  const characters = Math.floor(room / Math.max(1, width("0"))) - 1, tail = Math.floor(characters / 3);
  if (characters < 2) return "";
  return characters < 7 || /[/.]/.test(last) ? `…${last.slice(-characters)}` : `${last.slice(0, characters - tail)}…${last.slice(-tail)}`;
}
