// Single keys that open a page: [data-key] on a link. A user can turn them off (WCAG 2.1.4); the choice lasts as long as the tab.
import { isTyping } from "./frame.js";

const root = document.documentElement;
if (sessionStorage.getItem("keys") === "off") root.dataset.keys = "off";

const button = document.getElementById("keys");
function show() {
  button.textContent = root.dataset.keys === "off" ? "Single keys: off" : "Single keys: on";
}
if (button) {
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    if (root.dataset.keys === "off") delete root.dataset.keys;
    else root.dataset.keys = "off";
    sessionStorage.setItem("keys", root.dataset.keys ?? "on");
    show();
  });
}

document.addEventListener("keydown", (event) => {
  if (root.dataset.keys === "off" || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});
