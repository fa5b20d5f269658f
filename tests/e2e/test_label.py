"""The page to label in a real browser: keys, reloads, kills, two people at once, and texts that attack."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from builders import make_chunk
from e2e.browser import CALL, VECTORS, browser, page
from labelling_project import LabelProject, make_label_project, served

__all__ = ["browser", "page"]

OVEN = "# Bread > ## Oven"


@pytest.fixture
def project(tmp_path: Path) -> LabelProject:
    return make_label_project(tmp_path)


@pytest.fixture
def address(project: LabelProject) -> Iterator[str]:
    session = project.open()
    with session.journal, served(session) as url:
        yield url


def shown(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".passage")).to_be_visible()


def kept(page: Page) -> None:
    """Wait until the server has everything."""
    expect(page.locator("#saved")).to_have_text("all kept")


def test_judging_by_keys(page: Page, address: str, project: LabelProject) -> None:
    """Three keys judge a question and go on to the next; a reload goes on where one was; writing shows and does it."""
    shown(page, address)
    expect(page.locator(".question h2")).to_have_text("How long does the dough rest?")
    order = [page.locator(".place b").inner_text()]
    for key in "30":
        page.keyboard.press(key)
        expect(page.locator(".place b")).not_to_have_text(order[-1])
        order.append(page.locator(".place b").inner_text())
    page.keyboard.press("m")
    expect(page.locator(".question h2")).to_have_text("How hot is the oven?")
    kept(page)
    page.reload()
    expect(page.locator(".question h2")).to_have_text("How hot is the oven?")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".dots button.judged")).to_have_count(3)
    page.keyboard.press("u")
    page.keyboard.press("w")
    expect(page.locator(".diff .in").first).to_be_visible()
    assert project.golden.read_text().count("not_relevant") == 0
    page.click("#write")
    expect(page.locator("#written")).to_contain_text("Wrote golden.labels.jsonl, golden.jsonl")
    row = project.cases()["q1"]
    assert [support.get("grade", 1) for support in row["gold_supports"]] == [1, 3]
    assert {place["heading_path"] for place in row["not_relevant"]} == set(order[1:])
    labels = [json.loads(line) for line in project.labels.read_text().splitlines()]
    assert sorted((label["grade"], label.get("misleading", False)) for label in labels) == [
        (0, False),
        (0, True),
        (3, False),
    ]


def test_two_people_and_two_tabs(page: Page, address: str, project: LabelProject) -> None:
    """Two people at once do not see each other's grades; what they differ on waits until somebody settles it."""
    shown(page, address)
    other = page.context.new_page()
    shown(other, f"{address}#as=bob")
    first = page.locator(".place b").inner_text()
    page.keyboard.press("3")
    kept(page)
    other.reload()
    expect(other.locator(".passage")).to_be_visible()
    expect(other.locator(".dots button.judged")).to_have_count(0)
    while other.locator(".place b").inner_text() != first:
        at = other.locator(".place b").inner_text()
        other.keyboard.press("ArrowRight")
        expect(other.locator(".place b")).not_to_have_text(at)
    other.keyboard.press("0")
    kept(other)
    page.bring_to_front()
    page.keyboard.press("w")
    expect(page.locator(".split")).to_contain_text("ann: 3")
    expect(page.locator(".split")).to_contain_text("bob: 0")
    expect(page.locator("#view-review")).to_contain_text("Krippendorff")
    page.locator(".split button", has_text="2").click()
    expect(page.locator(".split")).to_have_count(0)
    page.click("#write")
    expect(page.locator("#written")).to_be_visible()
    assert project.cases()["q1"]["gold_supports"][1]["grade"] == 2


@pytest.mark.parametrize("answers", [True, False], ids=["refuses", "hangs"])
def test_keys_while_passages_are_on_their_way(page: Page, address: str, project: LabelProject, answers: bool) -> None:
    """A key judges what can be seen: none counts for a passage that the server has not given yet."""
    held: list[Route] = []
    page.route("**/question?*id=q2*", lambda route: route.abort() if answers else held.append(route))
    shown(page, address)
    for key in "333":
        page.keyboard.press(key)
        page.wait_for_timeout(20)
    expect(page.locator("#desk")).to_contain_text("not here yet")
    for key in "00ms":
        page.keyboard.press(key)
    kept(page)
    for route in held:
        route.continue_()
    page.unroute("**/question?*id=q2*")
    expect(page.locator(".question h2")).to_have_text("How hot is the oven?", timeout=10_000)
    assert [json.loads(line)["case"] for line in project.journal.read_text().splitlines()] == ["q1"] * 3


