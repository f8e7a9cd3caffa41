"""The page in a browser: Chromium, without a window.

With the folder SCREENSHOTS in the environment, pictures are left there to be looked at.
"""

import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from rarefy.serving.access_control import Tokens
from tests.serving.served import Served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]
SIZES = {"desktop": (1280, 900), "phone": (375, 812)}
MARKUP = "<img src=x onerror=alert(1)>"
PRICE = "size,rooms\n100,2\n"
TOPICS = ["sport", "<b>news</b>", "music"]
SECONDS = 60_000  # in thousandths, that something may take
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = rgb(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!says || !element.getClientRects().length) continue;
    const both = [light(rgb(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    if (ratio < 4.5) poor.push(`${element.tagName} ${element.textContent}: ${ratio}`);
  }
  return poor;
}"""


def click(rng: random.Random) -> dict[str, object]:
    words = rng.sample(range(40), 5)
    has_markup = rng.random() < 0.3
    score = sum(words) - 97.5 + 60 * has_markup
    label = "yes" if score + rng.gauss(0.0, 20.0) > 0 else "no"
    return {"words": " ".join(f"w{n}" for n in words), MARKUP: int(has_markup), "label": label}


def topic(rng: random.Random) -> dict[str, object]:
    n = rng.randrange(3)
    words = [rng.choice([f"t{n}", f"w{rng.randrange(40)}"]) for _ in range(5)]
    return {"words": " ".join(words), "label": TOPICS[n]}


def price(rng: random.Random) -> dict[str, object]:
    size, rooms = rng.uniform(20, 200), rng.randrange(1, 6)
    return {"size": size, "rooms": rooms, "label": 3 * size + 20 * rooms + rng.gauss(0.0, 5.0)}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("models"), "--checkpoint-seconds", "1000") as served:
        client = httpx.Client(base_url=served.url, timeout=120.0)
        begin(client, "clicks", {"classes": ["no", "yes"], "text": ["words"]}, click)
        begin(client, "topics", {"classes": TOPICS, "text": ["words"]}, topic)
        begin(client, "prices", {}, price)
        csv = {"Content-Type": "text/csv"}
        while client.post("/models/prices/explain", content=PRICE, headers=csv).status_code == 503:
            pass  # what reads it is compiled
        yield served


def begin(client: httpx.Client, name: str, said: Any, row: Callable[[random.Random], Any]) -> None:
    rng, path = random.Random(name), f"/models/{name}"
    client.put(path, json=said).raise_for_status()
    client.put(f"{path}/challengers/rival", json={"l1": 3.0}).raise_for_status()
    for n in range(4):
        rows = [row(rng) for _ in range(250)]
        client.post(f"{path}/learn", json=rows).raise_for_status()
        while client.get("/health").json()["backlog"]:
            time.sleep(0.01)
        if n == 1:
            client.post(f"{path}/snapshots").raise_for_status()
    client.post(f"{path}/predict", json=rows).raise_for_status()


class Visit:
    """A browser's visit to the page, which notes all that should not happen."""

    def __init__(self, browser: Any, size: str = "desktop", scheme: str = "light") -> None:
        width, height = SIZES[size]
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.hosts: set[str] = set()
        self.faults: list[str] = []
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def open(self, served: Served, name: str) -> Any:
        self.page.goto(f"{served.url}/#/{name}")
        self.says("#connection", "Live")
        return self.page

    def says(self, selector: str, text: str) -> None:
        playwright.expect(self.page.locator(selector)).to_contain_text(text, timeout=SECONDS)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any, served: Served) -> Iterator[Visit]:
    """A visit that must go without a fault, and without a request to another host."""
    visit = Visit(browser)
    yield visit
    visit.context.close()
    assert visit.faults == []
    assert visit.hosts <= {urlsplit(served.url).netloc, ""}  # "": the empty icon


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", sorted(SIZES))
def test_page_is_readable(browser: Any, served: Served, size: str, scheme: str) -> None:
    visit = Visit(browser, size, scheme)
    page = visit.open(served, "clicks")
    page.fill("#row", json.dumps({"words": "w1 w39", MARKUP: 1, "unknown": 2}))
    page.click("#explain button")
    page.locator("#parts tbody tr").first.wait_for()
    page.click("#snapshots button:has-text('Compare') >> nth=-1")
    page.locator("#diff-features tbody tr").first.wait_for()
    page.locator(".series-1").first.wait_for(state="attached")
    page.wait_for_timeout(3000)  # until there are lines
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate(CONTRAST) == []
    if "SCREENSHOTS" in os.environ:
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=f"{os.environ['SCREENSHOTS']}/{size}-{scheme}.png", full_page=True)
    visit.context.close()
    assert visit.faults == []


