// Small maps of heads, packed as steps between a low and a high end (see packed_arrays.py).

import { inflate } from "./bytes.js";
import { ABSENT, colourScale } from "./colours.js";

const STEPS = 254;

/** The maps, unpacked so that they can be drawn. */
export async function unpackMaps(packed) {
  return { ...packed, steps: await inflate(packed.bytes) };
}

/** Draw one of the maps, one pixel per cell; returns its colour scale. */
export function drawMap(canvas, maps, index) {
  const { rows, columns } = maps;
  const low = maps.low[index];
  const high = maps.high[index];
  const scale = colourScale(low, high);
  const colours = new Uint32Array(256).fill(ABSENT);
  for (let step = 0; step <= STEPS; step++) {
    const value = low + (step / STEPS) * (high - low);
    const place = Math.round((255 * (value - scale.low)) / (scale.high - scale.low));
    colours[step] = scale.pixels[Math.max(0, Math.min(255, place))];
  }
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  if (maps.symmetric) {
    let at = (index * rows * (rows + 1)) / 2;
    for (let i = 0; i < rows; i++)
      for (let j = i; j < rows; j++) pixels[i * rows + j] = pixels[j * rows + i] = colours[maps.steps[at++]];
  } else {
    const start = index * rows * columns;
    for (let at = 0; at < rows * columns; at++) pixels[at] = colours[maps.steps[start + at]];
  }
  context.putImageData(image, 0, 0);
  return scale;
}
