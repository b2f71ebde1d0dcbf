"""Variants of a run: named changes of the environment and of the launcher's options, and the cases that they change. Pure."""

import re
import shlex
from collections.abc import Iterable, Sequence

from steelyard.errors import UsageError, nearest
from steelyard.measure import mpi
from steelyard.measure.machine import openmp
from steelyard.model import UNCHANGED, Parameters, Source, Variant

FORM = "Give --variant 'NAME:VARIABLE=VALUE …', such as --variant 'tcp:OMPI_MCA_btl=tcp,self'"
LONGEST = 40  # letters of a name, which stands in legends and in columns
_NAME = re.compile(rf"[^\W_](?:[\w .+/()-]{{0,{LONGEST - 2}}}[\w.+()])?")  # commas and colons separate names elsewhere
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECOND = re.compile(r",[A-Z_][A-Z0-9_]+=")  # a second variable after a comma, where a space belongs
_OF_OPENMP = re.compile(r"(OMP|GOMP|KMP|LIBOMP)_\w+")
_OWN = re.compile(r"STEELYARD_\w*|OMP_NUM_THREADS|OMP_DYNAMIC")  # set for every case
_COUNTS = ("-n", "-np", "--n", "--np", "-c", "--ntasks")  # options for the number of ranks


def read_variants(texts: Iterable[str]) -> tuple[Variant, ...]:
    """Reads 'NAME[@MPI]:VARIABLE=VALUE … OPTION …' as a shell reads words. UsageError for a wrong form, or a name given twice."""
    variants: list[Variant] = []
    for text in texts:
        variant = _read(text)
        expect_valid(variant)
        if any(variant.name == other.name and _overlap(variant.mpi, other.mpi) for other in variants):
            raise UsageError(
                f"The variant '{variant.name}' (given by --variant) is defined twice. Give each variant its own name. "
                "A name can be used again only for another MPI: NAME@openmpi, NAME@mpich."
            )
        variants.append(variant)
    return tuple(variants)


def _read(text: str) -> Variant:
    head, colon, rest = text.partition(":")
    name, at, library = head.partition("@")
    if not colon or (at and not library):
        raise UsageError(f"'{text}' (given by --variant) has the wrong form. {FORM}.")
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise UsageError(
            f"'{text}' (given by --variant) cannot be read as the words of a shell: {error}. Close each quotation mark."
        ) from None
    end = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    for word in words[:end]:
        if "=" not in word:
            raise UsageError(
                f"'{word}' in the variant '{name}' (given by --variant) is neither VARIABLE=VALUE nor an option of the launcher. "
                "Put a value that contains spaces in quotation marks, and options after the variables."
            )
        if second := _SECOND.search(word):
            raise UsageError(
                f"The value of '{word}' (given by --variant) contains another variable after a comma: '{second[0]}'. "
                "Separate variables by spaces."
            )
    pairs = (word.partition("=") for word in words[:end])
    return Variant(name.strip(), {variable: value for variable, _, value in pairs}, tuple(words[end:]), library.strip())


def expect_valid(variant: Variant) -> None:
    """UsageError for a name, a variable or an option that no variant may have, also if it comes from another user's run."""
    name = variant.name
    if name == UNCHANGED or not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' cannot be the name of a variant (given by --variant): expected 1 to {LONGEST} letters, digits, spaces or "
            f".+-/(), but not '{UNCHANGED}', which is the start without changes."
        )
    if not variant.environment and not variant.options:
        raise UsageError(f"The variant '{name}' (given by --variant) changes nothing. {FORM}.")
    reserved = {v for flavour in mpi.flavours().values() for v in (*flavour.environment, *flavour.as_root)}
    for variable in variant.environment:
        if not _VARIABLE.fullmatch(variable):
            raise UsageError(
                f"'{variable}' in the variant '{name}' (given by --variant) is not the name of a variable. {FORM}."
            )
        if _OWN.fullmatch(variable) or variable in reserved:
            raise UsageError(
                f"Steelyard sets the variable {variable} itself, so the variant '{name}' (given by --variant) cannot change it. "
                "Remove it. Threads, ranks and their placement are set with --set."
            )
    for word in (*variant.environment.values(), *variant.options):
        if not word.isprintable():
            raise UsageError(
                f"{word!r} in the variant '{name}' (given by --variant) contains a control character. Remove this character."
            )
    if counts := [word for word in variant.options if word.partition("=")[0] in _COUNTS]:
        raise UsageError(
            f"The option {counts[0]} in the variant '{name}' (given by --variant) sets the number of ranks. Use --set ranks=."
        )


