// Changes parts of a page into what the server sends. What arrives before the next frame is one change, and a long one takes several.
// Focus, selection, scroll, open <details>, what is typed, and elements with data-keep stay as they are.
import { say, tick } from "./frame.js";
import { Idiomorph } from "./vendor/idiomorph/idiomorph.js";

const policy = window.trustedTypes
  ? trustedTypes.createPolicy("console", { createHTML: (html) => html })
  : { createHTML: (html) => html };
const held = new Map();
const due = new Map();
const BUDGET = 8;

function parse(html) {
  const box = document.createElement("template");
  box.innerHTML = policy.createHTML(html);
  return box.content;
}

const callbacks = {
  beforeNodeMorphed(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) return true;
    if (old.hasAttribute("data-keep")) return false;
    if (old.matches("details[open]")) fresh.setAttribute?.("open", "");
    return true;
  },
  beforeNodeRemoved: (old) => !(old.nodeType === Node.ELEMENT_NODE && old.hasAttribute("data-keep")),
};

// Rows do not move under the pointer or the focus: the part waits until both have left it.
function isHeld(element, fresh) {
  if (!element.hasAttribute("data-order-stays") || !element.matches(":hover, :focus-within")) return false;
  const order = (of) => Array.from(of.children, (child) => child.id).join(" ");
  return order(element) !== order(fresh);
}

function morph(id, html) {
  const old = document.getElementById(id);
  const fresh = old && parse(html).firstElementChild;
  if (!fresh) return;
  if (isHeld(old, fresh)) {
    held.set(id, html);
    return;
  }
  held.delete(id);
  const before = old.dataset.say;
  Idiomorph.morph(old, fresh, { ignoreActiveValue: true, callbacks });
  const now = document.getElementById(id);
  if (!now) return;
  tick(now);
  const after = now.dataset.say;
  if (after && after !== before) say(after);
}

function flush() {
  const until = performance.now() + BUDGET;
  for (const [id, html] of due) {
    due.delete(id);
    morph(id, html);
    if (performance.now() > until) break;
  }
  if (due.size) requestAnimationFrame(flush);
}

// The parts are [{id, html}]. A later one of the same id counts, at its place in the order: it may be in another one.
export function morphParts(parts) {
  if (!due.size) requestAnimationFrame(flush);
  for (const { id, html } of parts) {
    due.delete(id);
    due.set(id, html);
  }
}

// The parts with these ids, as they are in the HTML of another answer for this page.
export function morphFrom(html, ids) {
  const content = parse(html);
  const found = ids.map((id) => content.getElementById(id)).filter(Boolean);
  morphParts(found.map((part) => ({ id: part.id, html: part.outerHTML })));
}

for (const left of ["pointerout", "focusout"]) {
  document.addEventListener(left, () => {
    if (held.size) setTimeout(() => morphParts(Array.from(held, ([id, html]) => ({ id, html }))), 100);
  });
}
