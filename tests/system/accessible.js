// SPDX-License-Identifier: BSD-3-Clause
// Runs in the page of a test. Returns the texts whose colours are too much alike (WCAG 2.1, 1.4.3), the controls and
// pictures without a name, and what is wider than the page.

function rgb(colour) {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return {r, g, b, a};
}

const over = (top, below) => ({r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a),
                               b: top.b * top.a + below.b * (1 - top.a), a: 1});

function luminance({r, g, b}) {
    const part = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}

function ratio(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}

// The colour behind an element: of the boxes around it; in a drawing, of the rectangle that it lies in.
function behind(element) {
    const box = element instanceof SVGElement && element.parentNode.tagName === "g" && element.parentNode.querySelector(":scope > rect");
    const layers = box ? [rgb(getComputedStyle(box).fill)] : [];
    for (let at = element; at; at = at.parentElement)
        layers.push(rgb(getComputedStyle(at).backgroundColor));
    layers.push({r: 255, g: 255, b: 255, a: 1});
    const solid = layers.findIndex((layer) => layer.a === 1);
    return layers.slice(0, solid).reduceRight((below, top) => over(top, below), layers[solid]);
}

const found = [];
for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
    if (!own || !element.checkVisibility({opacityProperty: true, visibilityProperty: true}) || element.closest("noscript, select"))
        continue;
    const style = getComputedStyle(element);
    const colour = rgb(element instanceof SVGElement ? style.fill : style.color);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const is = ratio(over(colour, behind(element)), behind(element));
    if (is < (large ? 3 : 4.5))
        found.push(`contrast ${is.toFixed(2)} of \`${element.textContent.trim().slice(0, 40)}\` (${element.tagName} ${element.getAttribute("class")})`);
}
for (const element of document.querySelectorAll("input, select, button, [role=img], table, section, nav")) {
    if (!element.checkVisibility())
        continue;
    const named = element.getAttribute("aria-label") || element.getAttribute("aria-labelledby") || element.closest("[aria-hidden=true]") ||
        element.labels?.length || (element.tagName === "BUTTON" && element.textContent.trim()) || element.caption;
    if (!named)
        found.push(`no name for ${element.tagName} #${element.id}`);
}
if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
    found.push(`the page is ${document.documentElement.scrollWidth} wide, and the window ${document.documentElement.clientWidth}: ` +
        [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > document.documentElement.clientWidth)
            .slice(0, 5).map((element) => `${element.tagName} ${element.id} ${element.getAttribute("class")}`).join(", "));
if (document.querySelectorAll("h1").length !== 1 || document.querySelectorAll("main").length !== 1 || document.documentElement.lang === "")
    found.push("not one h1, one main and a language");
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
for (const id of ids)
    if (ids.indexOf(id) !== ids.lastIndexOf(id))
        found.push(`two elements are called ${id}`);
return found;
