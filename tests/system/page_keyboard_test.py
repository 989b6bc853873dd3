#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live page without a mouse, and beside a process that has gone."""

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