def expect_mpis(variants: Iterable[Variant], labels: Sequence[str], launcher: str) -> None:
    """UsageError for a variant of an MPI that the run does not use, and for options that several launchers would get."""
    for variant in variants:
        if variant.mpi and not any(_is_of(variant, label) for label in labels):
            raise UsageError(
                f"The variant '{variant.name}@{variant.mpi}' (given by --variant) is for another MPI than those of this run: "
                f"{', '.join(labels) or 'none'}. {nearest(variant.mpi, labels)} Add an MPI to the run with --mpi."
            )
        able = [label for label in labels if _is_of(variant, label)]
        if variant.options and launcher == "mpiexec" and len({label.rpartition("-")[0] for label in able}) > 1:
            raise UsageError(
                f"The variant '{variant.name}' (given by --variant) has options of a launcher, but the run uses those of "
                f"{' and '.join(able)}. Name the MPI of these options: --variant '{variant.name}@{able[0]}:…'."
            )


def expect_used(variants: Iterable[Variant], cases: Iterable[Parameters]) -> None:
    """UsageError for a variant that changes no case."""
    used = {(str(p["variant"]), str(p.get("mpi", ""))) for p in cases if "variant" in p}
    for variant in variants:
        if not any(name == variant.name and (not variant.mpi or _is_of(variant, label)) for name, label in used):
            raise UsageError(
                f"The variant '{variant.name}' (given by --variant: {describe(variant)}) changes no case of this run. No chosen "
                "benchmark reads its variables, or Steelyard sets them itself for these cases. Choose other benchmarks with "
                "--only, or remove this variant."
            )


def names(variants: Iterable[Variant]) -> tuple[str, ...]:
    """Returns the values of the parameter "variant": first the start without changes."""
    return (UNCHANGED, *dict.fromkeys(variant.name for variant in variants))


def find(variants: Iterable[Variant], parameters: Parameters) -> Variant | None:
    """Returns the variant of a case; None if its start is not changed, or if no variant has that name."""
    name, label = parameters.get("variant", UNCHANGED), str(parameters.get("mpi", ""))
    return next((v for v in variants if v.name == name and (not v.mpi or _is_of(v, label))), None)


def is_planned(variants: Iterable[Variant], source: Source, parameters: Parameters) -> bool:
    """Returns whether the case belongs to a plan: unchanged, or with a variant that changes its program."""
    if parameters.get("variant", UNCHANGED) == UNCHANGED:
        return True
    variant = find(variants, parameters)
    return variant is not None and _changes(variant, source, parameters)


def _changes(variant: Variant, source: Source, parameters: Parameters) -> bool:
    """Returns whether the program reads what the variant sets, and Steelyard does not set the same for this case."""
    if not source.parallel and (variant.mpi or variant.options):
        return False
    if not variant.options and not any(_reads(source, variable) for variable in variant.environment):
        return False
    if source.model == "openmp" and not source.foreign and set(variant.environment) & set(openmp.SET):
        return False
    transport = str(parameters.get("transport", "default"))
    if not source.parallel or transport == "default":
        return True
    flavour = mpi.find_by_label(str(parameters.get("mpi", "")))
    switched = next((v for name, v in flavour.transports.items() if name == transport), {}) if flavour else {}
    # An option may undo the variables of the transport, which then would not be the one that the record names.
    return not variant.options and not set(variant.environment) & set(switched)


def _reads(source: Source, variable: str) -> bool:
    if mpi.is_steering(variable):
        return source.parallel
    if _OF_OPENMP.fullmatch(variable):
        return source.foreign or source.model == "openmp"
    return True


def describe(variant: Variant) -> str:
    """Returns what the variant changes, as words of a shell: 'OMPI_MCA_btl=tcp,self --mca btl_tcp_if_include eth1'."""
    return shlex.join([*(f"{name}={value}" for name, value in variant.environment.items()), *variant.options])


def meanings(variants: Iterable[Variant]) -> dict[str, str]:
    """Returns what each name changes; for a name of several MPIs: 'openmpi: …; mpich: …'."""
    texts: dict[str, list[str]] = {}
    for v in variants:
        texts.setdefault(v.name, []).append(f"{v.mpi}: {describe(v)}" if v.mpi else describe(v))
    return {name: "; ".join(parts) for name, parts in texts.items()}


def spell(variant: Variant) -> str:
    """Returns the variant as `read_variants` reads it."""
    return f"{variant.name}{f'@{variant.mpi}' if variant.mpi else ''}:{describe(variant)}"


def _is_of(variant: Variant, label: str) -> bool:
    """Returns whether the variant is for the MPI with that name in the records, such as "openmpi-4.1.4"."""
    return variant.mpi in ("", label, label.rpartition("-")[0])


def _overlap(one: str, other: str) -> bool:
    return "" in (one, other) or one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")
