// The live page of `headscope serve`: type a text, choose a model, look.

import { element, visible } from "./dom.js";
import { mountViewer, viewerFacts } from "./viewer.js";

const { models } = JSON.parse(document.getElementById("hs-data").textContent);
const text = document.getElementById("hs-text");
const model = document.getElementById("hs-model");
const ask = document.getElementById("hs-ask");
const EXAMPLE = "The cat sat on the mat. The dog saw the cat, and the cat ran away! Nobody knew why.";

text.value = EXAMPLE;
document.getElementById("hs-question").addEventListener("submit", (event) => {
  event.preventDefault();
  look();
});
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) look();
});
look();

async function look() {
  ask.disabled = true;
  tell("reading …");
  try {
    const answer = await fetch("/look", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: models[model.selectedIndex], text: text.value }),
    });
    const failed = { error: `the server failed (${answer.status}); its terminal says why` };
    const data = await answer.json().catch(() => failed);
    if (!answer.ok) throw new Error(data.error);
    document.getElementById("hs-facts").textContent = viewerFacts(data);
    // A new viewer for each text: event listeners of the old one go with it.
    const place = document.createElement("div");
    place.id = "hs-viewer";
    document.getElementById("hs-viewer").replaceWith(place);
    mountViewer(place, data, { address: true });
    showSentences(data.split);
    tell("");
  } catch (error) {
    tell(error.message, "error");
  } finally {
    ask.disabled = false;
  }
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
