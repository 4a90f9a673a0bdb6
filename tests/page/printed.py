"""Numbers as the page prints them."""

from __future__ import annotations

import re
from decimal import Decimal

_FACTORS = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9, "K": 1024}
_NUMBER = re.compile(r"<?[+\-\u2212]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def value(text: str) -> Decimal | None:
    """1,234 (2.5%) is 1234, 1.34M is 1340000, +3.0% is 3.0 and 128K is 131072; <0.1% is 0.1; OOM, failed
    and - are None."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    number = Decimal(found.group().lstrip("<").replace(",", "").replace("\u2212", "-"))
    unit = re.match(r"[kMBK](?![\w])", text[found.end() :])
    return number * _FACTORS[unit.group() if unit else ""]


def signed(text: str) -> list[Decimal]:
    """All numbers of a text that have a sign, other than percentages."""
    found = re.findall(r"(?<![\w.])([+\-\u2212]\d[\d,]*(?:\.\d+)?)(?![\d.]*\s?%)(?![\w])", text)
    return [Decimal(number.replace(",", "").replace("\u2212", "-")) for number in found]
