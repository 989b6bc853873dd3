# SPDX-License-Identifier: BSD-3-Clause
"""A browser without a screen, for tests of the live page: Debian's chromium by selenium; and a made-up process, which
serves the page's files beside answers of the API that a test chooses."""

import contextlib
import http.server
import json
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import harness

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

FILES = Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "config/page"
TYPES = {".css": "text/css", ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".svg": "image/svg+xml"}


def why_not():
    """Why there is no browser here; empty: there is one."""
    if webdriver is None:
        return "python3-selenium is not installed (scripts/deps --web)"
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            return f"{name} is not installed (scripts/deps --web)"
    return ""


class Browser:
    """One window. `errors()` and `requests()` are those since the last call."""

    def __init__(self):
        self._directory = tempfile.mkdtemp(prefix="dpdk-spead-browser-")
        options = webdriver.ChromeOptions()
        for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run",
                         "disable-background-networking", "disable-component-update", "disable-sync", "no-proxy-server",
                         "force-color-profile=srgb", "window-size=1400,1000", f"user-data-dir={self._directory}"):
            options.add_argument(f"--{argument}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # Selenium asks the driver at 127.0.0.1, which no proxy reaches.
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost"
        service = Service(shutil.which("chromedriver"), log_path=os.devnull)
        try:
            self.driver = webdriver.Chrome(service=service, options=options)
        except Exception:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        self.driver.set_script_timeout(60 * harness.PATIENCE)

    def close(self):
        self.driver.quit()
        shutil.rmtree(self._directory, ignore_errors=True)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def later(self, script, *arguments):
        """The value of a promise: `return import("/page/model.js").then(...)`."""
        return self.driver.execute_async_script(
            f"const done = arguments[arguments.length - 1]; const all = [...arguments].slice(0, -1);"
            f"(function() {{ {script} }}).apply(null, all).then(done, (error) => done(String(error)));", *arguments)

    def text(self, selector):
        """The texts of all elements that a selector finds and that are shown."""
        return self.run("return [...document.querySelectorAll(arguments[0])].filter((e) => e.checkVisibility())"
                        ".map((e) => e.textContent)", selector)

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)

    def type(self, selector, text):
        self.driver.find_element("css selector", selector).send_keys(text)

    def resize(self, wide, high=1000):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": wide < 700})

    def prefer(self, **features):
        """prefer(color_scheme="dark")"""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]})

    def accessible_names(self):
        """(role, name) of everything in the tree that screen readers get."""
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree["nodes"]
                if not node.get("ignored") and "role" in node]

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self):
        sent = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]


class MadeUpProcess:
    """Answers as the process of a report would. `report`, `facts` and `events` may be changed while it runs."""

    def __init__(self, report, **facts):
        self.report, self.events = report, []
        self.facts = {"name": "made-up", "version": "1", "pid": 1, "started": 1, "age_s": 0, "changes": False, **facts}
        made_up = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                made_up.answer(self, urlsplit(self.path).path)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a page that goes while it is answered
        self.open = True
        self.full = self.held = False  # no stream may begin; no stream has news
        self.step = 1  # second of the run between reports
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self):
        self.open = False
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request, path):
        file = FILES / ("index.html" if path == "/" else path.removeprefix("/page/"))
        if path == "/api/v1":
            self.say(request, json.dumps(self.facts).encode(), "application/json")
        elif path == "/api/v1/stream" and self.full:
            request.send_error(503)
        elif path == "/api/v1/stream":
            with contextlib.suppress(OSError):
                self.stream(request)
        elif path == "/api/v1/report":
            self.report["duration_s"] += self.step
            self.say(request, json.dumps(self.report).encode(), "application/json")
        elif path == "/api/v1/events":
            self.say(request, b'{"last": 0, "lost": 0, "events": []}', "application/json")
        elif file.parent == FILES and file.is_file():
            self.say(request, file.read_bytes(), TYPES[file.suffix])
        else:
            request.send_error(404)

    @staticmethod
    def say(request, body, kind):
        request.send_response(200)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def stream(self, request):
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.end_headers()
        sent = 0
        begun = self.facts["started"]
        while self.open and self.facts["started"] == begun:
            if self.held:
                time.sleep(0.05)
                continue
            text = ""
            for event in self.events[sent:]:
                sent += 1
                text += f"event: event\nid: {sent}\ndata: {json.dumps({'sequence': sent, 'time': time.time(), **event})}\n\n"
            self.report["duration_s"] += self.step
            text += f"event: report\ndata: {json.dumps(self.report)}\n\n"
            request.wfile.write(text.encode())
            request.wfile.flush()
            time.sleep(0.2)
        request.close_connection = True
