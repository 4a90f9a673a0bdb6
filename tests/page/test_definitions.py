"""Heads and terms say what they mean, to a mouse and to a keyboard."""

from __future__ import annotations

import pytest
from view import SMALLEST_TEXT_PX, View, expect_none

_LONGEST_WAIT_MS = 1000


def test_every_column_of_the_comparison_has_a_definition(used: View) -> None:
    expect_none(used.check("undefinedHeads"))


def test_definitions_show_on_hover_and_on_focus(
    used: View, request: pytest.FixtureRequest
) -> None:
    n = used.check("nDefinitions")
    mistakes = [] if n else ["expected terms with aria-describedby, got none"]
    # Pointing takes a tenth of a second, so in most windows it is every eighth of them.
    for i in range(0, n, 1 if request.node.callspec.id == "plain-1280-light" else 8):
        trigger = used.element("definitionTrigger", i)
        name = used.check("definitionOf", i)
        texts = []
        for how, show, hide in (
            ("on hover", trigger.hover, lambda: used.page.mouse.move(0, 0)),
            ("on focus", trigger.focus, lambda: used.page.evaluate("document.activeElement.blur()")),
        ):
            trigger.scroll_into_view_if_needed()
            show()
            shown = used.wait_for(
                f"check.shownDefinition({i})", _LONGEST_WAIT_MS if len(mistakes) < 2 else 50
            )
            if not shown:
                mistakes.append(f"{name}: {how} no definition shows")
            else:
                texts.append(shown["text"])
                if not shown["isWhole"]:
                    mistakes.append(f"{name}: {how} its definition is outside the window")
                if shown["px"] < SMALLEST_TEXT_PX:
                    mistakes.append(f"{name}: {how} its definition has {shown['px']} px")
            hide()
            if shown and not used.wait_for(f"check.shownDefinition({i}) === null", _LONGEST_WAIT_MS):
                mistakes.append(f"{name}: its definition stays after it was shown {how}")
        if len(set(texts)) > 1:
            mistakes.append(f'{name}: on hover "{texts[0]}", on focus "{texts[1]}"')
    expect_none(mistakes)
