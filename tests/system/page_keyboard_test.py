#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live page without a mouse, on a phone, and beside a process that has gone."""

import contextlib

import harness
import page_test

with contextlib.suppress(ImportError):  # then there is no browser
    from selenium.webdriver import ActionChains, Keys

setUpModule = page_test.setUpModule
tearDownModule = page_test.tearDownModule


class Keyboard(page_test.MadeUpPage):
    def focus(self):
        """The id of what has the focus, or its words."""
        return self.window.run("const e = document.activeElement; return e === document.body ? '' : e.id || e.textContent.trim()")

    def press(self, *keys):
        for key in keys:
            ActionChains(self.window.driver).send_keys(key).perform()

    def test_all_can_be_done_with_the_keyboard(self):
        process = self.begin(changes=True)
        self.window.driver.get(process.url)
        self.until_verdict("lost")
        self.until("document.querySelector('#token').checkVisibility()", "question for the token")
        wanted = self.window.run("return [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]"
                                 ".filter((e) => e.checkVisibility() && e.tabIndex >= 0).map((e) => e.id || e.textContent.trim())")
        found = []
        for _ in wanted:
            self.press(Keys.TAB)
            found.append(self.focus())
        self.assertEqual(found, wanted, "in the order of the page")
        self.assertEqual(found[0], "Go to the health")
        self.window.type("#token", page_test.TOKEN + Keys.ENTER)
        self.assertEqual(self.focus(), "steer-stream")
        self.press(Keys.TAB, Keys.TAB)
        self.assertEqual(self.focus(), "Stop…")
        self.press(Keys.ENTER)
        self.assertTrue(self.window.run("return document.querySelector('#ask').open"))
        self.press(Keys.ESCAPE)
        self.assertFalse(self.window.run("return document.querySelector('#ask').open"))
        self.assertEqual(self.focus(), "Stop…", "where it was before the question")
        self.assertEqual(self.window.text("#answers li"), [])
        self.press(Keys.ENTER)
        while self.focus() != "ask-yes":
            self.assertTrue(self.window.run("return document.querySelector('#ask').contains(document.activeElement)"))
            self.press(Keys.TAB)
        self.press(Keys.ENTER)
        self.until_text("#answers li", "stream stop s0: ")
        self.window.errors()  # of a process that takes no changes

    def test_no_line_ends_inside_a_word_of_a_command(self):
        """A hyphen at the end of a line may be a part of the command, or not."""
        command = ("dpdk-spead attach /run/user/1000/dpdk-spead/receiver-of-the-first-subarray-0.sock -- stream set "
                   "archive-of-all heaps.queue_depth 65536")
        process = self.begin()
        process.report["findings"] = [self.finding("consumer_too_slow", "consumer", "s0", cures=[
            f"run `{command}` (now 4)", "use a larger --max-packet-size-of-a-packet than now, or (--buffer-size-of-all 32MiB)"])]
        self.window.driver.get(process.url)
        self.until_text(".finding code", "^dpdk-spead attach")
        for wide in (1400, 390, 320):
            with self.subTest(wide=wide):
                self.window.resize(wide)
                self.assertEqual(self.window.run(r"""
                    const broken = [];
                    for (const item of document.querySelectorAll(".finding li")) {
                        const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
                        for (let node; (node = walker.nextNode()) !== null;)
                            for (const word of node.textContent.matchAll(/\S+/g)) {
                                const range = document.createRange();
                                range.setStart(node, word.index);
                                range.setEnd(node, word.index + word[0].length);
                                if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size !== 1)
                                    broken.push(word[0]);
                            }
                    }
                    return broken;"""), [])
                self.assertLessEqual(self.window.run("return document.documentElement.scrollWidth"), wide)
        self.window.driver.find_element("css selector", ".finding code").click()
        self.assertEqual(self.window.run("return getSelection().toString()"), command)
        self.assertEqual(self.window.text(".finding code"), [command])

    def test_words_of_the_program_are_explained(self):
        process = self.begin()
        process.report["findings"] = [self.finding("lcore_interrupted", "lcore", "p0")]
        self.window.driver.get(process.url)
        self.until_text("#glossary summary", "heap, lcore")
        self.window.resize(390)
        self.window.click("#glossary summary")
        self.until_text("#glossary dd", "block of data that its sender cuts into packets")
        self.until_text("#glossary dd", "thread of the program that has a CPU to itself")
        self.assertEqual(self.window.text("#glossary dt"),
                         ["heap", "stream", "port", "receive queue", "lcore", "consumer", "chunk"])
        self.assertLess(*self.window.run("return [document.querySelector('#glossary').getBoundingClientRect().bottom,"
                                         " document.querySelector('#findings').getBoundingClientRect().top + 1]"))
        self.assertEqual(self.window.run(page_test.ACCESSIBLE), [])
        self.assert_quiet(process.url)

    def test_a_process_that_has_gone_had_its_problems_at_the_last_report(self):
        process = self.begin()
        process.report["findings"] = [self.finding("receive_ring_short", "port", "p0")]
        self.window.driver.get(process.url)
        self.until_text(".finding .facts", "^Now · ")
        process.close()
        self.until_verdict("^No answer from the process$")
        self.until_text(".finding .facts", "^At the last report · ")
        self.window.errors()  # of the questions without an answer


if __name__ == "__main__":
    harness.main()
