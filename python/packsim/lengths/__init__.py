"""Token lengths from data: `measure_lengths` measures them, `Lengths` saves and loads them."""

from packsim.lengths.errors import CacheWarning, LengthsError
from packsim.lengths.measure import measure_lengths
from packsim.lengths.result import LONGEST_TOKENS, CacheUse, Lengths

__all__ = ["LONGEST_TOKENS", "CacheUse", "CacheWarning", "Lengths", "LengthsError", "measure_lengths"]
