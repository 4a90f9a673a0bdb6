"""What is needed to repeat a report can be taken along."""

from __future__ import annotations

import pytest
from view import View, expect_none

_TAKEN = "async () => getSelection().toString() || await navigator.clipboard.readText()"


def test_a_button_copies_the_command_and_the_version(used: View) -> None:
    buttons = [
        b
        for b in used.page.get_by_role("button").all()
        if "copy" in b.inner_text().casefold() + (b.get_attribute("aria-label") or "").casefold()
    ]
    if not buttons:
        pytest.fail("expected a button that copies, got none", pytrace=False)
    taken = ""
    mistakes = []
    for button in buttons:
        used.page.evaluate("navigator.clipboard.writeText('nothing was copied')")
        button.click()
        used.page.wait_for_timeout(50)
        text = used.page.evaluate(_TAKEN)
        if text == "nothing was copied":
            mistakes.append(f"{button.inner_text()}: copies nothing")
        taken += text + "\n"
    manifest = used.report["manifest"]
    mistakes += [
        f'expected the {key} "{manifest[key]}" in what was copied, got "{taken}"'
        for key in ("command", "version")
        if manifest[key] not in taken
    ]
    expect_none(mistakes)
