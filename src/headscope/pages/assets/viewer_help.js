// What the viewer says about itself: one sentence on what is shown, and how to read the page.

import { element } from "./dom.js";

const LEADS = {
  attention:
    "Each small map is one attention head: how much every token (row) attends to every other token (column). Choose a head to see it large.",
  similarity:
    "Each small map is one attention head: how similar the vectors are that it writes for every two tokens. The most similar pairs are what the head binds together, drawn as arcs over the text.",
};

const HELP = {
  "head": "One of the parallel readers in a layer. It mixes the tokens it attends to into one vector per token. Layers go downwards, heads to the right; both count from 1.",
  "similarity": "The dot product of the vectors that a head writes for two tokens (raw), after taking away their mean (centred), or by their angle alone (cosine). The diagonal is left out.",
  "attention": "The weights with which a head reads: each row adds up to 1. Colours follow the square root, so that small weights can be seen.",
  "pairs": "The most similar share of all pairs of tokens (1 % unless changed), or those that reach a share of the largest similarity. Special tokens such as [CLS] form none.",
  "focal token": "The token that occurs in most of a head's pairs.",
  "high attention": "A token that gets at least this share of the attention that the most attended token gets; it is underlined in the text, and marked along the edges of the matrix.",
  "role": "What the pairs or the attention of a head are mostly about, on this one text. A run over many texts, headscope analyze, says whether that is its habit.",
  "colours": "Dark blue to yellow from low to high; where values have both signs, blue below zero and red above. Small maps and large matrix of a head have the same scale.",
  "keys": "Arrow keys move in the grid and in the text. A double click zooms into the matrix, with Shift out. The address of this page keeps all that you set.",
};

/** The sentence on what is shown. */
export function leadOf(shown) {
  return shown === "attention" ? LEADS.attention : LEADS.similarity;
}

/** A panel that opens: the words of the page, and what is rounded. */
export function helpPanel({ rule, compact }) {
  const words = Object.entries(HELP).flatMap(([term, meaning]) => [element("dt", {}, term), element("dd", {}, meaning)]);
  const rounded = compact
    ? [
        element("dt", {}, "rounding"),
        element(
          "dd",
          {},
          `This text is long, so that numbers are rounded to keep the page small: attention to 16 steps, similarities to less than a fifth of their spread. The pairs at ${rule} are exact; at other thresholds a few may differ from those of the library.`,
        ),
      ]
    : [];
  return element("details", { class: "help" }, element("summary", {}, "How to read this page"), element("dl", {}, ...words, ...rounded));
}
