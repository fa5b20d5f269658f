"""raggate.yml: what is accepted, what it defaults to, and how every mistake is named."""

from __future__ import annotations

import json
import time
from importlib.resources import files

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import UsageError
from raggate.config import schema as config
from raggate.config.gate_settings import DEFAULT_GATED, Rule
from raggate.config.json_schema import FILE
from raggate.config.schema import Config
from tables import each_row

MINIMAL = "vault: {notes: vault}\napi: {url: 'http://127.0.0.1:9000'}\n"
"""The smallest configuration: two lines, so that what a test appends begins in line 3."""


def load(text: str) -> Config:
    return config.load(text.encode(), "raggate.yml")


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load(text)
    return str(caught.value)


def anna(keys: str) -> str:
    """Write a principal with these keys."""
    return f"ask: {{principals: {{anna: {{{keys}}}}}}}"


def test_two_lines_are_enough() -> None:
    """The rest has defaults, and the baseline is named after the suite."""
    assert load(MINIMAL).baseline_path == "baselines/default.json"
    assert load(MINIMAL + "suite: notes").baseline_path == "baselines/notes.json"


@each_row(
    ("text", "message"),
    [
        ("zzzz: 1", "3: unknown key 'zzzz'. Known here: suite, about,"),
        ("goldn: x", "3: unknown key 'goldn'. Did you mean 'golden'?"),
        ("gate: {tolernce: 1}", "3: unknown key 'gate.tolernce'. Did you mean 'tolerance'?"),
        (
            "gate:\n  metrics:\n    hit_at_5: {flor: 1}",
            "5: unknown key 'gate.metrics.hit_at_5.flor'. Did you mean 'floor'?",
        ),
        ("questions: [smoke]", "3: questions[0]: expected text that matches"),
        ("ask:\n  k: '5'", "4: ask.k: expected a valid integer, found '5'"),
        ("ask: {k: 5.0}", "3: ask.k: expected a valid integer, found 5.0"),
        ("ask: {modes: hybrid}", '3: ask.modes: expected a list, such as ["hybrid"], found '),
        ("ask: {modes: [a, 'b c']}", "3: ask.modes[1]: expected text that matches"),
        (
            "ask: {modes: [fts, bm25]}",
            "3: ask.modes: expected one of 'fts' and 'bm25', which are one mode, found ['fts', 'bm25']",
        ),
        (
            "ask:\n  adapter: mapped\n  path: /s?q={question}\n  headers: {X: '{env.GH_TOKEN}'}\n"
            "  response: {chunks: {list: hits, rel_path: p}}",
            "6: ask.headers: X: expected a variable that is not the runner's, Docker's or raggate's, found 'GH_TOKEN'",
        ),
        ("ask: 3", "3: ask: expected a mapping, found 3"),
        ("score: {k: [5, 1]}", "3: score: expected distinct cut-offs in ascending order"),
        ("suite: 2024.01", "3: suite: expected a valid string, found 2024.01"),
        ("suite: ../x", "3: suite: expected text that matches"),
        ("golden: ../x", "3: golden: expected a relative path inside the repository"),
        ("golden: /etc/x", "3: golden: expected a relative path"),
        ("golden: 'a\\b'", "3: golden: expected a relative path"),
        ('golden: "o\\n::add-mask::x"', "3: golden: expected a path of printable characters"),
        ("ask: {adapter: kebab}", "kebab runs a program for the questions: expected `api.command`"),
        ("suite: a\nsuite: b", "4: key 'suite' occurs twice"),
        ("<<<<<<< HEAD", "3: unresolved merge conflict"),
        ("suite: [", "3: not valid YAML"),
        ("faults: {a: {}}", "faults.a: expected variables of the API, such as `{SEARCH: 'off'}`, or the path of a"),
        ("faults: {a: {X: 1}}", "faults.a: expected text for X: put 1 in quotes"),
        ("faults: {a: ../a.patch}", "faults.a: expected a relative path inside the repository"),
        ("faults: {a: {'X=Y': '1'}}", "3: faults.a"),
        (anna("headers: {}, sees: []"), "expected 'headers' or 'vaults', so that the API can see who asks"),
        (anna("headers: {Host: x}, sees: []"), "the name of a header that raggate does not set, found 'Host'"),
        (anna("headers: {X: '{env.GITHUB_TOKEN}'}, sees: []"), "principals.anna.headers: X: expected a variable that"),
        (anna("headers: {X: '{question}'}, sees: []"), "expected placeholders among none, found {question}"),
        (anna('headers: {X: "a\\tb"}, sees: []'), "expected printable ASCII characters"),
        (
            anna("headers: {X: a}, sees: [home]"),
            "ask.principals.anna.sees: expected one of the vaults notes, found 'home'",
        ),
        (anna("vaults: [home], sees: []"), "ask.principals.anna.vaults: expected one of the vaults notes"),
        (anna("headers: {X: a}, sees: [notes/../home]"), "expected a vault, or a folder or note in one"),
        ("private: {places: [elsewhere]}", "private.places: expected one of the vaults notes, found 'elsewhere'"),
    ],
)
def test_mistake(text: str, message: str) -> None:
    """A mistake is named with file, line, key, what was expected and what was found."""
    refused = refusal(MINIMAL + text)
    assert refused.startswith("raggate.yml:")
    assert message in refused


