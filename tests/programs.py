"""What a program over standard input and output can do wrong, and the sentence that says so."""

from __future__ import annotations

from project import Project

CONFIG = """\
suite: small
golden: golden.jsonl
vault: {{personal: vault/personal, work: vault/work}}
api:
  command: {command}
  stdio: true
  ready: {{timeout: 20, settle: 0.05}}
ask:
  adapter: mapped
  timeout: 20
  concurrency: 4
  body: {{question: "{{question}}", k: "{{k}}", vaults: "{{vaults}}"}}
  response:
    chunks: {{list: hits, rel_path: path, path_prefix: "{{vault}}/", heading_path: {headings}, text: text}}
"""
"""A gate on a program that tells headings by a key of its own."""

BAD = [
    ("garbage", "no answer within 1 s. Its standard output ends with '<html>"),
    ("hangs", "no answer within 1 s"),
    ("late", "no answer within 1 s"),
    ("dies", "The API exited with code 3 after 0 of"),
    ("other_id", "the program answers request 1001, which raggate did not send, or which has its answer already"),
    ("floods", "the program wrote a line of more than 8388608 bytes"),
    ("fails", "the program answers with an error: 'the index is corrupt'"),
    ("no_hits", "hits: expected a list, found"),
    ("never_ready", 'the program did not write a line {"ready": true}'),
    ("asks_for_input", "Its standard output ends with 'Password:'"),
    ("counts_badly", "documents: expected a whole number, 0 or more, found -1"),
]
"""Behaviours of `fakes/program.py`, each with what the output of raggate holds then."""


def hurried(project: Project, *, ready: float) -> None:
    """Write `hurried.yml`, by which an answer has one second, and being ready so many."""
    text = project.config.read_text()
    text = text.replace("timeout: 20\n", "timeout: 1\n").replace("timeout: 20, settle", f"timeout: {ready}, settle")
    project.config.with_name("hurried.yml").write_text(text)
