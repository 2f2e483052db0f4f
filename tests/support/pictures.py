"""Checks of the text of figures."""

import html
import itertools
import re

from matplotlib.text import Text
from matplotlib.transforms import Bbox


def words(svg):
    """Return the texts of an SVG, which are drawn as paths, each with its text in a comment."""
    assert b"<text" not in svg
    return [html.unescape(text) for text in re.findall("<!-- (.*?) -->", svg.decode(), re.DOTALL)]


def beyond_view(axis, bounds):
    """Return the labels of ticks outside these bounds, which are not drawn."""
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    low, high = sorted(bounds)
    return {label for tick in ticks if not low <= tick.get_loc() <= high for label in (tick.label1, tick.label2)}


def edges(axes):
    """Yield the four sides of the axes."""
    box = axes.get_window_extent()
    for x in (box.x0, box.x1):
        yield Bbox.from_extents(x, box.y0, x, box.y1)
    for y in (box.y0, box.y1):
        yield Bbox.from_extents(box.x0, y, box.x1, y)


def legible(figure, *, across=False):
    """Check that no text is too small, overlaps another text or an edge of axes, or leaves the figure.

    across: whether texts may lie across the edges of axes.
    """
    hidden = set()
    for axes in figure.axes:
        hidden |= beyond_view(axes.xaxis, axes.get_xlim()) | beyond_view(axes.yaxis, axes.get_ylim())
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text() and text not in hidden]
    assert min(text.get_fontsize() for text in texts) >= 7
    # Of an annotation without its arrow.
    boxes = [(text.get_text(), Text.get_window_extent(text).padded(0.5)) for text in texts]
    for (one, box), (other, another) in itertools.combinations(boxes, 2):
        assert not box.overlaps(another), f"{one!r} lies on {other!r}"
    sides = [] if across else [side for axes in figure.axes for side in edges(axes)]
    for text, box in boxes:
        assert not box.count_overlaps(sides), f"{text!r} touches an edge of axes"
        inside = figure.bbox.padded(-1)
        assert inside.containsx(box.x0) and inside.containsx(box.x1), text
        assert inside.containsy(box.y0) and inside.containsy(box.y1), text