@each_row(
    ("text", "message"),
    [
        ("", "raggate.yml: expected a mapping with at least 'vault' and 'api'"),
        ("- a", "raggate.yml: expected a mapping"),
        ("api: {url: 'http://x'}", "raggate.yml:1: key 'vault' is missing"),
        ("vault: {a: v}", "raggate.yml:1: key 'api' is missing"),
        ("api: {url: 'http://x'}\nvault:\n  a b: v", "raggate.yml:3: vault.a b: expected text that matches"),
        ("vault: {a: v}\napi: {}", "raggate.yml:2: api: expected exactly one of 'command', 'container' and 'url'"),
        (
            "vault: {a: v}\napi:\n  command:\n    run: 'uvicorn app:app --port {port}'",
            'raggate.yml:4: api.command.run: expected a list, such as ["uvicorn", "app:app", "--port", "{port}"]',
        ),
        ("vault: {a: v}\napi:\n  command:\n    cwd: .", "raggate.yml:3: key 'api.command.run' is missing"),
        (
            "vault: {a: v}\napi:\n  command: {run: [x], ruin: 1}",
            "raggate.yml:3: unknown key 'api.command.ruin'. Did you mean 'run'?",
        ),
        (
            "vault: {a: v}\napi: {command: {run: [k]}}\nask: {adapter: kebab, principals: {a: {vaults: [], sees: []}}}",
            "raggate.yml:3: ask.principals: remove it, as kebab",
        ),
    ],
)
def test_mistake_in_what_must_be_there(text: str, message: str) -> None:
    """What is missing or occurs twice is named with the line of what encloses it."""
    assert message in refusal(text)


@each_row(
    "text",
    [
        "".join(f"k{number}: 1\n" for number in range(6_000)),
    ],
)
def test_thousands_of_mistakes(text: str) -> None:
    """A file that is wrong in thousands of places is refused as fast as any, with ten of them."""
    begun = time.process_time()
    assert refusal(MINIMAL + text).count("\n") == 10
    assert time.process_time() - begun < 10  # a minute once, and more


def test_problems_are_sorted_and_cut() -> None:
    """All problems are told at once, in the order of the file, ten at most."""
    lines = refusal(MINIMAL + "".join(f"zzz{number}: 1\n" for number in range(12))).split("\n")
    assert [line.split(":")[1] for line in lines[:-1]] == [str(number) for number in range(3, 13)]
    assert lines[-1] == "… and 2 more"


def test_typo_in_a_rule_is_one_problem() -> None:
    """A misspelt key of a rule is told once, not again for every other form that a metric may take."""
    assert "\n" not in refusal(MINIMAL + "gate: {metrics: {hit_at_5: {flor: 1}}}")


def slice_of(key: str, value: object) -> str:
    name, _, inner = key.partition(".")
    return f"{MINIMAL}{name}: {{{inner}: {value}}}"


@each_row(
    ("key", "least", "most", "below", "above"),
    [
        ("ask.k", 1, 1000, 0, 1001),
        ("ask.timeout", 0.001, 86_400, 0, 86_401),
        ("ask.rate", 0.1, 10_000, 0, 10_001),
        ("score.k", "[1]", "[1000]", "[0]", "[1001]"),
        ("gate.min_cases", 1, 10**9, 0, None),
    ],
)
def test_bounds(key: str, least: object, most: object, below: object, above: object) -> None:
    """A number is accepted up to its bounds and refused beyond them, with its key."""
    for value in (least, most):
        load(slice_of(key, value))
    for value in (below, above):
        if value is not None:
            assert f"raggate.yml:3: {key}" in refusal(slice_of(key, value))


