// Follows the cluster: the server sends the parts of the page that changed, and each is morphed into its place in one frame.
import { say } from "./frame.js";
import { morphParts } from "./morph.js";

const FIRST_DELAY = 2000;
const LONGEST_DELAY = 30000;
const CUT_AFTER = 5000;
const mark = document.getElementById("live");
const banner = document.getElementById("cut");
// One stands in the header, one in the menu of narrow screens.
const pauseButtons = document.querySelectorAll("[data-pause]");
// A page that only follows another one is told that this has changed.
const isSignal = "signal" in mark.dataset;
let state = isSignal ? "" : mark.dataset.state;
let source = null;
let delay = FIRST_DELAY;
let timer = 0;
let cutTimer = 0;
let paused = false;
let lastLive = new Date();

function show(isLive) {
  mark.hidden = false;
  mark.classList.toggle("cut", !isLive);
  const text = paused ? "Paused" : isLive ? "Live" : "Not live";
  if (mark.firstElementChild.textContent !== text) mark.firstElementChild.textContent = text;
}

function alive() {
  clearTimeout(cutTimer);
  cutTimer = 0;
  delay = FIRST_DELAY;
  lastLive = new Date();
  banner.hidden = true;
  delete document.body.dataset.cut;
  show(true);
}

function cut() {
  const time = lastLive.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  banner.querySelector("p").textContent = `Not live since ${time}. What you see is as old. Writing works again when the cluster answers.`;
  banner.hidden = false;
  document.body.dataset.cut = "";
  show(false);
}

function expectCut() {
  if (!cutTimer) cutTimer = setTimeout(cut, CUT_AFTER);
}

function close() {
  source?.close();
  source = null;
  clearTimeout(timer);
}

function open() {
  if (source || paused || document.hidden) return;
  source = new EventSource(`/live?${new URLSearchParams({ page: mark.dataset.page, seen: state })}`);
  const on = (name, react) => source.addEventListener(name, (event) => react(JSON.parse(event.data)));
  on("hello", alive);
  on("live", alive);
  on("cut", cut);
  on("parts", (message) => {
    const isFirst = state === "";
    state = message.state;
    alive();
    if (!isSignal) morphParts(message.parts);
    else if (!isFirst) document.dispatchEvent(new Event("cluster-changed"));
  });
  on("login", () => location.assign(`/login?${new URLSearchParams({ back: location.pathname + location.search })}`));
  on("reload", () => {
    close();
    location.reload();
  });
  source.onerror = () => {
    close();
    expectCut();
    timer = setTimeout(open, delay);
    delay = Math.min(delay * 2, LONGEST_DELAY);
  };
}

function pause() {
  paused = !paused;
  for (const each of pauseButtons) {
    each.setAttribute("aria-pressed", String(paused));
    each.textContent = paused ? "Resume updates" : "Pause updates";
  }
  show(!paused);
  if (paused) close();
  else open();
}
for (const each of pauseButtons) {
  each.hidden = false;
  each.addEventListener("click", pause);
}

document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
addEventListener("pageshow", open);
document.addEventListener("submit", (event) => {
  if (document.body.dataset.cut === undefined || event.target.method !== "post") return;
  event.preventDefault();
  say("The cluster does not answer. Nothing was sent.");
});
open();
