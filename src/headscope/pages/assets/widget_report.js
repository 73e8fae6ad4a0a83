// The report of a run inside a notebook: the page itself, in a frame of its own.

import { element } from "./dom.js";

export const widget = {
  render({ model, el }) {
    const frame = element("iframe", { class: "report-frame", title: "report", sandbox: "allow-scripts" });
    frame.srcdoc = model.get("data");
    el.classList.add("hs");
    el.append(frame);
  },
};
