// SPDX-License-Identifier: BSD-3-Clause
// Changes the process: shows each change as the prompt's command and as a request, asks, sends it with the token, and
// shows the answer in the words of the process. The token stays in this module's memory; it is in no address and no storage.

import {byId, choices, el, namesOf, setAttribute, setText, show, tooMany} from "/page/dom.js";
import {fillCode, SIGNS} from "/page/parts.js";
import {clock, counted, whole} from "/page/units.js";

const ROOT = "/api/v1/";
const ANSWERS = 20; // kept on the page
const CAPTURE = "10s";
const CAPTURED = 30000; // ms for which the end of a capture is awaited
const PATIENCE = 100000; // ms of a change; the server's is shorter

const READ_ONLY = "This page cannot change the process, which was started without a token. The commands below “What to do” need none: they run in " +
    "a shell on the machine of the process. To make changes here, too, make a token there: `(umask 077; openssl rand -hex 32 > token)`. Then restart " +
    "the process with `--api-token-file token`, or with `api_token_file = \"token\"` in [runtime]. This page then asks for the text of that file.";

const sleep = (time) => new Promise((wake) => setTimeout(wake, time));
const safe = (name) => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 60);
const stamp = () => new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");

// A service has a /tmp and a /var/tmp of its own, so the process says which directory its users see.
const directoryOf = (model) => model.about.directory ?? "/var/tmp";

