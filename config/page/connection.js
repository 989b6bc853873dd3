// SPDX-License-Identifier: BSD-3-Clause
// Follows the process: its stream of server-sent events, or reports one by one where too many pages have streams.
// Returns to it after each interruption, and says when it is another process or another version.

const ROOT = "/api/v1";
const PATIENCE = 5000; // ms, of one question, and of a silent stream
const SHORTEST = 500; // ms between tries
const LONGEST = 8000;
const POLL = 2000; // ms between reports without a stream
const HIDDEN_POLL = 5000; // ms, while nobody sees the page
const POLLS = 150; // before a stream is tried again

const sleep = (time) => new Promise((wake) => setTimeout(wake, time));

async function ask(path) {
    const answer = await fetch(ROOT + path, {cache: "no-store", signal: AbortSignal.timeout(PATIENCE)});
    const body = await answer.json();
    return {ok: answer.ok, status: answer.status, body};
}

export class Connection {
    // Takes functions: about(facts), report(report), event(event), leftOut(counts), state(name, words).
    constructor(hooks, lastEvent) {
        this.hooks = hooks;
        this.lastEvent = lastEvent;
    }

    // Runs as long as the page.
    async run() {
        for (let wait = SHORTEST; ; wait = Math.min(wait * 2, LONGEST)) {
            try {
                const answer = await ask("");
                if (!answer.ok)
                    throw new Error(answer.body.error);
                this.hooks.about(answer.body);
                this.hooks.state("asking", "");
                if (await this.follow())
                    wait = SHORTEST;
            } catch (error) {
                this.hooks.state("gone", error instanceof TypeError || error.name === "TimeoutError" ? "" : error.message);
            }
            await sleep(wait * (0.75 + Math.random() / 2));
        }
    }

    // Returns whether anything came.
    async follow() {
        // Browsers allow few connections to a process: a hidden page holds none.
        if (document.hidden)
            return this.poll();
        const came = await this.stream();
        if (came > 0)
            return true;
        return this.poll();
    }

    // Follows a stream to its end. Returns the number of its messages.
    stream() {
        return new Promise((done) => {
            const source = new EventSource(`${ROOT}/stream?interval=1s&since=${this.lastEvent()}`);
            let came = 0;
            let watch = null;
            let closed = false;
            const end = () => {
                closed = true;
                clearTimeout(watch);
                document.removeEventListener("visibilitychange", hide);
                source.close();
                done(came);
            };
            const hide = () => document.hidden && end();
            // A stream without a report is of a main thread that is busy, or of a process that is gone.
            const wait = () => {
                clearTimeout(watch);
                if (closed)
                    return;
                watch = setTimeout(() => this.look().then((alive) => (alive ? wait() : end())), PATIENCE);
            };
            const take = (function_) => (message) => {
                came++;
                wait();
                function_(JSON.parse(message.data));
            };
            document.addEventListener("visibilitychange", hide);
            source.onopen = wait;
            source.onerror = end;
            source.addEventListener("report", take((report) => {
                this.hooks.state("live", "");
                this.hooks.report(report);
            }));
            source.addEventListener("event", take((event) => this.hooks.event(event)));
            source.addEventListener("left_out", take((counts) => this.hooks.leftOut(counts)));
            wait();
        });
    }

    // Asks whether the process answers at all, and how old its numbers are.
    async look() {
        try {
            const answer = await ask("");
            if (!answer.ok)
                return false;
            this.hooks.about(answer.body);
            const old = answer.body.age_s;
            this.hooks.state("old", old === null ? "the run has not begun yet" :
                `the process answers, but its numbers are ${Math.round(old)} s old: its main thread is busy or held`);
            return true;
        } catch {
            return false;
        }
    }

    async poll() {
        let came = false;
        const hidden = document.hidden;
        for (let i = 0; i < POLLS && !(hidden && !document.hidden); i++) {
            const report = await ask("/report");
            const events = await ask(`/events?since=${this.lastEvent()}`);
            if (report.status === 503)
                this.hooks.state("old", report.body.error);
            else if (!report.ok || !events.ok)
                return came;
            else {
                this.hooks.state("polling", document.hidden ? "this page is hidden" :
                    "as many pages as possible follow this process already; this one asks every two seconds");
                events.body.events.forEach((event) => this.hooks.event(event));
                this.hooks.report(report.body);
                came = true;
            }
            await sleep(document.hidden ? HIDDEN_POLL : POLL);
        }
        return came;
    }
}
