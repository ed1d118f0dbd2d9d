"use strict";

// Read the document: its JSON, with each column as an array of 32-bit numbers.
async function readDocument() {
  const text = atob(document.getElementById("data").textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const size = new DataView(buffer).getUint32(0, true);
  const found = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  let at = 4 + size;
  const columns = {};
  for (const [name, count, rises] of found.columns) {
    const column = (columns[name] = new Uint32Array(buffer, at, count));
    at += 4 * count;
    // Of those that rise the differences are stored.
    if (rises) for (let row = 1; row < count; row++) column[row] += column[row - 1];
  }
  found.columns = columns;
  return found;
}

// How many of the first elements of a sorted array are at most a value.
function countUpTo(array, value) {
  let low = 0;
  let high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Make an element.  Children are elements or texts: what comes from files is never markup.
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function numberText(value) {
  return value.toLocaleString("en-US");
}

function percentText(part, all) {
  return (all ? (100 * part) / all : 0).toFixed(1) + " %";
}
