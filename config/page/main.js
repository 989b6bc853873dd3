// SPDX-License-Identifier: BSD-3-Clause
// Joins the connection, the model and the views.

import {Chunks} from "/page/chunks.js";
import {Connection} from "/page/connection.js";
import {byId, setText} from "/page/dom.js";
import {Events} from "/page/events.js";
import {fillGlossary} from "/page/glossary.js";
import {Health} from "/page/health.js";
import {itemsOf} from "/page/judgement.js";
import {Machine} from "/page/machine.js";
import {Model} from "/page/model.js";
import {Picture} from "/page/picture.js";
import {Steer} from "/page/steer.js";
import {Streams} from "/page/streams.js";
import {Times} from "/page/times.js";
import {age, clock} from "/page/units.js";

const SAME_RUN = ["name", "version", "pid", "started"];

const model = new Model();
const health = new Health();
const views = [new Picture(), new Streams(), new Chunks(), new Machine(), new Times(), new Events()];
const steer = new Steer();
const link = {name: "asking", words: "", since: Date.now()};
let asked = false;

// Draws once for each picture of the screen. A hidden page has none, but its title is seen.
function redraw() {
    if (asked)
        return;
    asked = true;
    const soon = document.hidden ? setTimeout : requestAnimationFrame;
    soon(() => {
        asked = false;
        const items = model.report === null ? [] : itemsOf(model.report, model.time, (name) => model.pauseOf(name));
        health.update(model, items, link);
        if (model.report === null)
            return;
        for (const view of views)
            view.update(model, items);
        steer.update(model);
        about();
    });
}

function about() {
    const {name, version, pid} = model.about;
    setText(byId("name"), name);
    const shard = model.report.shard?.count > 1 ? `, shard ${model.report.shard.index}/${model.report.shard.count}` : "";
    setText(byId("about"), `dpdk-spead ${version} at ${location.host}, process ${pid}${shard}, up ${age(model.time)}` +
        (model.report.cleared_s > 0 ? `, counters since ${clock(model.clockOf(model.report.cleared_s))}` : ""));
}

const connection = new Connection({
    about(facts) {
        const before = model.about;
        if (before !== null && before.version !== facts.version) {
            // These files are of another version than the process.
            location.reload();
            return;
        }
        if (before === null || SAME_RUN.some((key) => before[key] !== facts[key])) {
            model.begin(facts);
            if (before !== null)
                steer.forget(); // the token was for another process
            steer.update({about: facts, report: {streams: [], sends: [], lcores: []}});
        }
        model.about = facts;
    },
    report(report) {
        model.takeReport(report, Date.now());
        redraw();
    },
    event(event) {
        model.takeEvent(event);
        redraw();
    },
    leftOut(counts) {
        model.lostEvents += counts.events ?? 0;
    },
    state(name, words) {
        // From one question to the next, the process is still the one that does not answer.
        if (name === "asking" && link.name !== "gone")
            return;
        if (link.name !== name)
            link.since = Date.now();
        link.name = name;
        link.words = words;
        redraw();
    },
}, () => model.lastEvent);

document.addEventListener("visibilitychange", () => {
    asked = false; // the picture that was asked for may never come
    redraw();
});
for (const id of ["picture-of", "times-of", "filter"])
    byId(id).addEventListener("input", redraw);
matchMedia("(max-width: 60rem)").addEventListener("change", redraw);
fillGlossary();
setInterval(redraw, 1000); // times pass also without an answer
connection.run();
