"""The cells of a table as a reader sees them."""

import csv
import io
from html.parser import HTMLParser


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


class Cells(HTMLParser):
    """The cells of an HTML table, as lines of text; one that spans columns is repeated in each."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.inside, self.span = [], False, 1
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside, self.span = True, int(dict(attrs).get("colspan", 1))
        elif tag == "br":
            self.rows[-1][-1] += "\n"

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1] += self.rows[-1][-1:] * (self.span - 1)
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def cells(suffix, content):
    """Return a table's rows of cells; lines within a cell are joined by a line break, heads include their group's."""
    if suffix == ".html":
        rows = Cells(content).rows
        if rows[0][0] == "":
            groups, heads, *body = rows
            rows = [[within(group, head) for group, head in zip(groups, heads, strict=True)], *body]
        return rows
    lines = [line for line in content.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [[cell.replace("<br>", "\n") for cell in row] for row in rows[:1] + rows[2:]]


def within(group, head):
    """Return a column's head with its group's, as in a table with one row of heads."""
    return f"{head} ({group[0].lower()}{group[1:]})" if group else head
