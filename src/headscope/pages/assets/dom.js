// Making elements: text is always inserted as text, never as HTML.

/** An element with properties (`class`, `aria-label`, `onclick`, ...) and children: nodes or text. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Control characters, soft hyphens, zero-width characters, direction overrides, byte order marks, tags.
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]|[\u{e0000}-\u{e007f}]/gu;

/** A token for people: characters that are invisible, or would reverse the line, are spelled out. */
export function visible(token) {
  const named = token.replace(UNSEEN, (sign) => {
    if (sign === "\n") return "↵";
    if (sign === "\t") return "⇥";
    return `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
  return named.replaceAll(" ", "␣") || "∅";
}

/** A token as an element whose writing direction does not affect its neighbours. */
export function tokenElement(token, properties = {}) {
  return element("bdi", { class: "token", ...properties }, visible(token));
}

/** A canvas that is sharp on this screen, with its context scaled to CSS pixels. */
export function sizeCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.max(1, Math.round(width * ratio));
  const high = Math.max(1, Math.round(height * ratio));
  // Setting a size clears a canvas and costs time, even when it is the same.
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** The value of a CSS variable of the page's theme. */
export function themed(node, name) {
  return getComputedStyle(node).getPropertyValue(name).trim();
}

/** A number for people: three significant digits. */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return value.toFixed(0);
  return size < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}
