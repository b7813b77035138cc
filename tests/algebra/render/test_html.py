import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from algebra import DimMismatchError, LinearLayout
from algebra.encodings import NvidiaMma
from algebra.render import Clip, to_html

MMA = NvidiaMma(
    version=(2, 0), warps_per_cta=(1, 2), instr_shape=(16, 8)
).to_linear_layout([16, 16])
VOID = {"meta", "input", "br"}


class Balance(HTMLParser):
    """Follow the open elements, and collect what would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [name for name, _ in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("layout", [LinearLayout.empty(), MMA])
def test_a_page_is_balanced_and_loads_nothing(layout: LinearLayout) -> None:
    page = to_html(layout, "<mma & more>")
    balance = Balance()
    balance.feed(page)
    assert not balance.open
    assert not balance.loads
    assert "<h1>&lt;mma &amp; more&gt;</h1>" in page


def test_a_page_has_picture_bases_listing_and_switch() -> None:
    page = to_html(MMA, color_by="warp")
    start, end = page.index("<svg"), page.index("</svg>") + len("</svg>")
    ET.fromstring(page[start:end])
    assert 'value="warp" checked' in page
    assert page.count('type="radio"') == len(MMA.in_dims)
    assert "<tr><th>lane 4</th><td>1, 0</td></tr>" in page
    assert page.count("<td data-e=") == MMA.get_total_in_dim_size()
    assert "COLOURS" not in page


def test_a_large_page_is_clipped_with_a_note() -> None:
    page = to_html(MMA, clip=Clip(rows=2))
    assert "2 of 64 rows are shown" in page


def test_a_key_that_the_layout_lacks() -> None:
    with pytest.raises(DimMismatchError, match="color_by='bank'"):
        to_html(MMA, color_by="bank")