@each_row("value", [".inf", "-.inf", ".nan"])
@each_row("key", ["floor", "ceiling", "tolerance"])
def test_limits_of_a_rule_are_finite(key: str, value: str) -> None:
    """No limit of a rule may be infinite or not a number, as it would never be crossed."""
    assert f"gate.metrics.mrr_at_5.{key}: expected" in refusal(
        f"{MINIMAL}gate: {{metrics: {{mrr_at_5: {{{key}: {value}}}}}}}"
    )


@each_row(
    "url",
    [
        "x:80",
        "http://",
        "http://[::1",
        "http://x:0",
        "http://x/a b",
        "http://a..b",
        f"http://{'a' * 64}.example",
    ],
)
def test_url_is_refused(url: str) -> None:
    """What is no HTTP URL is refused with an example of one."""
    assert "raggate.yml:2: api.url: expected a URL such as http://127.0.0.1:9000" in refusal(
        f"vault: {{a: v}}\napi: {{url: '{url}'}}"
    )


def test_url_with_password_is_refused() -> None:
    """Credentials do not belong into a file that is committed."""
    for login in ("u:p", "u", ":p", ":", ""):
        text = f"vault: {{a: v}}\napi: {{url: 'http://{login}@x'}}"
        assert "expected a URL without user name and password" in refusal(text), login


def test_url_with_more_than_a_path_is_refused() -> None:
    """What paths are added to the end of has no query and no fragment, not even an empty one."""
    for end in ("?key=1", "/v1?", "#part", "/#"):
        assert "expected a URL without '?' and '#'" in refusal(f"vault: {{a: v}}\napi: {{url: 'http://x{end}'}}"), end


@each_row(
    ("gate", "metric", "expected"),
    [
        ("{}", "hit_at_5", Rule(tolerance=0.05)),
        ("{tolerance: 0.01}", "hit_at_5", Rule(tolerance=0.01)),
        ("{metrics: {hit_at_5: 0.02}}", "hit_at_5", Rule(tolerance=0.02)),
        ("{metrics: {hit_at_5: 0}}", "hit_at_5", Rule(tolerance=0)),
        ("{metrics: {hit_at_5: false}}", "hit_at_5", None),
        ("{metrics: {hit_at_5: off}}", "hit_at_5", None),
        ("{metrics: {hit_at_5: {}}}", "hit_at_5", Rule(tolerance=0.05)),
        ("{tolerance: 0.03, metrics: {hit_at_5: {floor: 0.8}}}", "hit_at_5", Rule(tolerance=0.03, floor=0.8)),
        ("{metrics: {ndcg_at_5: 0.1}}", "ndcg_at_5", Rule(tolerance=0.1)),
        ("{metrics: {ndcg_at_5: 0.1}}", "hit_at_5", Rule(tolerance=0.05)),
    ],
)
def test_rules(gate: str, metric: str, expected: Rule | None) -> None:
    """A metric's rule is its own, filled up from the gate's defaults."""
    assert load(f"{MINIMAL}gate: {gate}").gate.rules().get(metric) == expected


def test_what_is_private_what_principals_see_and_what_may_fail() -> None:
    """Places, tags and front matter are private; a principal has headers or vaults; a fault is variables or a patch."""
    private = "private: {places: [notes/In], tags: [secret], front_matter: {private: [true, 'yes']}}\n"
    for keys in ("headers: {X: '{env.KEY}'}, sees: [notes]", "vaults: [notes], sees: []"):
        assert load(MINIMAL + private + anna(keys)).private.marks
    faults = load(MINIMAL + "faults: {a: {X: '1'}, b: ./faults/b.patch}").faults
    assert faults == {"a": {"X": "1"}, "b": "faults/b.patch"}


def test_rules_by_default() -> None:
    """Without a word in the configuration exactly the default metrics are gated."""
    assert tuple(load(MINIMAL).gate.rules()) == DEFAULT_GATED


@given(st.binary(max_size=60))
def test_any_bytes_load_or_are_refused(data: bytes) -> None:
    """No file at all crashes the loader."""
    with pytest.raises(UsageError, match=r"^raggate\.yml"):
        # random bytes never hold both keys that must be there
        config.load(data, "raggate.yml")


