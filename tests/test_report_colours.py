"""The colours of a report can be read by everybody: contrast as WCAG 2.1 (success criterion 1.4.3) computes it."""

import re
from itertools import product
from pathlib import Path

import pytest

import obo_bench

STYLE = Path(obo_bench.__file__).parent / "report" / "html" / "templates" / "style.css"
AA_TEXT, AA_DRAWING = 4.5, 3.0


def palettes() -> dict[str, dict[str, str]]:
    light, dark = re.findall(r":root \{(.*?)\}", STYLE.read_text(), re.DOTALL)[:2]
    return {
        name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]+)", part)) for name, part in (("light", light), ("dark", dark))
    }


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_text_can_be_read(name: str) -> None:
    colours = palettes()[name]
    pairs = [*product(("ink", "soft", "accent"), ("page", "card"))]
    pairs += [(tone, f"{tone}-back") for tone in ("good", "warn", "bad", "quiet", "live")]
    assert {pair: round(found, 2) for pair in pairs if (found := contrast(*(colours[c] for c in pair))) < AA_TEXT} == {}


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_bar_can_be_seen(name: str) -> None:
    colours = palettes()[name]
    for bar, back in product(("accent", "third"), ("card", "track")):
        assert contrast(colours[bar], colours[back]) >= AA_DRAWING, (bar, back)


def test_both_palettes_name_the_same_colours() -> None:
    light, dark = palettes().values()
    assert set(light) == set(dark)


def test_contrast_is_computed_as_the_standard_says() -> None:
    assert contrast("#000", "#ffffff") == 21
    assert round(contrast("#777", "#fff"), 2) == 4.48
