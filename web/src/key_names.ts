// The keys of the page, from the table of all keys. Pure.
import keyTable from "keys:page";

export const keyRowsOfPage = keyTable;
export const nameOfKey = (key: string) => keyTable.find(([keys, name]) => name !== "-" && keys.includes(key))?.[1] ?? "";
// For hints: "key i".
export const keyHint = (name: string) => `key ${keyTable.find(([, one]) => one === name)?.[0][0] ?? ""}`;
