// What is being shown, as one value that fits into an address.

import { parseRule, ruleText } from "./pair_rules.js";

export const SHOWN = ["attention", "raw", "centred", "cosine"];

/** The state a view starts with: its own settings, and the most striking head. */
export function initialState(data) {
  const stack = data.stacks[0];
  const [opens] = stack.heads?.opens ?? [];
  const middle = stack.layers[Math.floor((stack.layers.length - 1) / 2)].layer;
  return {
    stack: stack.name,
    A: opens ? { layer: opens.layer, head: opens.head } : { layer: middle, head: 1 },
    B: null,
    shown: data.settings.similarity,
    variant: data.settings.similarity,
    rule: parseRule(data.settings.pairs),
    mask: data.settings.attention_threshold,
  };
}

/** The state as the part of an address after the #. */
export function toFragment(state) {
  const values = {
    stack: state.stack,
    head: place(state.A),
    ...(state.B ? { with: place(state.B) } : {}),
    show: state.shown,
    ...(state.shown === "attention" ? { similarity: state.variant } : {}),
    pairs: ruleText(state.rule),
    mask: state.mask,
  };
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** The state, changed by what a fragment says; invalid parts are ignored. */
export function fromFragment(fragment, state, data) {
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const next = { ...state };
  const stack = data.stacks.find(({ name }) => name === values.get("stack"));
  if (stack) next.stack = stack.name;
  const layers = (stack ?? data.stacks.find(({ name }) => name === state.stack)).layers;
  const head = (text) => {
    const [layer, number] = (text ?? "").split(".").map(Number);
    const found = layers.find((candidate) => candidate.layer === layer);
    return found && number >= 1 && number <= found.heads ? { layer, head: number } : null;
  };
  next.A = head(values.get("head")) ?? state.A;
  if (values.has("head")) next.B = head(values.get("with"));
  if (SHOWN.includes(values.get("show"))) next.shown = values.get("show");
  const variant = next.shown === "attention" ? values.get("similarity") : next.shown;
  if (SHOWN.includes(variant) && variant !== "attention") next.variant = variant;
  next.rule = parseRule(values.get("pairs")) ?? state.rule;
  const mask = Number(values.get("mask"));
  if (mask > 0 && mask <= 1) next.mask = mask;
  return next;
}

function place({ layer, head }) {
  return `${layer}.${head}`;
}
