// SPDX-License-Identifier: BSD-3-Clause
// Makes and fills elements. All text becomes text: names come off the wire, from files and from other hosts.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function fill(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes))
        setAttribute(made, name, value);
    for (const child of children)
        made.append(child);
    return made;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Both leave unchanged parts alone: screen readers, selections and the focus stay where they are.
export function setText(node, text) {
    if (node.textContent !== String(text))
        node.textContent = text;
}

export function setAttribute(node, name, value) {
    if (value === null || value === undefined || value === false)
        node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value))
        node.setAttribute(name, value === true ? "" : value);
}

export function show(node, shown) {
    if (node.hidden === shown)
        node.hidden = !shown;
}

// Holds one element for each entry of a list, and moves no element that stays in its place.
export class Keyed {
    constructor(parent, make) {
        this.parent = parent;
        this.make = make;
        this.made = new Map();
    }

    update(entries, keyOf, fillOne) {
        const left = new Map(this.made);
        let at = this.parent.firstElementChild;
        for (const entry of entries) {
            const key = keyOf(entry);
            let element = this.made.get(key);
            if (element === undefined) {
                element = this.make(entry);
                this.made.set(key, element);
            }
            left.delete(key);
            if (element === at)
                at = at.nextElementSibling;
            else
                this.parent.insertBefore(element, at);
            fillOne(element, entry);
        }
        for (const [key, element] of left) {
            element.remove();
            this.made.delete(key);
        }
    }
}

const NAMES = 500; // of a <select>, most

// Returns whether a <select> has no room for all of them.
export const tooMany = (parts) => parts.length > NAMES;

// Returns the choices of a <select> of streams or senders. If they are too many, they are those that `wanted` is part of.
export function namesOf(parts, wanted = "") {
    const mine = tooMany(parts) ? parts.filter((one) => one.name.toLowerCase().includes(wanted.toLowerCase())) : parts;
    return mine.slice(0, NAMES).map((one) => [one.name, one.name]);
}

// Fills a <select> with names, and keeps the choice if it is still there.
export function choices(select, entries) {
    const wanted = entries.map(([value, words]) => `${value}\n${words}`).join("\n\n");
    if (select.dataset.wanted === wanted)
        return;
    select.dataset.wanted = wanted;
    const chosen = select.value;
    select.replaceChildren(...entries.map(([value, words]) => el("option", {value}, words)));
    if (entries.some(([value]) => value === chosen))
        select.value = chosen;
}

// Makes a table's row of cells; each knows its column's name, which small screens show beside it.
export function row(table) {
    const made = el("tr");
    for (const head of table.tHead.rows[0].cells) {
        const first = made.cells.length === 0;
        made.append(el(first ? "th" : "td", {scope: first ? "row" : null, class: head.className || null,
                                             "data-column": head.textContent}));
    }
    return made;
}
