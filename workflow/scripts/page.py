"""HTML that needs no other file. Texts are escaped here."""

import html

import pandas as pd

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #222 }
h1 { font-size: 1.3em } h2 { font-size: 1.1em; margin-top: 2em } p { max-width: 60em }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: .25em .8em; text-align: left; vertical-align: top; white-space: nowrap }
tr { border-bottom: 1px solid #ccc } thead tr { border-bottom: 2px solid #222 }
pre { font-size: 13px }
"""


def page(title: str, *parts: str) -> str:
    """A page of parts, which are HTML."""
    title = html.escape(title)
    head = f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n<style>{STYLE}</style>'
    return "\n".join([head, f"<h1>{title}</h1>", *parts, "</html>\n"])


def heading(text: str) -> str:
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def table(frame: pd.DataFrame) -> str:
    """A table without the index; a word where it has no rows."""
    return paragraph("None.") if frame.empty else frame.to_html(index=False, border=0, justify="left")
