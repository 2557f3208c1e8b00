// What each page has: the theme, the switch of the namespace, buttons that copy, and ages that grow.
const THEMES = ["system", "light", "dark"];
const theme = document.getElementById("theme");
const shown = () => document.documentElement.dataset.theme ?? "system";

function show() {
  theme.textContent = `Theme: ${shown()}`;
}

if (theme) {
  theme.hidden = false;
  show();
  theme.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(shown()) + 1) % THEMES.length];
    if (next === "system") {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem("theme");
    } else {
      document.documentElement.dataset.theme = next;
      localStorage.setItem("theme", next);
    }
    show();
  });
}

// A form that is sent by a change in it. In a panel over the page it has a button: the panel would close with each change.
const chosen = sessionStorage.getItem("chosen");
sessionStorage.removeItem("chosen");
document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-submit-on-change]:not(:popover-open *)");
  if (!form) return;
  const { name, value, type } = event.target;
  if (type === "checkbox") sessionStorage.setItem("chosen", JSON.stringify([name, value]));
  form.requestSubmit();
});
// The focus is where it was before the page was shown anew.
if (chosen) {
  const [name, value] = JSON.parse(chosen);
  document.querySelector(`[type=checkbox][name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`)?.focus();
}

document.addEventListener("submit", (event) => {
  // An empty namespace is none: the URL of all namespaces has no ?ns.
  for (const field of event.target.querySelectorAll?.('[name="ns"]') ?? []) if (!field.value) field.disabled = true;
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button[data-copy], .copy > button");
  if (!button) return;
  const source = button.closest(".copy")?.querySelector("pre");
  await navigator.clipboard.writeText(button.dataset.copy ?? source?.textContent ?? "");
  say("Copied");
});

// A single key is text where text can be typed; a checkbox takes none.
export const isTyping = (event) =>
  event.target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable], [role=textbox]");

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.querySelector("input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
  }
});

// Says a sentence to screen readers, at most one in five seconds: the last one counts.
let waiting = "";
let quiet = 0;
export function say(text) {
  waiting = text;
  const now = Date.now();
  if (now < quiet) return;
  quiet = now + 5000;
  setTimeout(() => {
    document.getElementById("said").textContent = waiting;
  }, 50);
}

// An age is <time datetime="…" data-age>: it is as `olm list` writes it. A long page takes several frames.
const UNITS = [["d", 86400], ["h", 3600], ["m", 60]];
const BUDGET = 4;

function age(time) {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  if (Number.isNaN(seconds)) return time;
  const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.floor(seconds / size)}${unit}`;
}

export function tick(within = document) {
  const found = within.querySelectorAll("time[data-age]");
  let next = 0;
  function some() {
    const until = performance.now() + BUDGET;
    for (; next < found.length && performance.now() < until; next++) {
      const text = age(found[next].dateTime);
      if (found[next].textContent !== text) found[next].textContent = text;
    }
    if (next < found.length) requestAnimationFrame(some);
  }
  some();
}
tick();
setInterval(tick, 5000);
