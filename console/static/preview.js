// Keeps a preview true: the form is sent again when its fields change, when the cluster does, and while the preview is being made.
// Only the parts that data-morph names are replaced. Nothing is written: the server reads what it is asked.
import { morphFrom } from "./morph.js";

const TYPING = 500;
let timer = 0;
let again = 0;
let asking = null;
let isSent = false;

function stop() {
  clearTimeout(timer);
  clearTimeout(again);
  asking?.abort();
}

async function ask(form) {
  if (isSent) return;
  stop();
  const mine = new AbortController();
  asking = mine;
  try {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.dataset.review, { method: "POST", body, redirect: "manual", signal: mine.signal });
    if (answer.ok && !mine.signal.aborted) morphFrom(await answer.text(), form.dataset.morph.split(" "));
  } catch {
    // The cluster or the network is away: the banner says so, and the next change asks again.
  }
  if (asking === mine) plan();
}

function plan() {
  clearTimeout(again);
  const form = document.querySelector("form[data-review]");
  const waits = document.querySelector("[data-again]");
  if (form && waits) again = setTimeout(() => (document.hidden ? plan() : ask(form)), Number(waits.dataset.again));
}

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form?.matches("form[data-review][data-typed]")) return;
  clearTimeout(timer);
  timer = setTimeout(() => ask(form), TYPING);
});
document.addEventListener("cluster-changed", () => {
  const form = document.querySelector("form[data-review]");
  if (form) ask(form);
});
// What is sent changes the cluster, and the page of what was asked for replaces this one.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !event.target.matches("form[data-review]")) return;
  isSent = true;
  stop();
});
addEventListener("pageshow", () => (isSent = false));
plan();
