import { notice } from "./state";

// Says what was copied for a moment.
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page from a file may not be allowed to
    const area = document.createElement("textarea"), focused = document.activeElement as HTMLElement | null;
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    focused?.focus();
  }
  notice.value = `copied: ${what}`;
  setTimeout(() => { notice.value = ""; }, 4000);
}
