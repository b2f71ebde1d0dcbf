"""SciPy's functions without the import of all its package."""

import subprocess
import sys

from steelyard.statistics.models.spectrum import fast_length

SOURCE = """
import sys
import numpy as np
from steelyard.statistics.samples import special
found = special.stdtrit(4, 0.975), special.stdtr(3.5, np.array([-2.0, 1.0])), special.ndtr(-1.5)
assert "scipy.special" not in sys.modules, "the whole package was imported"
import scipy.special as whole
assert found[0] == whole.stdtrit(4, 0.975)
assert (found[1] == whole.stdtr(3.5, np.array([-2.0, 1.0]))).all()
assert found[2] == whole.ndtr(-1.5)
assert abs(found[0] - 2.7764451051978) < 1e-12
"""

MOVED = """
from steelyard.statistics.samples import special
special.FUNCTIONS = "scipy.special._elsewhere"
assert abs(special.ndtr(1.959963984540054) - 0.975) < 1e-12
import scipy.special
assert abs(scipy.special.stdtrit(4, 0.975) - 2.7764451051978) < 1e-12
"""


def run(source: str) -> None:
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)


def test_functions_are_scipys_and_its_package_stays_whole() -> None:
    run(SOURCE)


def test_functions_that_lie_elsewhere_come_from_the_package() -> None:
    run(MOVED)


def test_length_of_a_fast_transform_is_the_least_without_large_factors() -> None:
    def is_fast(length: int) -> bool:
        for factor in (2, 3, 5):
            while length % factor == 0:
                length //= factor
        return length == 1

    fast = [length for length in range(1, 5000) if is_fast(length)]
    for least in range(1, 4000):
        assert fast_length(least) == next(length for length in fast if length >= least)
    assert fast_length(99991) == 100000
