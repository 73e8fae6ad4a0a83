// A matrix as an image: one pixel per cell, scaled up without smoothing.

import { ABSENT, colourScale } from "./colours.js";

/** An off-screen canvas with the matrix, and the scale it was coloured by. */
export function matrixImage(values, rows, columns, { low, high, blankDiagonal = false, root = false }) {
  const scale = colourScale(low, high);
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const factor = 255 / (scale.high - scale.low);
  const rootFactor = 255 / Math.sqrt(scale.high - scale.low || 1);
  for (let at = 0; at < pixels.length; at++) {
    const value = values[at];
    const above = value - scale.low;
    // NaN fails every comparison and gets the colour of absent cells.
    const step = root ? Math.sqrt(Math.max(above, 0)) * rootFactor : above * factor;
    pixels[at] = step >= 0 ? scale.pixels[step > 255 ? 255 : step | 0] : step < 0 ? scale.pixels[0] : ABSENT;
  }
  if (blankDiagonal) for (let at = 0; at < pixels.length; at += columns + 1) pixels[at] = ABSENT;
  context.putImageData(image, 0, 0);
  return { canvas, scale };
}