def test_whoever_comes_back_finds_what_they_left(page: Page, address: str) -> None:
    """Looking at another window moves no passage; a reload begins where something is to judge."""
    back = "document.dispatchEvent(new Event('visibilitychange'))"
    shown(page, address)
    first = page.locator(".place b").inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".place b")).not_to_have_text(first)
    here = page.locator(".place b").inner_text()
    with page.expect_response("**/question?*id=q1*"):
        page.evaluate(back)
    page.wait_for_timeout(100)
    expect(page.locator(".place b")).to_have_text(here)
    for key in "111":
        page.keyboard.press(key)
        page.wait_for_timeout(20)
    kept(page)
    page.reload()
    expect(page.locator(".question h2")).to_have_text("How hot is the oven?")


def test_by_tab_and_enter_alone(page: Page, address: str) -> None:
    """Without the keys for grades: a link leads past the questions, and after a grade the next text has the focus."""
    shown(page, address)
    page.locator("#find").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.grades button')"):
            break
    page.keyboard.press("Enter")
    expect(page.locator(".dots button.judged")).to_have_count(1)
    expect(page.get_by_role("group", name=re.compile("Passage [123] of 3"))).to_be_focused()


def test_one_that_is_refused_takes_no_others_with_it(page: Page, project: LabelProject) -> None:
    """Of what was decided while raggate did not answer, all is kept but what it refuses, and that is told."""
    session = project.open()
    with session.journal, served(session) as address:
        page.route("**/decide", lambda route: route.abort())
        shown(page, address)
        page.keyboard.press("1")
        page.keyboard.press("2")
        expect(page.locator("#saved")).to_have_text("2 not kept yet")
        first = session.order("q1", "ann")[0]
        session.pool.passages["q1"] = tuple(one for one in session.pool.passages["q1"] if one is not first)
        page.unroute("**/decide")
        kept(page)
        expect(page.locator("#problem")).to_contain_text("needs case and where")
    assert [json.loads(line)["grade"] for line in project.journal.read_text().splitlines()] == [2]


def test_a_page_of_an_earlier_start(page: Page, address: str) -> None:
    """A page whose address is not valid any more says so, and what it holds is not told as kept."""
    why = "raggate: open the address that `raggate label` printed, with its token"
    page.route("**/decide", lambda route: route.fulfill(status=403, body=why, content_type="text/plain"))
    shown(page, address)
    page.keyboard.press("1")
    expect(page.locator("#problem")).to_have_text(why)
    expect(page.locator("#saved")).to_have_text("1 not kept yet")


def start(project: LabelProject) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "raggate", "label", "runs/20260102_030405", "--as", "ann"],
        cwd=project.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stderr is not None
    return process, next(line.strip() for line in process.stderr if line.startswith("http"))


def test_a_kill_loses_nothing(page: Page, project: LabelProject) -> None:
    """After kill -9 each acknowledged key is there; a page says what is not kept."""
    process, address = start(project)
    shown(page, address)
    page.keyboard.press("3")
    page.keyboard.press("0")
    kept(page)
    process.kill()
    process.communicate()
    page.keyboard.press("2")
    expect(page.locator("#problem")).to_contain_text("not kept yet")
    expect(page.locator("#saved")).to_have_text("1 not kept yet")
    again = page.context.browser.new_context() if page.context.browser else None
    assert again is not None
    process, address = start(project)
    fresh = again.new_page()
    shown(fresh, address)
    expect(fresh.locator(".dots button.judged")).to_have_count(2)
    again.close()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 0


