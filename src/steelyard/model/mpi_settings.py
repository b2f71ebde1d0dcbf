"""The settings of the user that steer an MPI, in words."""

from collections.abc import Iterable

from steelyard.model import Setting

ENVIRONMENT = "environment"  # the source of a setting that is a variable
NONE = "none"  # no settings, in words


def is_of_user(setting: Setting) -> bool:
    """Returns whether the user made the setting, and not the site or the package of the MPI in a file below etc."""
    return "/etc/" not in setting.source


def describe(settings: Iterable[Setting]) -> str:
    """Returns 'OMPI_MCA_btl=self,tcp, UCX_TLS=tcp'; "none" for no settings."""
    return ", ".join(f"{s.name}={s.value}" for s in settings) or NONE


def describe_source(setting: Setting) -> str:
    """Returns where a setting comes from: "set in the environment", "set in /etc/ucx/ucx.conf"."""
    return f"set in {'the environment' if setting.source == ENVIRONMENT else setting.source}"
