// SPDX-License-Identifier: BSD-3-Clause
// Keeps the latest values of a series; its memory never grows.

export class Ring {
    constructor(length) {
        this.values = new Array(length).fill(0);
        this.next = 0;
        this.count = 0;
    }

    // Adds a value, or several that are alike.
    push(value, times = 1) {
        for (let i = 0; i < times; i++) {
            this.values[this.next] = value;
            this.next = (this.next + 1) % this.values.length;
        }
        this.count = Math.min(this.count + times, this.values.length);
    }

    // Returns the value of `age` pushes ago; 0 is the latest.
    at(age) {
        const length = this.values.length;
        return this.values[(this.next - 1 - age + 2 * length) % length];
    }

    // Returns the values, oldest first.
    list() {
        const all = [];
        for (let age = this.count - 1; age >= 0; age--)
            all.push(this.at(age));
        return all;
    }
}
