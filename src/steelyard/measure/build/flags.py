"""Which compiler flags cannot start a program, load a library, or write a file of somebody else's choice."""

import re
import shlex

# Optimisation, the processor, arithmetic and language: what performance depends on. Everything else (-wrapper, -fplugin,
# -specs, -B, -Xclang, -Wl, @file, -D of any name …) can lead a compiler, or the program that it makes, to foreign code.
_VALUE = r"[\w.+-]+"
_SAFE = re.compile(
    "|".join(
        (
            r"-O(?:[0-3sgz]|fast)?|-g[0-3]?|-pipe|-pthread|-static(?:-libgcc|-libstdc\+\+)?|-ansi|-pedantic|-w",
            rf"-std={_VALUE}",
            r"-D(?:NDEBUG|_GNU_SOURCE|_GLIBCXX_ASSERTIONS)|-D_FORTIFY_SOURCE=[0-3]",
            r"-W(?!rapper)[\w+-]+(?:=\w+)?",
            rf"-m(?!llvm|mlir|linker)[\w.-]+(?:={_VALUE})?",
            # A name alone, but not those that write files or run code; a value only where it is a number or a word.
            r"-f(?!plugin|pass-plugin|dump|save|profile|auto-profile|branch-probabilities|callgraph|stack-usage|test-coverage|"
            r"syntax-only|sanitize|instrument|coverage|opt-info|xray|module|use-ld|embed|crash|time-trace|record|experimental|"
            r"offload|preprocessed|working-directory)[a-z0-9+-]+",
            r"-f(?:align-(?:functions|jumps|labels|loops)|vect-cost-model|simd-cost-model|fp-contract|fp-model|veclib|lto|openmp|"
            r"excess-precision|tls-model|visibility|inline-limit|tree-parallelize-loops|denormal-fp-math)=[\w:.-]+",
            r"--param=[a-z0-9-]+=\d+",
            r"-(?:x(?:Host|[A-Z][\w-]*)|ax[A-Z][\w,-]*|ipo|fast|qopenmp|no-prec-div|fp-model=\w+|tp=[\w-]+)",
        )
    )
)


def list_unsafe(flags: str) -> list[str]:
    """Returns the flags whose form is not known to be safe, in their order.

    All of them if no shell could read the flags.
    """
    try:
        words = shlex.split(flags)
    except ValueError:
        return [flags]
    # "--param name=number" is two words.
    joined = re.sub(r"--param\s+(?=[a-z0-9-]+=\d+(?:\s|$))", "--param=", shlex.join(words)) if words else ""
    return [word for word in shlex.split(joined) if not _SAFE.fullmatch(word)]
