"""What raggate costs beside the API: `raggate check` against a bare loop over the same requests, in one process tree.

Prints CPU seconds of raggate's own process (the API and its build are not counted) and wall time, as ratios to a bare
httpx loop that sends the same requests one after the other and reads the answers; and the time of `raggate --help`
as a ratio to the bare interpreter. Run with `make bench`.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[1]
PORT = 19377
REPEATS = 5


def measured(words: list[str], cwd: Path) -> tuple[float, float]:
    """Run a command; give its CPU seconds (its own, not its children's that it did not wait for) and wall seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, cwd=cwd, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime), time.monotonic() - begin


def median(run: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """Repeat a measurement and give the medians."""
    rounds = [run() for _ in range(REPEATS)]
    return statistics.median(cpu for cpu, _ in rounds), statistics.median(wall for _, wall in rounds)


BARE = """
import json, sys, httpx
client = httpx.Client(trust_env=False)
for line in open(sys.argv[2], encoding="utf-8"):
    case = json.loads(line)
    body = {"question": case["question"], "k": 5, "mode": "hybrid"}
    body |= {"vaults": case["vaults"], "folders": case["folders"]}
    client.post(sys.argv[1] + "/api/v1/ask?debug=true&retrieval_only=true", json=body).json()
"""


def wait_until_up(url: str) -> None:
    """Wait for the example API."""
    for _ in range(200):
        try:
            if httpx.get(f"{url}/api/health", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.05)
    raise SystemExit("the example API did not come up")


def main() -> None:
    """Boot the example API once, measure, print."""
    with tempfile.TemporaryDirectory() as scratch:
        binary, place = Path(scratch, "notes-api"), Path(scratch)
        subprocess.run(["go", "build", "-o", binary, "."], cwd=ROOT / "examples/notes-api", check=True)
        vaults = {f"VAULT_{name.upper()}_PATH": str(ROOT / "golden/vault" / name) for name in ("personal", "work")}
        url = f"http://127.0.0.1:{PORT}"
        api = subprocess.Popen([binary], env={**os.environ, **vaults, "API_PORT": str(PORT)}, stdout=subprocess.DEVNULL)
        try:
            wait_until_up(url)
            report(url, place)
        finally:
            api.terminate()
            api.wait()


def report(url: str, place: Path) -> None:
    """Measure against the running API and print a table."""
    settings = (ROOT / "raggate.yml").read_text(encoding="utf-8")
    head, _, rest = settings.partition("api:")
    config = ROOT / ".raggate-bench.yml"
    config.write_text(f"{head}api: {{url: '{url}'}}\nask:{rest.partition('ask:')[2]}", encoding="utf-8")
    golden = ROOT / "golden/eval_set.jsonl"
    try:
        gate = median(
            lambda: measured([sys.executable, "-m", "raggate", "check", "-c", str(config), "--out", str(place)], ROOT)
        )
    finally:
        config.unlink()
    bare = median(lambda: measured([sys.executable, "-c", BARE, url, str(golden)], ROOT))
    nothing = median(lambda: measured([sys.executable, "-c", "pass"], ROOT))
    helped = median(lambda: measured([sys.executable, "-m", "raggate", "--help"], ROOT))
    cases = sum(1 for line in golden.read_text(encoding="utf-8").splitlines() if json.loads(line))
    print(f"{cases} questions, medians of {REPEATS} rounds, Python {sys.version.split()[0]}")
    print(f"{'':28}{'CPU s':>8}{'wall s':>8}{'CPU ratio':>11}{'wall ratio':>12}")
    for name, (cpu, wall), (base_cpu, base_wall) in (
        ("bare loop", bare, bare),
        ("raggate check", gate, bare),
        ("python -c pass", nothing, nothing),
        ("raggate --help", helped, nothing),
    ):
        print(f"{name:28}{cpu:8.2f}{wall:8.2f}{cpu / base_cpu:11.2f}{wall / base_wall:12.2f}")


if __name__ == "__main__":
    main()
