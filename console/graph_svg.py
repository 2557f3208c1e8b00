"""Draws the lanes of an upgrade graph as SVG. Its text is in the rows beside it: the drawing has none. Pure."""

from __future__ import annotations

from markupsafe import Markup

from console.graph_layout import ROW_HEIGHT, Dot, Layout, Line

_RADII = {"run": 7, "reach": 6, "": 6, "off": 4}
_HALO = 12


def svg(drawn: Layout) -> Markup:
    """The drawing: numbers and class names of this module alone, nothing of a catalog."""
    height = len(drawn.rows) * ROW_HEIGHT
    lines = "".join(_line(drawn, each, height) for each in drawn.lines)
    dots = "".join(_dot(drawn, each) for each in drawn.dots)
    size = f'width="{drawn.width}" height="{height}" viewBox="0 0 {drawn.width} {height}"'
    return Markup(f'<svg aria-hidden="true" {size}>{lines}{dots}</svg>')


def _y(row: int, height: int) -> int:
    return min(row * ROW_HEIGHT + ROW_HEIGHT // 2, height)


def _line(drawn: Layout, each: Line, height: int) -> str:
    x, start, end = drawn.x(each.lane), _y(each.old, height), _y(each.new, height)
    side = x + round(drawn.lane_width * 0.55)
    classes = ["g-edge"]
    if each.is_span:
        classes.append("span")
        shape = f"M{x} {end}H{side}V{start}H{x}"
    elif each.is_main:
        shape = f"M{x} {start}V{end}"
    else:
        classes.append("skip")
        shape = f"M{x} {start}C{side} {start} {side} {end} {x} {end}"
    if each.is_path:
        classes.append("path")
    data = f'data-lane="{each.lane}" data-from="{each.old}" data-to="{each.new}"'
    return f'<path class="{" ".join(classes)}" {data} d="{shape}"/>'


def _dot(drawn: Layout, each: Dot) -> str:
    x, y = drawn.x(each.lane), each.row * ROW_HEIGHT + ROW_HEIGHT // 2
    radius = min(_RADII[each.state], max(drawn.lane_width // 2, 2))
    halo = f'<circle class="g-halo" cx="{x}" cy="{y}" r="{_HALO}"/>' if each.state == "run" else ""
    name = f"g-node {each.state}".strip()
    return f'{halo}<circle class="{name}" cx="{x}" cy="{y}" r="{radius}"/>'
