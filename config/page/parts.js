// SPDX-License-Identifier: BSD-3-Clause
// Draws the small parts that several views share: signs, bars and sparklines.

import {el, setAttribute, setText, show, svg} from "/page/dom.js";
import {number} from "/page/units.js";

// Each has a shape of its own, so that no colour is needed to tell them apart.
export const SIGNS = {ok: "✔", note: "●", past: "▲", warn: "⚠", bad: "✖", wait: "…", off: "■"};

// Fills a cell with a sign and words.
export function signed(cell, kind, words) {
    if (cell.firstChild === null)
        cell.append(el("span", {class: "sign", "aria-hidden": "true"}), el("span"));
    setAttribute(cell.firstChild, "class", `sign ${kind}`);
    setText(cell.firstChild, SIGNS[kind]);
    setText(cell.lastChild, words);
}

// Fills a cell with words and a bar of `share` of its width; `mark`, another share, is a line across it.
export function bar(cell, share, words, {mark = null, kind = "plain"} = {}) {
    let picture = cell.querySelector("svg");
    if (picture === null) {
        picture = svg("svg", {class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true"},
                      svg("rect", {class: "empty", width: 100, height: 8}), svg("rect", {class: "full", height: 8}),
                      svg("line", {class: "mark", y1: 0, y2: 8}));
        cell.append(el("span", {class: "words"}), picture);
    }
    setText(cell.querySelector(".words"), words);
    const width = Math.min(Math.max(number(share), 0), 1) * 100;
    const full = picture.querySelector(".full");
    setAttribute(full, "width", width > 0 ? Math.max(width, 1).toFixed(1) : 0);
    setAttribute(full, "class", `full ${kind}`);
    const line = picture.querySelector(".mark");
    setAttribute(line, "visibility", mark === null ? "hidden" : "visible");
    if (mark !== null) {
        setAttribute(line, "x1", (Math.min(mark, 1) * 100).toFixed(1));
        setAttribute(line, "x2", (Math.min(mark, 1) * 100).toFixed(1));
    }
}

// Makes the place for the cures of a finding, which can be folded.
export const cureBox = () => el("details", {class: "cure", open: true}, el("summary", {}, "What to do, in this order: "), el("ol", {class: "cures"}));

const OPTION = /^\W*--\w/;

// Fills an element with words. No line ends inside a word of code, or inside an option: at a hyphen nobody could tell
// whether the hyphen is a part of it.
function fillWords(element, text) {
    if (element.textContent === text)
        return;
    const isWhole = (word) => word.trim() !== "" && (element.localName === "code" || OPTION.test(word));
    element.replaceChildren(...text.split(/(\s+)/).map((word) => (isWhole(word) ? el("span", {class: "word"}, word) : word)));
}

// Fills an element with text. What stands between backticks is code, to be copied as it is. Only what has changed is
// written: a selection in the rest stays.
export function fillCode(element, text) {
    const parts = text.split("`");
    while (element.childNodes.length > parts.length)
        element.lastChild.remove();
    while (element.childNodes.length < parts.length)
        element.append(el(element.childNodes.length % 2 === 1 ? "code" : "span"));
    parts.forEach((part, i) => fillWords(element.childNodes[i], part));
}

export function fillCures(box, cures) {
    show(box, cures.length > 0);
    const list = box.lastElementChild;
    while (list.children.length > cures.length)
        list.lastElementChild.remove();
    while (list.children.length < cures.length)
        list.append(el("li"));
    cures.forEach((cure, n) => fillCode(list.children[n], cure));
}

const WIDE = 160;
const HIGH = 30;
const FLOOR = 24;

// Draws a series, oldest first, in a cell. `expected` is a dashed line; `losses` are triangles below the series.
export function sparkline(cell, values, {length, expected = 0, losses = [], most = 0, words = ""}) {
    let picture = cell.querySelector("svg");
    if (picture === null) {
        picture = svg("svg", {class: "spark", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img"},
                      svg("line", {class: "expected", x1: 0, x2: WIDE}), svg("polyline", {class: "series"}),
                      svg("path", {class: "losses"}));
        cell.append(picture);
    }
    setAttribute(picture, "aria-label", words);
    const top = Math.max(most, expected * 1.1, ...values, 1e-9);
    const x = (i) => (WIDE - 1 - (values.length - 1 - i) * (WIDE - 2) / (length - 1)).toFixed(1);
    const y = (value) => (FLOOR - Math.max(value, 0) / top * (FLOOR - 2)).toFixed(1);
    const [line, series, marks] = picture.children;
    setAttribute(line, "visibility", expected > 0 ? "visible" : "hidden");
    setAttribute(line, "y1", y(expected));
    setAttribute(line, "y2", y(expected));
    setAttribute(series, "points", values.map((value, i) => `${x(i)},${y(value)}`).join(" "));
    setAttribute(marks, "d", losses.map((lost, i) => (lost > 0 ? `M${x(i)} ${FLOOR + 1}l2.5 5h-5z` : "")).join(""));
}
