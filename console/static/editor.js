// A text area for YAML: numbers of lines, Tab and Enter as in an editor, links from errors to their lines, and a check while typing.
// Without it, it is a text area, and the button checks.
import { morphFrom } from "./morph.js";

const TYPING = 1000;
const STEP = "  ";
const MAX_LINES = 20000;

const lineAt = (text, at) => text.slice(0, at).split("\n").length;

// execCommand is what keeps the browser's undo; where it is gone, the text is changed without it.
function insert(area, text) {
  if (!document.execCommand("insertText", false, text)) area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

function indent(area, isBack) {
  const { selectionStart: start, selectionEnd: end, value } = area;
  const first = value.lastIndexOf("\n", start - 1) + 1;
  if (start === end && !isBack) {
    insert(area, " ".repeat(STEP.length - ((start - first) % STEP.length)));
    return;
  }
  const last = value.indexOf("\n", Math.max(end - 1, start)) < 0 ? value.length : value.indexOf("\n", Math.max(end - 1, start));
  const lines = value.slice(first, last).split("\n");
  const changed = lines.map((line) => (isBack ? line.replace(/^ {1,2}/, "") : STEP + line)).join("\n");
  if (changed === lines.join("\n")) return;
  area.setSelectionRange(first, last);
  insert(area, changed);
  if (start === end) area.setSelectionRange(Math.max(first, start - STEP.length), Math.max(first, start - STEP.length));
  else area.setSelectionRange(first, first + changed.length);
}

function breakLine(area) {
  const { selectionStart: start, value } = area;
  const line = value.slice(value.lastIndexOf("\n", start - 1) + 1, start);
  const spaces = /^ */.exec(line)[0];
  insert(area, `\n${spaces}${/:\s*$/.test(line) ? STEP : ""}`);
}

function goTo(area, line) {
  const lines = area.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  area.focus();
  area.setSelectionRange(at, at + (lines[line - 1] ?? "").length);
  area.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(area).lineHeight));
}

function start(area) {
  const form = area.form;
  const gutter = document.createElement("div");
  gutter.className = "gutter mono";
  gutter.setAttribute("aria-hidden", "true");
  const box = document.createElement("div");
  box.className = "editor";
  area.before(box);
  box.append(gutter, area);
  area.wrap = "off";
  const place = document.createElement("p");
  place.className = "hint";
  box.after(place);
  let mayLeave = false;
  let timer = 0;
  let asking = null;

  const marked = () => new Set([...form.parentElement.querySelectorAll("[data-line]")].map((each) => Number(each.dataset.line)));
  function number() {
    const count = Math.min(area.value.split("\n").length, MAX_LINES);
    const wrong = marked();
    gutter.textContent = Array.from({ length: count }, (_, at) => (wrong.has(at + 1) ? `\u25b8 ${at + 1}` : at + 1)).join("\n");
    gutter.scrollTop = area.scrollTop;
  }
  function tell() {
    const line = lineAt(area.value, area.selectionStart);
    const column = area.selectionStart - area.value.lastIndexOf("\n", area.selectionStart - 1);
    place.textContent = `Line ${line}, column ${column}. Tab indents; Esc and then Tab leaves the text.`;
  }
  async function check() {
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    const body = new URLSearchParams(new FormData(form));
    body.set("action", "check");
    body.set("typed", "1");
    try {
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body, redirect: "manual", signal: mine.signal });
      if (!answer.ok || !answer.headers.get("Content-Type")?.startsWith("text/html")) return;
      morphFrom(await answer.text(), ["verdict"]);
      requestAnimationFrame(() => requestAnimationFrame(number));
    } catch {
      // The server is away: the button says so.
    }
  }
  area.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      mayLeave = true;
    } else if (event.key === "Tab" && !mayLeave && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      indent(area, event.shiftKey);
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      breakLine(area);
    } else if (event.key !== "Tab" && event.key !== "Shift") {
      mayLeave = false;
    }
  });
  area.addEventListener("blur", () => {
    mayLeave = false;
  });
  area.addEventListener("input", () => {
    number();
    clearTimeout(timer);
    timer = setTimeout(check, TYPING);
  });
  area.addEventListener("scroll", () => {
    gutter.scrollTop = area.scrollTop;
  });
  document.addEventListener("selectionchange", () => {
    if (document.activeElement === area) tell();
  });
  form.addEventListener("submit", () => clearTimeout(timer));
  form.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector('button[name="action"][value="check"]'));
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-line]");
    if (!link) return;
    event.preventDefault();
    goTo(area, Number(link.dataset.line));
  });
  number();
  tell();
}

const area = document.querySelector("textarea[data-yaml]");
if (area) start(area);