def test_figures_are_live(visit: Visit, served: Served) -> None:
    page = visit.open(served, "clicks")
    titles = page.locator("#figures > li:visible h4").all_text_contents()
    assert titles[:4] == ["Loss", "Accuracy", "AUC", "Calibration error"]
    assert "Share of zeros" in titles
    assert "RMSE" not in titles
    playwright.expect(page.locator("#key li")).to_have_text(["first (champion)", "rival"])
    before = page.locator("#figures .chart").first.get_attribute("aria-label")
    rng = random.Random(1)
    rows = [click(rng) for _ in range(250)]
    httpx.post(f"{served.url}/models/clicks/learn", json=rows).raise_for_status()
    page.wait_for_function(
        "before => document.querySelector('#figures .chart').getAttribute('aria-label') != before",
        arg=before,
    )
    wanted = httpx.get(f"{served.url}/models").json()["models"][0]["figures"]["accuracy"]
    visit.says("#figures li:has-text('Accuracy') .value", f"{100 * wanted:.1f}".removesuffix(".0"))


def test_names_are_text(visit: Visit, served: Served) -> None:
    page = visit.open(served, "clicks")
    page.fill("#search-text", "<IMG")
    row = page.locator("#features tbody tr")
    playwright.expect(row).to_have_count(1)
    playwright.expect(row.locator("th")).to_have_text(MARKUP)
    visit.says("#features-found", "1 weight, as of")
    page.fill("#row", json.dumps({MARKUP: 1, "<i>x</i>": 2}))
    page.click("#explain button")
    playwright.expect(page.locator("#parts tbody th")).to_have_text([MARKUP])
    visit.says("#explained", "Without a weight: <i>x</i>")
    visit.open(served, "topics")
    visit.says("#about", "classes <b>news</b>, music, sport")
    assert page.evaluate("document.images.length + document.querySelectorAll('b, i').length") == 0


def test_rows_of_all_kinds_are_explained(visit: Visit, served: Served) -> None:
    page = visit.open(served, "topics")
    page.fill("#row", '{"words": "t1 t1 w3"}')
    page.click("#explain button")
    visit.says("#explained", "Predicted: <b>news</b>, with a probability of")
    told = httpx.post(f"{served.url}/models/topics/explain", json={"words": "t1 t1 w3"}).json()
    strongest = told["features"][0]["contributions"]
    best, second = sorted(told["scores"].values(), reverse=True)[:2]
    by_score = {score: name for name, score in told["scores"].items()}
    wanted = strongest[by_score[best]] - strongest[by_score[second]]
    shown = page.locator("#parts tbody tr").first.locator("td").last.inner_text()
    assert float(shown) == pytest.approx(wanted, rel=1e-3)
    page.goto(f"{served.url}/#/prices")
    playwright.expect(page.locator("#model-title")).to_have_text("prices")
    visit.says("#figures", "RMSE")
    page.select_option("#row-format", "text/csv")
    page.fill("#row", PRICE)
    page.click("#explain button")
    visit.says("#explained", "Predicted: ")
    predicted = float(page.locator("#explained strong").inner_text())
    assert predicted == pytest.approx(340.0, rel=0.2)
    page.fill("#row", "size,rooms\n100,2,3\n")
    page.click("#explain button")
    visit.says("#said", "That did not work: ")
    visit.faults.clear()  # Chromium tells of answers that are refusals


def test_keyboard_is_enough(visit: Visit, served: Served) -> None:
    page = visit.open(served, "topics")
    page.locator("#features tbody tr").first.wait_for()
    page.locator("#snapshots tbody tr").first.wait_for()
    page.evaluate("document.activeElement.blur()")
    seen: list[str] = []
    for _ in range(60):
        visit.press("Tab")
        found = page.evaluate(
            """() => {
              const at = document.activeElement, style = getComputedStyle(at);
              const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
              const label = at.getAttribute("aria-label") ?? at.labels?.[0]?.innerText;
              return { what: at.id || label || at.innerText.split("\\n")[0], isSeen,
                       isBody: at === document.body };
            }"""
        )
        if found["isBody"]:
            break
        assert found["isSeen"], found
        seen.append(found["what"])
    wanted = ["skip", "Endpoints", "give-token", "models-region", "clicks", "prices", "topics"]
    assert seen[: len(wanted)] == wanted
    order = ["Promote rival", "Drop rival", "search-text", "Search", "row", "row-format", "Explain"]
    assert [one for one in seen if one in order] == order
    assert seen.index("snapshot") > seen.index("Explain")
    assert page.evaluate(
        "[...document.querySelectorAll('input, select, textarea')].every((e) => e.labels.length)"
    )


