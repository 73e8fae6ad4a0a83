// Finding a head: by its role on this text, or in the order of a measure.

import { element } from "./dom.js";

const EVERY = "";

/** Two choices above the grid. `onFind` gets `{role, sort, rising}`; `role` and `sort` may be empty. */
export class HeadFinder {
  constructor(store, onFind) {
    this.store = store;
    const counts = new Map();
    for (const fact of store.facts.values()) counts.set(fact.role, (counts.get(fact.role) ?? 0) + 1);
    this.role = element(
      "select",
      { class: "find-role", "aria-label": "heads of a role" },
      element("option", { value: EVERY }, `every role (${store.facts.size})`),
      ...store.roles.map(({ name, words, meaning }) =>
        element("option", { value: name, title: meaning }, `${words} (${counts.get(name)})`),
      ),
    );
    this.sort = element(
      "select",
      { class: "find-sort", "aria-label": "order of the heads" },
      element("option", { value: EVERY }, "by layer"),
      ...store.measures.map(({ name, title, definition }) =>
        element("option", { value: name, title: definition }, `by ${title}`),
      ),
    );
    this.rising = element("button", { type: "button", class: "find-rising", title: "turn the order round" }, "↓");
    this.said = element("output", { class: "soft" });
    const find = () => onFind(this.wanted);
    this.role.addEventListener("change", find);
    this.sort.addEventListener("change", find);
    this.rising.addEventListener("click", () => {
      this.rising.textContent = this.rising.textContent === "↓" ? "↑" : "↓";
      find();
    });
    this.root = element(
      "p",
      { class: "finder" },
      element("label", { title: "The role of each head on this text; other texts may give it another." }, "heads: ", this.role),
      element("label", { title: "The heads in the order of a measure, instead of layer by layer." }, "order: ", this.sort),
      this.rising,
      this.said,
    );
    this.say(store.facts.size);
  }

  get wanted() {
    return { role: this.role.value, sort: this.sort.value, rising: this.rising.textContent === "↑" };
  }

  /** The facts of the heads that are wanted, in the order that is wanted. */
  found() {
    const { role, sort, rising } = this.wanted;
    const facts = [...this.store.facts.values()].filter((fact) => role === EVERY || fact.role === role);
    this.say(facts.length);
    if (sort === EVERY) return facts;
    const at = this.store.measures.findIndex(({ name }) => name === sort);
    const value = (fact) => fact.values[at][0];
    const sign = rising ? 1 : -1;
    // Heads without a number come last, whatever the order.
    return facts.sort((one, other) => {
      if (value(one) === null || value(other) === null) return (value(one) === null) - (value(other) === null);
      return sign * (value(one) - value(other));
    });
  }

  say(many) {
    const all = this.store.facts.size;
    this.said.textContent = many === all ? "" : `${many} of ${all} heads`;
    this.rising.hidden = this.sort.value === EVERY;
  }
}
