// The controls of a view: what is shown, the thresholds, one head or two, zoom.

import { element } from "./dom.js";
import { ruleText, ruleValues } from "./pair_rules.js";
import { SHOWN } from "./viewer_state.js";

const LABELS = { attention: "attention", raw: "raw similarity", centred: "centred", cosine: "cosine" };
const MEANINGS = {
  attention: "How much each token attends to each other token.",
  raw: "Dot products of the vectors that a head writes; long vectors count more.",
  centred: "The same after taking away the mean vector of the text, which all tokens share.",
  cosine: "The angle between two vectors; their lengths do not count.",
};
const START = { top: 0.01, max: 0.5 };
let groups = 0;

/** The form. `onChange` gets changes of the state, `onCompare` on or off, `onZoom` a direction. */
export class ViewerControls {
  constructor(stacks, { onChange, onCompare, onZoom }) {
    this.onChange = onChange;
    this.shown = this.makeRadios();
    this.stack = element(
      "select",
      { onchange: (event) => onChange({ stack: event.target.value }) },
      ...stacks.map((name) => element("option", { value: name }, name)),
    );
    this.kind = element(
      "select",
      { class: "rule-kind", onchange: ({ target }) => onChange({ rule: { kind: target.value, value: START[target.value] } }) },
      element("option", { value: "top" }, "the most similar share"),
      element("option", { value: "max" }, "at least a share of the largest"),
    );
    this.rule = slider("rule-value", "pair threshold", { min: 0, step: 1 }, (step) =>
      onChange({ rule: { kind: this.kind.value, value: this.ruleSteps[step] } }),
    );
    this.mask = slider("mask-value", "attention threshold", { min: 0.01, max: 1, step: 0.01 }, (mask) => onChange({ mask }));
    this.compare = element("input", { type: "checkbox", onchange: ({ target }) => onCompare(target.checked) });
    this.ruleSaid = element("output");
    this.maskSaid = element("output");
    this.root = element(
      "form",
      { class: "controls", onsubmit: (event) => event.preventDefault() },
      stacks.length > 1 ? element("label", {}, "stack ", this.stack) : null,
      this.makeSegments(),
      element(
        "label",
        { class: "slider", title: "Which pairs of tokens count as highly similar; the same as --pairs." },
        element("span", {}, "pairs: ", this.kind),
        this.rule,
        this.ruleSaid,
      ),
      element(
        "label",
        { class: "slider", title: "Tokens that get at least this share of the attention that the most attended one gets." },
        element("span", {}, "high attention: at least"),
        this.mask,
        this.maskSaid,
      ),
      element("label", { title: "A second head beside the first; the grid then sets the one whose name is framed." }, this.compare, " compare two heads"),
      element(
        "span",
        { class: "zoom", role: "group", "aria-label": "zoom" },
        button("−", "zoom out", () => onZoom("out")),
        button("+", "zoom in", () => onZoom("in")),
        button("◂", "towards the start", () => onZoom("back")),
        button("▸", "towards the end", () => onZoom("on")),
      ),
    );
  }

  makeRadios() {
    groups += 1; // a notebook may have several views
    const radio = (shown) =>
      element("input", { type: "radio", name: `hs-show-${groups}`, value: shown, onchange: () => this.onChange({ shown }) });
    return Object.fromEntries(SHOWN.map((shown) => [shown, radio(shown)]));
  }

  makeSegments() {
    const labels = SHOWN.map((shown) => element("label", { title: MEANINGS[shown] }, this.shown[shown], element("span", {}, LABELS[shown])));
    return element("fieldset", { class: "segments" }, element("legend", {}, "show"), ...labels);
  }

  /** Set every control to a state. */
  show(state) {
    this.shown[state.shown].checked = true;
    this.stack.value = state.stack;
    this.kind.value = state.rule.kind;
    this.ruleSteps = ruleValues(state.rule.kind, state.rule.value);
    this.rule.max = String(this.ruleSteps.length - 1);
    this.rule.value = String(this.ruleSteps.indexOf(state.rule.value));
    this.rule.setAttribute("aria-valuetext", ruleText(state.rule));
    this.mask.value = String(state.mask);
    this.compare.checked = state.B !== null;
    this.ruleSaid.textContent = `${Number((100 * state.rule.value).toPrecision(4))} % (${ruleText(state.rule)})`;
    this.maskSaid.textContent = state.mask.toFixed(2);
  }
}

function slider(name, label, range, onInput) {
  const oninput = ({ target }) => onInput(Number(target.value));
  return element("input", { type: "range", class: name, "aria-label": label, ...range, oninput });
}

function button(label, title, onclick) {
  return element("button", { type: "button", title, "aria-label": title, onclick }, label);
}
