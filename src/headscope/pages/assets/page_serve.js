// The live page of `headscope serve`: type a text, choose a model, look.

import { element, visible } from "./dom.js";
import { mountViewer, viewerFacts } from "./viewer.js";

const { models, max_tokens: mostTokens } = JSON.parse(document.getElementById("hs-data").textContent);
const text = document.getElementById("hs-text");
const model = document.getElementById("hs-model");
const ask = document.getElementById("hs-ask");
const bar = document.getElementById("hs-progress");
const answerPlace = document.getElementById("hs-answer");
const EXAMPLE = "The cat sat on the mat. The dog saw the cat, and the cat ran away! Nobody knew why.";
const EMPTY = "the text is empty; type at least two words";
const ASK_AGAIN_MS = 400;

let shown = null; // the question that the page answers
text.value = EXAMPLE;
document.getElementById("hs-question").addEventListener("submit", (event) => {
  event.preventDefault();
  look();
});
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) look();
});
text.addEventListener("input", compareWithShown);
model.addEventListener("change", compareWithShown);
look();

function question() {
  return { model: models[model.selectedIndex], text: text.value };
}

/** What is below is dimmed while it belongs to another text or model. */
function compareWithShown() {
  if (ask.disabled) return;
  const { model: name, text: words } = question();
  const stale = shown !== null && (shown.model !== name || shown.text !== words);
  answerPlace.classList.toggle("stale", stale);
  if (stale) tell("changed: press Look, or Ctrl+Enter");
  else tell("");
}

async function look() {
  if (ask.disabled) return;
  const asked = question();
  if (asked.text.trim() === "") {
    answerPlace.classList.toggle("stale", shown !== null);
    tell(EMPTY, "error");
    text.focus();
    return;
  }
  ask.disabled = true;
  bar.hidden = false;
  answerPlace.classList.toggle("stale", shown !== null);
  const waiting = followProgress();
  try {
    const answer = await fetch("/look", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(asked),
    });
    const failed = { error: `the server failed (${answer.status}); its terminal says why` };
    const data = await answer.json().catch(() => failed);
    if (!answer.ok) throw new Error(data.error);
    show(data);
    shown = asked;
    ask.disabled = false;
    tell("");
    compareWithShown(); // the text may have been changed meanwhile
  } catch (error) {
    tell(error.message, "error");
  } finally {
    waiting.stop();
    ask.disabled = false;
    bar.hidden = true;
  }
}

function show(data) {
  document.getElementById("hs-facts").textContent = viewerFacts(data);
  showCut(data);
  // A new viewer for each text: event listeners of the old one go with it.
  const place = document.createElement("div");
  place.id = "hs-viewer";
  document.getElementById("hs-viewer").replaceWith(place);
  mountViewer(place, data, { address: true });
  showSentences(data.split);
}

/** Say what the server is doing, and for how long, until it has answered. */
function followProgress() {
  const started = performance.now();
  let timer = null;
  const again = async () => {
    const doing = await fetch("/progress").then((answer) => answer.json()).catch(() => ({ what: "nothing" }));
    if (timer === null) return; // answered meanwhile
    const seconds = Math.round((performance.now() - started) / 1000);
    const words = { loading: `loading ${visible(doing.model).replaceAll("␣", " ")}`, reading: "reading the text", nothing: "waiting" };
    tell(`${words[doing.what]} … ${seconds} s`);
    timer = setTimeout(again, ASK_AGAIN_MS);
  };
  tell("reading the text …");
  timer = setTimeout(again, ASK_AGAIN_MS);
  return {
    stop() {
      clearTimeout(timer);
      timer = null;
    },
  };
}

function showCut({ whole_tokens: whole, stacks: [{ tokens }] }) {
  const place = document.getElementById("hs-cut");
  place.hidden = whole <= tokens.length;
  const limit = tokens.length < mostTokens ? "the most that this model takes" : "serve --max-tokens sets the limit";
  place.textContent = `The text was cut: it has ${whole} tokens, and the first ${tokens.length} are shown (${limit}).`;
}

function showSentences({ by, texts }) {
  const lines = texts.map((sentence) => {
    const words = visible(sentence.trim()).replaceAll("␣", " ");
    return element("li", {}, element("bdi", {}, words));
  });
  const title = `Sentences, found by ${by === "heads" ? "the heads" : "rules"}`;
  document
    .getElementById("hs-sentences")
    .replaceChildren(element("h2", {}, title), element("ol", {}, ...lines));
}

function tell(message, kind = "") {
  const place = document.getElementById("hs-status");
  place.textContent = message;
  place.dataset.kind = kind;
}