def test_a_page_of_another_site(page: Page, address: str, project: LabelProject, tmp_path: Path) -> None:
    """A form and a script of another page change nothing, even if they know the whole address; no frame shows it."""
    evil = tmp_path / "evil.html"
    body = '{"by":"eve","acts":[{"do":"grade","case":"q1","passage":"000000000000","grade":3}]}'
    form = f'<form method=post enctype=text/plain action="{address}decide" target=f>'
    form += f"<input name='{body}' value=x></form>"
    frames = f'<iframe name=f></iframe><iframe src="{address}"></iframe>'
    script = f"""document.forms[0].submit();
        const go = {{method: "POST", body: {json.dumps(body)}}};
        window.tries = Promise.allSettled([
          fetch("{address}decide", {{...go, mode: "no-cors"}}),
          fetch("{address}decide", {{...go, headers: {{"content-type": "application/json"}}}}),
          fetch("{address}overview").then((answer) => answer.text()),
        ]).then((all) => all.map((each) => each.status));"""
    evil.write_text(f"{form}{frames}<script>{script}</script>")
    page.goto(evil.as_uri())
    assert page.evaluate("window.tries") == ["rejected", "rejected", "rejected"]
    page.wait_for_timeout(300)
    assert project.journal.read_bytes() == b""
    assert not any("dough" in frame.content() for frame in page.frames[1:] if not frame.is_detached())


SEEDS = (*VECTORS, "__proto__", "${globalThis.ran=1}", "&lt;script&gt;")
QUESTIONS = 10_000


@pytest.mark.timeout(120)
def test_ten_thousand_hostile_texts(page: Page, tmp_path: Path) -> None:
    """10,000 hostile questions, and notes, headings and tags like them: nothing runs, nothing leaves."""
    places = [{"rel_path": "a.md"}]
    rows = [
        {
            "id": f"{n} {SEEDS[n % len(SEEDS)]}",
            "question": f"{n} {SEEDS[n % len(SEEDS)]} {SEEDS[(n // len(SEEDS)) % len(SEEDS)]}".replace("\u0000", "x"),
            "answerable": n < 40,
            "gold_supports": places if n < 40 else [],
            "tags": [SEEDS[(n + 3) % len(SEEDS)][:200]],
            "category": SEEDS[(n + 5) % len(SEEDS)][:200],
            "expected_key_facts": [SEEDS[(n + 7) % len(SEEDS)]],
        }
        for n in range(QUESTIONS)
    ]
    texts = [seed.replace("\u0000", "") for seed in SEEDS]
    notes = {f"h{n}.md": f"# {text}\n\nabout it: {text}\n\n- {text}: {text}\n" for n, text in enumerate(texts)}
    notes["a.md"] = "".join(f"{text}\n\n" for text in texts)
    project = make_label_project(tmp_path, rows, notes, [])
    chunks = [
        make_chunk(f"c{n}", rel_path=f"h{n}.md", heading_path="", text=f"about it: {text}")
        for n, text in enumerate(texts)
    ]
    session = project.open()
    session.lists = {row["id"]: [tuple(chunks)] for row in rows[:40]}
    session.reload()
    alarms: list[str] = []
    page.on("dialog", lambda dialog: (alarms.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: alarms.append(str(error)))
    with session.journal, served(session, annotator=f"</script><img src=x onerror={CALL}>") as url:
        shown(page, url)
        page.uncheck("#open-only")
        page.click("#questions .more")
        expect(page.locator("#questions li")).to_have_count(QUESTIONS, timeout=20_000)
        for _ in range(40):
            page.keyboard.press("3")
        kept(page)
        page.click("#tab-review")
        expect(page.locator(".diff .in").first).to_be_visible()
        found = page.evaluate(
            "() => [globalThis.ran ?? null, document.querySelectorAll('script').length,"
            " document.querySelectorAll('img, iframe, svg, link, base, form, style').length, location.href]"
        )
    assert alarms == []
    assert found == [None, 2, 1, url]
    assert re.search(r"onerror", project.journal.read_text())


def test_a_phone_shows_the_title_and_whose_name_the_field_takes(page: Page, address: str) -> None:
    """On a narrow screen the heading and the label of the name are there."""
    page.set_viewport_size({"width": 390, "height": 780})
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("your name", exact=True)).to_be_visible()
    expect(page.get_by_label("your name")).to_be_visible()
