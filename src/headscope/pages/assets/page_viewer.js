// The page of `headscope look`: the data is in the page itself.

import { mountViewer, viewerFacts } from "./viewer.js";

const data = JSON.parse(document.getElementById("hs-data").textContent);
document.getElementById("hs-facts").textContent = viewerFacts(data);
mountViewer(document.getElementById("hs-viewer"), data, { address: true });
