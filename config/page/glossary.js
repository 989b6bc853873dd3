// SPDX-License-Identifier: BSD-3-Clause
// Explains the words of findings to those who do not know the program (docs/concepts.md).

import {byId, el} from "/page/dom.js";

const TERMS = {
    heap: "A block of data that its sender cuts into packets. Here it is put together again. If one of its packets is lost, it stays incomplete.",
    stream: "The heaps that come to some addresses, which the configuration names.",
    port: "A network interface, as the program drives it. The number behind the colon of an address is the UDP port.",
    "receive queue": "The place where packets wait until an lcore fetches them from the port. When it is full, further packets are lost.",
    lcore: "A thread of the program that has a CPU to itself. It only receives or sends packets. When it is too busy, packets are lost.",
    consumer: "The thread that takes the heaps of a stream from a queue, and writes them to their destination: the sink.",
    chunk: "A large block of memory into which many heaps are placed. Not every stream has chunks.",
};

export function fillGlossary() {
    byId("glossary").append(el("dl", {}, ...Object.entries(TERMS).flatMap(([term, words]) => [el("dt", {}, term), el("dd", {}, words)])));
}
