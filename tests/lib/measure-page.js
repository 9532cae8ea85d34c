// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// Put into a page of cgx-report by tests/unit/tools/report_page.test, which shows it in a frame: leaves a
// line for all that is wrong with how the page is drawn in <pre id="wrong"> of the page around it,
// and what was measured in <pre id="measured">.
"use strict";

const wrong = [];

function isShown(element) {
  return element.getClientRects().length > 0;
}

function rectangle(element) {
  return element.getBoundingClientRect();
}

function isWithin(inner, outer) {
  return inner.left >= outer.left - 1 && inner.right <= outer.right + 1 &&
    inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
}

function overlap(a, b) {
  return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
}

function lookAtPlot(figure) {
  const shown = [...figure.querySelectorAll("svg")].filter(isShown);
  if (shown.length !== 1)
    wrong.push(`${figure.id}: ${shown.length} drawings are shown`);
  for (const svg of shown) {
    const frame = rectangle(svg);
    const shapes = [...svg.querySelectorAll("rect, circle, path")];
    const drawn = shapes.filter(shape => rectangle(shape).width > 0 && rectangle(shape).height > 0);
    if (frame.width < 250 || frame.height < 30 || drawn.length === 0)
      wrong.push(`${figure.id}: is not drawn`);
    for (const shape of drawn)
      if (!isWithin(rectangle(shape), frame))
        wrong.push(`${figure.id}: a ${shape.tagName} of ${shape.getAttribute("class")} is cut off`);
    lookAtTexts(figure.id, [...svg.querySelectorAll("text")], frame);
  }
}

function lookAtTexts(name, texts, frame) {
  for (const text of texts) {
    if (!isWithin(rectangle(text), frame))
      wrong.push(`${name}: "${text.textContent}" is cut off`);
    if (12 * text.getScreenCTM().a < 10)
      wrong.push(`${name}: "${text.textContent}" is too small`);
  }
  for (let i = 0; i < texts.length; i++)
    for (let j = i + 1; j < texts.length; j++)
      if (overlap(rectangle(texts[i]), rectangle(texts[j])))
        wrong.push(`${name}: "${texts[i].textContent}" is over "${texts[j].textContent}"`);
}

// Of text against the page, as WCAG 2 has it.
function luminance(colour) {
  const parts = colour.match(/[\d.]+/g).slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

function contrast(a, b) {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function lookAtColours(ground) {
  for (const text of document.querySelectorAll("svg text:not([class^='on-']), p, dt, dd, li, h2"))
    if (isShown(text)) {
      const style = getComputedStyle(text);
      const colour = text instanceof SVGElement ? style.fill : style.color;
      if (contrast(colour, ground) < 4.5)
        wrong.push(`"${text.textContent.slice(0, 30)}" is hard to read`);
    }
}

function look() {
  const ground = getComputedStyle(document.body).backgroundColor;
  const figures = [...document.querySelectorAll("figure")];
  figures.forEach(lookAtPlot);
  lookAtColours(ground);
  if (document.documentElement.scrollWidth > innerWidth)
    wrong.push(`the page is ${document.documentElement.scrollWidth} wide in ${innerWidth}`);
  for (const element of document.querySelectorAll("body *"))
    if (isShown(element) && !element.closest(".scroll, svg") &&
        rectangle(element).right > innerWidth + 1)
      wrong.push(`a ${element.tagName} leaves the page`);
  const measured = {width: innerWidth, dark: luminance(ground) < 0.2,
    plots: figures.map(figure => figure.id)};
  for (const [id, text] of [["wrong", wrong.join("\n")], ["measured", JSON.stringify(measured)]]) {
    const element = parent.document.createElement("pre");
    element.id = id;
    element.textContent = text;
    parent.document.body.append(element);
  }
}

look();
