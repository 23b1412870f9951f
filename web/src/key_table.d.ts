// The table of keys (src/present/keys/key_rules.txt) as a surface has it; build.mjs puts it in.
declare module "keys:page" { const rows: [keys: string[], name: string, words: string][]; export default rows; }
declare module "keys:picture" { const rows: [keys: string[], name: string, words: string][]; export default rows; }
