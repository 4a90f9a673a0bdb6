"""A page can be used without a mouse."""

from __future__ import annotations

from view import View, expect_none


def test_tab_reaches_every_control_and_shows_where_it_is(used: View) -> None:
    n_controls = used.check("startTabbing")
    mistakes = []
    most = 2 * n_controls + 20
    for _ in range(most):
        used.page.keyboard.press("Tab")
        mistake = used.check("focusMistake")
        if mistake == "end":
            break
        mistakes.append(mistake)
    else:
        mistakes.append(f"a trap: Tab, pressed {most} times, stays among {n_controls} controls")
    expect_none([mistake for mistake in mistakes if mistake] + used.check("notReached"))


def test_shift_tab_goes_back(used: View) -> None:
    n_controls = used.check("startTabbing")
    n = min(n_controls, 5)

    def where() -> str:
        place: str = used.page.evaluate("check.where(document.activeElement)")
        return place

    used.page.keyboard.press("Tab")
    first = where()
    for key in ["Tab"] * (n - 1) + ["Shift+Tab"] * (n - 1):
        used.page.keyboard.press(key)
    assert where() == first
