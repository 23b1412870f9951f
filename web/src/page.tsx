// The page: the summary, the time axis, and one selection in several views.
import { render } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { costsOf, labelOf } from "./aggregate";
import { Bar } from "./bar_view";
import { setDark } from "./colors";
import { compared, report } from "./command";
import { readDocument, unpack } from "./document";
import { onKey } from "./keys";
import { Lanes } from "./lanes_view";
import { FrameMenu, Help } from "./menu";
import { fitted } from "./names";
import { PairLanes } from "./pair_lanes";
import { change, children, dark, doc, notice, search, start, tree, view, zoom } from "./state";
import { Summary } from "./summary_view";
import { Views } from "./views";

function Page() {
  useLayoutEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  dark.value;  // colours follow the theme
  return (
    <>
      <Summary />{doc.compared ? <PairLanes /> : <Lanes />}<Bar /><Views /><FrameMenu /><Help />
      <div class="notice" role="status">{notice.value}</div>
    </>);
}

function followTheme() {
  const scheme = matchMedia("(prefers-color-scheme: dark)"), put = () => { setDark(scheme.matches); dark.value = scheme.matches; };
  scheme.addEventListener("change", put);
  put();
}

async function main() {
  const root = document.getElementById("app")!;
  try {
    // A comment: the place in a page that browsers read fastest.
    const data = document.getElementById("data")!, text = data.firstChild!.nodeValue!;
    data.textContent = "";  // it takes as much memory again as the decoded data
    start(readDocument(await unpack(text)));
    document.title = `${doc.head.words.headline.split(" · ")[0] || doc.head.target} – fathom`;
    root.textContent = "";
    followTheme();
    render(<Page />, root);
    const asTree = () => ({ self: [...costsOf(tree.value).self], total: [...costsOf(tree.value).total], labels: [...tree.value.place].map((place) => labelOf(doc, place)) });
    Object.assign(window, { fathom: { report, compared, change, view, children, zoom, search, slices: doc.head.slices, tree: asTree, fitted } });
  } catch (error) {
    root.textContent = `fathom: the page cannot be shown: ${error instanceof Error ? error.message : error}`;
  }
}
void main();
