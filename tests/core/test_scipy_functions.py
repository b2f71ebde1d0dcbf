"""Functions of SciPy that are loaded or written without its packages: they are the same, and SciPy stays whole."""

import subprocess
import sys

import pytest
from scipy.fft import next_fast_len

from steelyard.statistics.models import spectrum

_SAME = """
from steelyard.statistics.samples import distribution_functions as ours
assert "scipy.special" not in sys.modules, "the package was imported"
import scipy.special, scipy.stats
names = ("betaincinv", "ndtr", "ndtri", "psi", "stdtr", "stdtrit")
assert all(getattr(scipy.special, name) is getattr(ours, name) for name in names)
assert all(ours.polygamma(n, x) == scipy.special.polygamma(n, x) for n in (1, 2, 3) for x in (0.3, 0.5, 7.0, 50.5))
assert scipy.special.erf(0) == 0 and abs(scipy.stats.t.ppf(0.975, 3) - 3.18244630528) < 1e-9
"""
_IN_USE = """
import scipy.special
before = scipy.special
from steelyard.statistics.samples import distribution_functions as ours
assert sys.modules["scipy.special"] is before and before.ndtr is ours.ndtr
"""
# A SciPy whose functions lie elsewhere.
_ELSEWHERE = """
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "scipy.special._ufuncs" and not getattr(sys.modules["scipy.special"], "__file__", None):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
from steelyard.statistics.samples import distribution_functions as ours
import scipy.special
assert scipy.special.stdtrit is ours.stdtrit
assert ours.polygamma(2, 0.5) == scipy.special.polygamma(2, 0.5)
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("code", [_SAME, _IN_USE, _ELSEWHERE], ids=["alone", "in use", "elsewhere"])
def test_the_functions_are_those_of_scipy_which_stays_whole(code: str) -> None:
    subprocess.run([sys.executable, "-c", "import sys\n" + code], check=True, timeout=100)


def test_the_length_of_a_fast_transform_is_the_smallest_without_large_prime_factors() -> None:
    lengths = [*range(1, 400), 12_345, 99_991, 1_048_577]
    assert [spectrum._round_up_length(n) for n in lengths] == [next_fast_len(n, real=True) for n in lengths]