def test_challenger_is_promoted_with_the_keyboard(visit: Visit, served: Served) -> None:
    page = visit.open(served, "topics")
    page.locator("[aria-label='Promote rival']").focus()
    page.wait_for_timeout(2500)  # the table is brought up to date, and the focus stays
    visit.press("Enter")
    page.locator("#confirm").wait_for()
    visit.press("Escape")
    page.locator("#confirm").wait_for(state="hidden")
    assert champion(served, "topics") == "first"
    visit.press("Enter")
    page.locator("#confirm").wait_for()
    visit.press("Shift+Tab", "Enter")
    visit.says("#said", "rival is the champion now.")
    assert champion(served, "topics") == "rival"
    visit.says("#key", "rival (champion)")
    visit.says("#about", "champion rival")


def champion(served: Served, name: str) -> str:
    return str(httpx.get(f"{served.url}/models/{name}").json()["champion"])


def test_snapshots_are_compared_and_brought_back(visit: Visit, served: Served) -> None:
    page = visit.open(served, "prices")
    examples = "#members tr:has-text('champion')"
    page.locator(examples).wait_for()
    page.click("#snapshot")
    visit.says("#said", "A snapshot is written.")
    playwright.expect(page.locator("#snapshots tbody tr")).to_have_count(2)
    oldest = page.locator("#snapshots tbody tr").last
    oldest.get_by_text("Compare").click()
    visit.says("#diff-counts", "changed: 2")
    assert page.evaluate("document.activeElement.id") == "diff-title"
    oldest.get_by_text("Roll back").click()
    page.click("#confirm-yes")
    visit.says("#said", "prices is what it was on")
    found = httpx.get(f"{served.url}/models/prices").json()
    assert found["examples"] == 500
    visit.says("#about", "500 examples learned")
    page.click("#dismiss")
    playwright.expect(page.locator("#said")).to_be_empty()
    playwright.expect(page.locator("#dismiss")).to_be_hidden()


def test_token_is_asked_for_and_forgotten_with_the_tab(browser: Any, tmp_path: Path) -> None:
    token = Tokens(tmp_path).add("reader", "read")
    admin = Tokens(tmp_path).add("boss", "admin")
    with Served(tmp_path) as served:
        path, headers = f"{served.url}/models/prices", {"Authorization": f"Bearer {admin}"}
        httpx.put(path, json={}, headers=headers, timeout=120.0).raise_for_status()
        visit = Visit(browser)
        page = visit.page
        page.goto(served.url)
        visit.says("#token-why", "The service wants a token.")
        page.keyboard.type("wrong")
        visit.press("Enter")
        visit.says("#token-why", "The service does not know this token.")
        page.keyboard.type(token)
        visit.press("Enter")
        visit.says("#connection", "Live")
        page.reload()
        visit.says("#connection", "Live")
        page.click("#snapshot")
        visit.says("#said", "the token does not have the scope 'admin'")
        page.click("#give-token")
        page.keyboard.type(admin)
        visit.press("Enter")
        page.locator("#token-dialog").wait_for(state="hidden")
        page.click("#snapshot")
        visit.says("#said", "A snapshot is written.")
        assert page.evaluate("localStorage.length") == 0
        assert visit.context.cookies() == []
        other = visit.context.new_page()
        other.goto(served.url)
        other.locator("#token-dialog").wait_for()
        visit.context.close()


def test_lost_connection_comes_back(browser: Any, tmp_path: Path) -> None:
    served = Served(tmp_path)
    with served:
        httpx.put(f"{served.url}/models/prices", json={}, timeout=120.0).raise_for_status()
        visit = Visit(browser)
        visit.open(served, "prices")
        served.kill()
        visit.says("#connection", "Not connected; trying again")
        served.start()
        visit.says("#connection", "Live")
        visit.context.close()
