"""A template, values and data -> one HTML document that loads nothing, runs nothing foreign and sends nothing.

Templates, style sheets and scripts are files of `assets` folders in the package. Foreign text gets into a document in
two ways: as a value of a template, where it is made printable and escaped, and as data for the page's own script, in
an element that no browser executes. The policy lets only that script and those styles through, by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any

from raggate.base.escape import in_script, plain
from raggate.base.jsonio import dumps

if TYPE_CHECKING:
    from jinja2 import Environment

OWN = "raggate.reports.page"
"""The package whose assets every page has: `base.html` and `style.css`."""

LONGEST_VALUE = 4000
"""Characters of a value that a template shows."""


def render(
    template: str,
    values: Mapping[str, Any],
    *,
    title: str,
    packages: Sequence[str] = (OWN,),
    styles: Sequence[str] = ("style.css",),
    scripts: Sequence[str] = (),
    data: Mapping[str, object] | None = None,
    policy: Sequence[str] = (),
) -> str:
    """Render a template that extends `base.html`; a text among the values is one printable line and never markup.

    `packages` are those whose `assets` folders hold the files, in this order. `data`, by the id of its element, is what
    the scripts read with `JSON.parse`: its texts are as they came, and may only become text nodes. `policy` holds
    further directives for a page that is served, such as `connect-src 'self'`.
    """
    places = tuple(packages)
    style = "".join(asset(places, name) for name in styles)
    script = "".join(asset(places, name) for name in scripts)
    page = environment(places).get_template(template)
    return page.render(
        **values,
        title=title,
        style=_raw(style),
        script=_raw(script),
        policy=_policy(style, script, policy),
        data={name: _raw(in_script(dumps(value).decode())) for name, value in (data or {}).items()},
    )


def _policy(style: str, script: str, more: Sequence[str]) -> str:
    """Write a policy by which nothing is loaded, sent or executed but these two."""
    allowed = {"style-src": style, "script-src": script}
    hashes = {kind: b64encode(sha256(text.encode()).digest()).decode() for kind, text in allowed.items() if text}
    own = [f"{kind} 'sha256-{value}'" for kind, value in hashes.items()]
    directives = ["default-src 'none'", *own, "base-uri 'none'", "form-action 'none'"]
    return "; ".join([*directives, "require-trusted-types-for 'script'", "trusted-types 'none'", *more])


@cache
def asset(packages: Sequence[str], name: str) -> str:
    """Read a file of the first package that has it."""
    places = (resources.files(package) / "assets" / name for package in packages)
    return next((place for place in places if place.is_file()), resources.files(OWN) / name).read_text(encoding="utf-8")


@cache
def environment(packages: Sequence[str]) -> Environment:
    """Return the templates of some packages; every value that they show is made printable and escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package, "assets") for package in packages]),
        autoescape=True,
        # a text is one printable line, unless it is markup of our own
        finalize=lambda value: plain(value, limit=LONGEST_VALUE) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _raw(text: str) -> object:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own files, and JSON without any character that HTML knows