@given(
    st.sampled_from(sorted(Config.model_fields)),
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["a", "../b", "", "hybrid", ".inf", "off"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["k", "url", "run", "command", "metrics", "hit_at_5", "ready"]), inner)
        ),
        max_leaves=6,
    ),
)
def test_any_value_loads_or_names_its_key(key: str, value: object) -> None:
    """Whatever stands under a known key is accepted, or refused with that key and its line."""
    import json

    lines = {"vault": "vault: {a: v}", "api": "api: {url: 'http://x'}"}
    others = [text for name, text in lines.items() if name != key]
    try:
        load("\n".join([*others, f"{key}: {json.dumps(value)}"]))
    except UsageError as error:
        for line in str(error).split("\n"):
            assert line.startswith((f"raggate.yml:{len(others) + 1}: ", "… and "))
            assert key in line or line.startswith("… and ")


def test_schema_covers_every_key() -> None:
    """The JSON Schema for editors has every key at the top, each with a description or a title of its own."""
    schema = json.loads(files("raggate.config").joinpath(FILE).read_bytes())
    assert set(schema["properties"]) == set(Config.model_fields)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"vault", "api"}


WAIVER = "owner: ada, reason: reindexing, expires: 2026-12-31"


@each_row(
    ("text", "expires"),
    [
        (f"waivers: [{{metric: hit_at_5, {WAIVER}}}]", "2026-12-31"),
        ("waivers: [{case: q1, mode: bm25, owner: a, reason: r, expires: '2026-01-02'}]", "2026-01-02"),
    ],
)
def test_waiver(text: str, expires: str) -> None:
    """A waiver is of a metric or of a case and has an owner, a reason and a last day, in quotes or not."""
    loaded = load(MINIMAL + text)
    assert [waiver.expires for waiver in loaded.waivers] == [expires]
    assert Config.model_validate(loaded.model_dump(mode="json")) == loaded


@each_row(
    ("text", "message"),
    [
        (f"{{{WAIVER}}}", "waivers[0]: expected exactly one of 'metric' and 'case'"),
        (f"{{metric: m, case: c, {WAIVER}}}", "waivers[0]: expected exactly one of 'metric' and 'case'"),
        (f"{{metrik: m, {WAIVER}}}", "unknown key 'waivers[0].metrik'. Did you mean 'metric'?"),
        ("{metric: m, reason: r, expires: 2026-01-01}", "key 'waivers[0].owner' is missing"),
        ("{metric: m, owner: ' ', reason: r, expires: 2026-01-01}", "waivers[0].owner: expected some text"),
        ("{metric: m, owner: a, reason: r, expires: soon}", "waivers[0].expires: expected a date such as"),
        ("{metric: m, owner: a, reason: r, expires: 2026-02-30}", "raggate.yml:3: "),
    ],
)
def test_mistake_in_a_waiver(text: str, message: str) -> None:
    """A waiver that does not say for what, by whom or until when is refused with its place in the list."""
    assert message in refusal(f"{MINIMAL}waivers: [{text}]")


@each_row(
    ("ask", "api", "allowed"),
    [
        ("{}", "url: http://127.0.0.1:1", True),
        ("{repeat_sample: 0}", "url: http://127.0.0.1:1", False),
        ("{repeat_sample: 0, repeat: 2}", "url: http://127.0.0.1:1", True),
        ("{adapter: kebab}", "command: {run: [kebab]}", False),
        ("{adapter: kebab, repeat: 2}", "command: {run: [kebab]}", True),
    ],
)
def test_what_must_be_deterministic_is_asked_twice(ask: str, api: str, allowed: bool) -> None:
    """The invariant is refused where nothing would be asked twice: it could never fail."""
    text = f"vault: {{w: v}}\napi: {{{api}}}\nask: {ask}\ninvariants: {{must_be_deterministic: error}}\n"
    if allowed:
        assert load(text).invariants.must_be_deterministic == "error"
    else:
        assert "expected ask.repeat above 1, or for an API ask.repeat_sample" in refusal(text)


def test_a_preview_asks_once() -> None:
    """What decides nothing costs as little as it can, and is not held to what it then cannot show."""
    text = "vault: {w: v}\napi: {url: 'http://127.0.0.1:1'}\nask: {repeat: 5}\n"
    once = load(f"{text}invariants: {{must_be_deterministic: warn}}\n").asking_once()
    assert (once.ask.repeat, once.ask.repeat_sample, once.invariants.must_be_deterministic) == (1, 0, "off")
