"""Show Markdown as GitHub would: `python -m tools.preview_comment page.md > page.html`, then open it in a browser."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path

from markdown_it import MarkdownIt

_ALERTS = {
    "NOTE": ("#0969da", "Note"),
    "TIP": ("#1a7f37", "Tip"),
    "IMPORTANT": ("#8250df", "Important"),
    "WARNING": ("#9a6700", "Warning"),
    "CAUTION": ("#cf222e", "Caution"),
}
_ALERT = re.compile(r"<blockquote>\n<p>\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\n(.*?)</blockquote>", re.DOTALL)

_STYLE = """
body { margin: 16px; font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif;
       color: #1f2328; background: #fff; }
main { border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden; }
header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e; }
article { padding: 16px; overflow-wrap: break-word; }
article > :first-child { margin-top: 0; }
h1, h2 { border-bottom: 1px solid #d1d9e0b3; padding-bottom: .3em; }
h2 { font-size: 1.5em; margin: 24px 0 16px; } h3 { font-size: 1.25em; margin: 24px 0 16px; }
p, ul, table, details, pre { margin: 0 0 16px; }
ul { padding-left: 2em; } li + li { margin-top: .25em; } li ul { margin: 0; }
table { display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse; }
th, td { border: 1px solid #d1d9e0; padding: 6px 13px; } th { font-weight: 600; }
tr:nth-child(2n) { background: #f6f8fa; }
code { background: #818b981f; border-radius: 6px; font: 85% ui-monospace, monospace; padding: .2em .4em; }
pre { background: #f6f8fa; border-radius: 6px; overflow: auto; padding: 16px; }
pre code { background: none; padding: 0; }
a { color: #0969da; } sub { font-size: 75%; line-height: 0; position: relative; vertical-align: baseline;
    bottom: -.25em; }
summary { cursor: pointer; }
.alert { border-left: .25em solid; padding: .5rem 1rem; margin: 0 0 16px; color: #1f2328; }
.alert p { margin: 0; } .alert .title { font-weight: 500; margin-bottom: 4px; }
"""


def page(markdown: str) -> str:
    """Render Markdown as a page that looks like a comment on GitHub."""
    body = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown)
    body = _ALERT.sub(_alert, body)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>preview</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style><main><header>github-actions <small>bot</small> commented</header>"
        f"<article>{body}</article></main></html>\n"
    )


def _alert(match: re.Match[str]) -> str:
    color, title = _ALERTS[match[1]]
    return (
        f'<div class="alert" style="border-color: {color}"><p class="title" style="color: {color}">'
        f"{html.escape(title)}</p><p>{match[2]}</div>"
    )


if __name__ == "__main__":
    sys.stdout.write(page(Path(sys.argv[1]).read_text(encoding="utf-8")))
