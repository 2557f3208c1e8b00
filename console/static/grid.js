// Arrow keys in the grid of cards, and j, k, arrows and a in tables of rows: the focus moves from one link to the next.
const isTyping = (event) => event.target.closest?.("input, select, textarea, [contenteditable], [role=textbox]");
const hasModifier = (event) => event.ctrlKey || event.metaKey || event.altKey;
const areKeysOff = () => document.documentElement.dataset.keys === "off";

function columns(links) {
  const top = links[0].closest("li").offsetTop;
  const count = links.findIndex((link) => link.closest("li").offsetTop > top);
  return count < 0 ? links.length : count;
}

function move(event, links, steps) {
  const current = links.indexOf(document.activeElement);
  const next = current < 0 ? (event.key === "k" ? -1 : 0) : current + steps;
  if (!links[next]) return;
  event.preventDefault();
  links[next].focus();
  links[next].scrollIntoView({ block: "nearest" });
}

function inGrid(event, grid) {
  const links = [...grid.querySelectorAll("h3 a")];
  if (!links.includes(document.activeElement)) return;
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns(links), ArrowUp: -columns(links) }[event.key];
  if (steps) move(event, links, steps);
  if (event.key === "Home") move(event, links, -links.indexOf(document.activeElement));
  if (event.key === "End") move(event, links, links.length - 1 - links.indexOf(document.activeElement));
}

function inRows(event, rows) {
  const links = [...rows.querySelectorAll("tr > th .name a")];
  const isThere = links.includes(document.activeElement);
  const steps = { j: 1, k: -1, ArrowDown: isThere ? 1 : 0, ArrowUp: isThere ? -1 : 0 }[event.key];
  if (steps) move(event, links, steps);
  if (event.key === "a" && isThere) document.activeElement.closest("tr").querySelector("a[data-approve]")?.click();
}

function inGraph(event, graph) {
  const links = [...graph.querySelectorAll("li > a")];
  if (!links.includes(document.activeElement)) return;
  if (event.key === "ArrowDown") move(event, links, 1);
  if (event.key === "ArrowUp") move(event, links, -1);
  if (event.key === "Home") move(event, links, -links.indexOf(document.activeElement));
  if (event.key === "End") move(event, links, links.length - 1 - links.indexOf(document.activeElement));
}

document.addEventListener("keydown", (event) => {
  if (isTyping(event) || hasModifier(event)) return;
  const isLetter = event.key.length === 1;
  if (isLetter && areKeysOff()) return;
  const grid = document.querySelector("[data-grid]");
  const rows = document.querySelector("[data-rows]");
  const graph = document.activeElement?.closest(".graph");
  if (grid) inGrid(event, grid);
  if (rows) inRows(event, rows);
  if (graph) inGraph(event, graph);
});
