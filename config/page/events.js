// SPDX-License-Identifier: BSD-3-Clause
// Lists the latest events.

import {byId, el, Keyed, setText, show} from "/page/dom.js";
import {clock} from "/page/units.js";

const GOOD = new Set(["back", "recovered", "unstuck"]);

export class Events {
    constructor() {
        this.list = new Keyed(byId("event-list"), () =>
            el("li", {}, el("time"), el("span", {class: "sign", "aria-hidden": "true"}), el("span")));
        this.shown = null;
    }

    update(model) {
        show(byId("event-none"), model.events.length === 0);
        show(byId("events-lost"), model.lostEvents > 0);
        setText(byId("events-lost"), `${model.lostEvents} events were missed; the log of the process has them.`);
        if (this.shown === model.events[0])
            return;
        this.shown = model.events[0];
        this.list.update(model.events, (event) => event.sequence, (made, event) => {
            const [time, sign, words] = made.children;
            const at = model.clockOfEvent(event);
            setText(time, clock(at));
            time.dateTime = new Date(at).toISOString();
            const good = GOOD.has(event.event) || event.text.includes("answers again");
            sign.className = `sign ${good ? "ok" : "bad"}`;
            setText(sign, good ? "✔" : "✖");
            setText(words, event.text);
        });
    }
}
