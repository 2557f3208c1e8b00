// Changes parts of a page into what the server sends, in one frame.
// Focus, selection, scroll, open <details>, what is typed, and elements with data-keep stay as they are.
import { say, tick } from "./frame.js";
import { Idiomorph } from "./vendor/idiomorph/idiomorph.js";

const policy = window.trustedTypes
  ? trustedTypes.createPolicy("console", { createHTML: (html) => html })
  : { createHTML: (html) => html };
const held = new Map();

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
  const after = document.getElementById(id)?.dataset.say;
  if (after && after !== before) say(after);
}

// The parts are [{id, html}].
export function morphParts(parts) {
  requestAnimationFrame(() => {
    for (const { id, html } of parts) morph(id, html);
    tick();
  });
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
