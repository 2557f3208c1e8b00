// The version under the pointer or the focus shows what leads to it: the upgrades from what runs are lit, and a line says the rest.
// Without it, the same words are the title of the row, and are read with it.
function edgesOf(graph) {
  return [...graph.querySelectorAll('.g-edge[data-lane="0"]')].map((line) => ({
    line,
    from: Number(line.dataset.from),
    to: Number(line.dataset.to),
    leadsFrom(row) {
      return line.classList.contains("span") ? row > this.to && row <= this.from : row === this.from;
    },
  }));
}

// The shortest way from what runs to a row, as edges; without something that runs, the edges that lead to the row.
function wayTo(row, running, edges) {
  if (running < 0) return edges.filter((edge) => edge.to === row);
  const before = new Map([[running, null]]);
  for (const at of before.keys()) {
    for (const edge of edges) if (edge.leadsFrom(at) && !before.has(edge.to)) before.set(edge.to, { edge, at });
  }
  const found = [];
  for (let step = before.get(row); step; step = before.get(step.at)) found.push(step.edge);
  return found;
}

function show(item) {
  const graph = item.closest(".graph");
  const rows = [...item.parentElement.children];
  for (const lit of graph.querySelectorAll(".lit")) lit.classList.remove("lit");
  const way = wayTo(rows.indexOf(item), rows.findIndex((each) => "run" in each.dataset), edgesOf(graph));
  for (const { line } of way) line.classList.add("lit");
  graph.classList.toggle("is-lit", way.length > 0);
  const detail = graph.parentElement.querySelector(".graph-detail");
  detail.hidden = false;
  detail.textContent = `${item.querySelector("a").textContent}: ${item.title}`;
}

function rest(event) {
  const graph = event.target.closest?.(".graph");
  if (!graph || graph.contains(event.relatedTarget)) return;
  for (const lit of graph.querySelectorAll(".lit")) lit.classList.remove("lit");
  graph.classList.remove("is-lit");
}

for (const [enter, leave] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
  document.addEventListener(enter, (event) => {
    const item = event.target.closest?.(".graph li");
    if (item) show(item);
  });
  document.addEventListener(leave, rest);
}
