// SPDX-License-Identifier: BSD-3-Clause
// Writes numbers as the program's own tables do.

const DECIMAL = ["", "k", "M", "G", "T", "P", "E"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

function threeDigits(value) {
    if (value >= 99.95)
        return value.toFixed(0);
    return value.toFixed(value >= 9.995 ? 1 : 2);
}

function scaled(value, prefixes, factor, unit) {
    let step = 0;
    while (value >= factor * 0.9995 && step + 1 < prefixes.length) {
        value /= factor;
        step++;
    }
    const number = step === 0 && Number.isInteger(value) ? String(value) : threeDigits(value);
    return `${number} ${prefixes[step]}${unit}`.trimEnd();
}

export const NOTHING = "–";
export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
export const number = (value) => (isNumber(value) ? value : 0);

export const bits = (bytesPerSecond) => isNumber(bytesPerSecond) ? scaled(bytesPerSecond * 8, DECIMAL, 1000, "b/s") : NOTHING;
export const perSecond = (rate, unit = "pps") => isNumber(rate) ? scaled(rate, DECIMAL, 1000, unit) : NOTHING;
export const bytes = (count) => isNumber(count) ? scaled(count, BINARY, 1024, "B") : NOTHING;
export const whole = (count) => isNumber(count) ? Math.round(count).toLocaleString("en").replaceAll(",", "\u202f") : NOTHING;
export const short = (count) => isNumber(count) && count >= 10000 ? scaled(count, DECIMAL, 1000, "") : whole(count);
// Writes a count with its noun: "1 heap", "2 heaps".
export const counted = (count, plural, text = whole) => `${text(count)} ${count === 1 ? plural.slice(0, -1) : plural}`;

// Writes a share. One lost heap of very many is not none, nor are all but one all.
export function percent(share) {
    if (!isNumber(share))
        return NOTHING;
    if (share > 0 && share < 0.0001)
        return "< 0.01 %";
    if (share < 1 && share > 0.9999)
        return "> 99.99 %";
    const value = share * 100;
    return `${value === 0 || value === 100 ? value : value.toFixed(value < 10 ? 2 : 1)} %`;
}

export function duration(seconds) {
    if (!isNumber(seconds))
        return NOTHING;
    if (seconds === 0)
        return "0 s";
    if (seconds < 0.9995e-3)
        return `${threeDigits(seconds * 1e6)} µs`;
    if (seconds < 0.9995)
        return `${threeDigits(seconds * 1e3)} ms`;
    if (seconds < 59.95)
        return `${threeDigits(seconds)} s`;
    return age(seconds);
}

// Writes a time that passes while one looks: whole seconds, then minutes, then hours and days.
export function age(seconds) {
    const past = Math.max(0, Math.round(number(seconds)));
    if (past < 60)
        return `${past} s`;
    if (past < 3600)
        return `${Math.floor(past / 60)} min ${past % 60} s`;
    if (past < 86400)
        return `${Math.floor(past / 3600)} h ${Math.floor(past / 60) % 60} min`;
    return `${Math.floor(past / 86400)} d ${Math.floor(past / 3600) % 24} h`;
}

const two = (value) => String(value).padStart(2, "0");

// Writes a time of the day; of another day, with its date.
export function clock(milliseconds, now = Date.now()) {
    const date = new Date(milliseconds);
    const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
    return date.toDateString() === new Date(now).toDateString() ? time :
        `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}
