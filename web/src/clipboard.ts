import { notice } from "./state";

// Shows for a moment what was copied.
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page opened from a file may not have permission
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
