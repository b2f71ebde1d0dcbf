"""Compiler flags that are known to be safe, and those that can start a program or write a file."""

import pytest

from steelyard.measure.build.flags import list_unsafe

SAFE = """
-O3 -march=native;-O2 -fno-math-errno -funroll-loops;-Ofast -mavx2 -mprefer-vector-width=512 -fopenmp;-O3 -flto=auto;-Og;-m64
-g -std=c++20 -Wall -Wno-unused -pthread -pipe;-ffp-contract=fast -fvect-cost-model=unlimited;-mtune=znver3 -mno-avx512f
--param inline-unit-growth=200;--param=max-unroll-times=4 -O1;-O3 -xHost -ipo;-xCORE-AVX512 -qopenmp;-fast -tp=zen4
-DNDEBUG -D_FORTIFY_SOURCE=2;-mcpu=neoverse-v1+sve2;-falign-loops=32 -fno-tree-vectorize;-fomit-frame-pointer -fveclib=libmvec
"""

UNSAFE = """
-wrapper;-wrapper sh,-c,x;-fplugin=x;-fplugin-arg-x-y=z;-fpass-plugin=x;-Bx;-B x;-specs=x;--specs=x;@x;-include x;-imacros x
-Ix;-I x;-Lx;-lx;-isystem x;-Wl,-plugin,x;-Wa,--x;-Wp,-x;-Xlinker x;-Xclang -load;-Xassembler x;-Xpreprocessor x;-fuse-ld=x;-T x
-mllvm -load=x;-mllvm;-Dmain=x;-Dstrtod=system;-D x=y;-Uunix;-o x;-x c;-save-temps;-save-temps=x;-fdump-tree-all=x;-dumpdir x
-fprofile-use=x;-fprofile-generate;-fauto-profile=x;-fmodule-mapper=|x;-fopt-info=x;-MF x;-MD;-fcallgraph-info;-ftime-trace=x
--sysroot=x;-nostdlib;-rdynamic;-shared;-static-pie=x;-fsanitize=address;-fuse-cxa=x;x;/x;-;--;-c;-###;-v;-E;-S;--param x=y
-finstrument-functions;-frecord-gcc-switches;-fcoverage-mapping;-fembed-bitcode=x;-fcrash-diagnostics-dir=x;-ccc-gcc-name x
-fexec-charset=x/y;-idirafter x;-iprefix x;-aux-info x;-print-prog-name=x;--gcc-toolchain=x;-gsplit-dwarf;-ggdb=x
"""


def forms(text: str) -> list[str]:
    return text.strip().replace("\n", ";").split(";")


@pytest.mark.parametrize("flags", forms(SAFE))
def test_flags_for_speed_language_and_warnings_are_safe(flags: str) -> None:
    assert list_unsafe(flags) == []


@pytest.mark.parametrize("flags", forms(UNSAFE))
def test_what_starts_programs_loads_libraries_or_writes_files_is_not(flags: str) -> None:
    assert list_unsafe(flags)
    assert list_unsafe(f"-O3 {flags}")


def test_a_quote_that_is_not_closed_is_not_safe() -> None:
    assert list_unsafe("-O3 'x") == ["-O3 'x"]
    assert list_unsafe("") == []
