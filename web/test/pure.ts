// The parts of the page that need no browser, for tests under Node.
export * from "../src/aggregate";
export * from "../src/colors";
export * from "../src/document";
export * from "../src/flame_layout";
export * from "../src/flame_picture";
export * from "../src/key_names";
export * from "../src/names";
export * from "../src/owners";
export * from "../src/search";
export * from "../src/series";
export * from "../src/shape";
export * from "../src/spans";
export * from "../src/summary";
export * from "../src/words";
export * as svg from "../svg/labels";
export * as svgNumbers from "../svg/numbers";
export * as svgTree from "../svg/tree";