// Words of a command at the prompt: one with a blank is quoted there.
const word = (text) => (/^[^\s"'\\]+$/.test(text) ? text : JSON.stringify(text));

const enable = (kind, what) => ({
    title: (name) => `${what === "start" ? "Start" : "Stop"} ${kind === "stream" ? "stream" : "sender"} ${name}`,
    words: {"stream stop": "The process leaves the groups of the stream. Its counters stay.",
            "stream start": "The process receives the stream again.",
            "send stop": "The sender stops after the heaps in flight.",
            "send start": "The sender sends again."}[`${kind} ${what}`],
    fields: [],
    request: (name) => ({path: `${kind}/${what}`, body: {[kind]: name}, command: `${kind} ${what} ${word(name)}`}),
});

// Each change: its fields, its request, and what is done after it.
const CHANGES = {
    "stream-start": enable("stream", "start"),
    "stream-stop": enable("stream", "stop"),
    "send-start": enable("send", "start"),
    "send-stop": enable("send", "stop"),
    move: {
        title: (name) => `Move stream ${name}`,
        words: "The stream goes to the lcores of these CPUs. It begins there with new windows: heaps in flight end incomplete.",
        fields: [{name: "lcores", label: "CPUs", value: (name, model) => model.report.lcores
            .filter((lcore) => lcore.streams.some((one) => one.name === name)).map((lcore) => lcore.cpu).join(","),
                  help: (model) => `Lcores: ${model.report.lcores.map((one) => `CPU ${one.cpu} ${one.streams.length + one.sends.length === 0 ? "(idle)" : ""}`.trim()).join(", ")}`}],
        request: (name, {lcores}) => ({path: "stream/set", body: {stream: name, settings: {lcores}},
                                       command: `stream set ${word(name)} lcores ${word(lcores)}`}),
    },
    capture: {
        title: (name) => `Capture ten seconds of stream ${name}`,
        words: "The packets of ten seconds go to a file on the machine of the process, as its user. The capture then ends by itself. Reception goes on. An existing file is overwritten.",
        fields: [{name: "file", label: "File", value: (name, model) => `${directoryOf(model)}/${safe(name)}-${stamp()}.pcap`}],
        request: (name, {file}) => ({path: "capture/start", body: {stream: name, file, settings: {"capture.duration": CAPTURE}},
                                     command: `capture start ${word(name)} ${word(file)} capture.duration ${CAPTURE}`}),
        after: (steer, name, before) => steer.captured(name, before),
    },
    save: {
        title: () => "Save the configuration",
        words: "The present configuration goes to a file on the machine of the process, as its user.",
        fields: [{name: "file", label: "File", value: (name, model) => `${directoryOf(model)}/dpdk-spead-${stamp()}.toml`},
                 {name: "force", label: "Replace an existing file", kind: "checkbox"}],
        request: (name, {file, force}) => ({path: "save/config", body: force ? {file, force: true} : {file},
                                            command: `save config ${word(file)}${force ? " force" : ""}`}),
    },
};

export class Steer {
    #token = "";

    constructor() {
        this.asked = null;
        byId("token-form").addEventListener("submit", (event) => {
            event.preventDefault();
            this.#token = byId("token").value;
            byId("token").value = "";
            this.showControls();
            byId("steer-stream").focus();
        });
        byId("forget").addEventListener("click", () => this.forget());
        for (const button of document.querySelectorAll("[data-change]"))
            button.addEventListener("click", () => this.ask(button.dataset.change));
        byId("ask-no").addEventListener("click", () => byId("ask").close());
        byId("ask-form").addEventListener("submit", (event) => {
            event.preventDefault();
            byId("ask").close();
            const {change, name} = this.asked;
            const before = this.capturesOf(name).length;
            this.send(change.request(name, this.values()), this.#token).then((done) => (done && change.after ? change.after(this, name, before) : null));
        });
        byId("ask-fields").addEventListener("input", () => this.preview());
    }

    update(model) {
        this.model = model;
        const {streams, sends} = model.report;
        choices(byId("steer-stream"), namesOf(streams, byId("filter").value));
        choices(byId("steer-send"), namesOf(sends, byId("filter").value));
        show(byId("steer-sends"), model.report.sends.length > 0);
        this.showControls();
    }

    showControls() {
        const possible = this.model?.about?.changes === true;
        show(byId("token-form"), possible && this.#token === "");
        show(byId("controls"), possible && this.#token !== "");
        const more = [this.model?.report.streams, this.model?.report.sends].some((parts) => parts && tooMany(parts));
        const where = this.#token === "" ? " The token is the text of the file that api_token_file of the process names." : "";
        fillCode(byId("steer-words"), possible ? `Each change is shown before it is made.${where}${more ? " The lists show 500 names at most; the filter of the streams finds others." : ""}` : READ_ONLY);
        const near = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
        setText(byId("token-words"), location.protocol === "https:" || near ? "" :
            "The token goes over plain HTTP to this host. Use a proxy with TLS where others can listen.");
    }

    forget() {
        this.#token = "";
        this.showControls();
    }

    // Shows what a change will do.
    ask(key) {
        const change = CHANGES[key];
        const name = key === "save" ? "" : byId(key.startsWith("send") ? "steer-send" : "steer-stream").value;
        if (name === "" && key !== "save")
            return;
        this.asked = {change, name};
        setText(byId("ask-title"), change.title(name));
        setText(byId("ask-words"), change.words);
        byId("ask-fields").replaceChildren(...change.fields.map((field) => {
            const input = el("input", {name: field.name, type: field.kind ?? "text", autocomplete: "off", spellcheck: "false",
                                       required: field.kind === undefined});
            if (field.value)
                input.value = field.value(name, this.model);
            return el("p", {}, el("label", {}, `${field.label} `, input), el("span", {class: "quiet"}, field.help ? ` ${field.help(this.model)}` : ""));
        }));
        this.preview();
        byId("ask").showModal();
    }

    values() {
        const inputs = [...byId("ask-fields").querySelectorAll("input")];
        return Object.fromEntries(inputs.map((input) => [input.name, input.type === "checkbox" ? input.checked : input.value.trim()]));
    }

    preview() {
        const {path, body, command} = this.asked.change.request(this.asked.name, this.values());
        setText(byId("ask-command"), command);
        setText(byId("ask-request"), `POST ${ROOT}${path}\n${JSON.stringify(body)}`);
    }

    // Returns whether the process has done it.
    async send({path, body, command}, token) {
        const line = this.say("wait", `${command}: waits for the answer`);
        try {
            const answer = await fetch(ROOT + path, {
                method: "POST", cache: "no-store", signal: AbortSignal.timeout(PATIENCE), body: JSON.stringify(body),
                headers: {"Content-Type": "application/json", Authorization: `Bearer ${token}`}});
            const said = await answer.json();
            if (answer.status === 401)
                this.forget();
            this.say(answer.ok ? "ok" : "bad", `${command}: ${answer.ok ? said.done : `refused (${answer.status}): ${said.error}`}`, line);
            return answer.ok;
        } catch (error) {
            this.say("bad", `${command}: no answer (${error.message}); look whether it was done`, line);
            return false;
        }
    }

    capturesOf(name) {
        return this.model?.report?.captures?.filter((one) => one.stream === name) ?? [];
    }

    // Says how a capture has ended, which the stream had not among the first `before`.
    async captured(name, before) {
        const line = this.say("wait", `capture of ${name}: runs`);
        for (const end = Date.now() + CAPTURED; Date.now() < end; await sleep(500)) {
            const mine = this.capturesOf(name).slice(before).at(-1);
            if (mine?.state !== "ended")
                continue;
            const {written, dropped_full: dropped} = mine.packets;
            this.say(mine.failure ? "bad" : "ok", `capture of ${name}: ${mine.failure || `ended; ${counted(written, "packets")} written, ${whole(dropped)} dropped`}`, line);
            return;
        }
        this.say("bad", `capture of ${name}: it has not ended yet; \`Captures\` shows its state`, line);
    }

    // Adds a line to the answers, or changes one of them.
    say(kind, words, line = el("li")) {
        setAttribute(line, "data-kind", kind);
        line.replaceChildren(el("span", {class: `sign ${kind}`, "aria-hidden": "true"}, SIGNS[kind]), ` ${clock(Date.now())} ${words}`);
        const list = byId("answers");
        if (line.parentNode === null)
            list.prepend(line);
        while (list.children.length > ANSWERS)
            list.lastElementChild.remove();
        return line;
    }
}
