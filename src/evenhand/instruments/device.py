"""Where networks run: the processor, unless another device is asked for and there."""

from __future__ import annotations

from evenhand.core.errors import MissingExtraError, OptionError


def choose_device(name: str = "cpu") -> str:
    """The device of that name when it is here; one line of advice when it is not.

    `cpu`, `cuda` or `cuda:N`. Nothing falls back in silence: a run that was meant for a device does not start on
    another.

    >>> choose_device("cpu")
    'cpu'
    """
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdigit()) or (kind == "cpu" and number):
        raise OptionError(f"There is no device {name!r}. Use cpu, cuda or cuda:N.")
    if kind == "cpu":
        return "cpu"
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(f"Device {name} needs torch", "torch") from error

    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    wanted = int(number or 0)
    if wanted >= here:
        raise OptionError(
            f"Device {name} was asked for, but torch sees {here or 'no'} CUDA devices here. Use --device cpu."
        )
    return f"cuda:{wanted}"
