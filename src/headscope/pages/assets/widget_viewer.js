// The view of one text inside a notebook.

import { element } from "./dom.js";
import { mountViewer, viewerFacts } from "./viewer.js";

export const widget = {
  render({ model, el }) {
    const data = model.get("data");
    const place = element("div");
    el.classList.add("hs");
    el.append(element("p", { class: "soft" }, viewerFacts(data)), place);
    mountViewer(place, data);
  },
};
