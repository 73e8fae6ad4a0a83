// Colours for numbers, safe for any colour vision: the colour maps of the figures (cividis and
// RdBu), interpolated linearly between stops.

const CIVIDIS =
  "00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 fee838";
const RED_BLUE = "053061 2065ab 4393c3 90c4dd d1e5f0 f7f6f6 fddbc7 f3a481 d6604d b1182b 67001f";

/** 256 colours as 32-bit pixels, low to high. */
export const SEQUENTIAL = table(CIVIDIS);
/** 256 colours for numbers with a sign: blue below zero, white at zero, red above. */
export const DIVERGING = table(RED_BLUE);
/** Cells without a number. */
export const ABSENT = pixel(150, 150, 150);

/** Within one sentence, and across sentences. */
export const PAIR_COLOURS = { within: "#0072B2", across: "#D55E00" };

function table(stops) {
  const colours = stops.split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const pixels = new Uint32Array(256);
  for (let step = 0; step < 256; step++) {
    const place = (step / 255) * (colours.length - 1);
    const left = Math.min(Math.floor(place), colours.length - 2);
    const mixed = colours[left].map((value, k) => value + (place - left) * (colours[left + 1][k] - value));
    pixels[step] = pixel(...mixed.map(Math.round));
  }
  return pixels;
}

function pixel(red, green, blue) {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Which number has which colour; `signed` scales are white at zero. */
export function colourScale(low, high) {
  const signed = low < -0.1 * high;
  const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
  if (signed) return { signed, low: -reach, high: reach, pixels: DIVERGING };
  return { signed, low, high: high > low ? high : low + 1, pixels: SEQUENTIAL };
}

/** The CSS gradient of a colour map, for legends. */
export function gradient(pixels) {
  const stops = [0, 32, 64, 96, 128, 160, 192, 224, 255].map((step) => {
    const value = pixels[step];
    return `rgb(${value & 255} ${(value >> 8) & 255} ${(value >> 16) & 255})`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
