"""Any ONNX file as a reader: no torch, the same fingerprint, cache and care as the readers of our own networks.

A `Preparation` says what the network expects; the file's SHA-256 and the preparation are in the fingerprint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import MissingExtraError, OptionError
from evenhand.instruments.checkpoints import sha256_of
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.pictures import Decoder, Loading, PixelResampling, Pixels
from evenhand.instruments.readers import PictureReader
from evenhand.instruments.readings import Instrument, Pictures, Vectors
from evenhand.instruments.weight_files import UNVERIFIED


@dataclass(frozen=True)
class Preparation:
    """What a network expects: its picture size, channel order and layout, and the shift and scale of values 0 … 255.

    >>> Preparation((112, 112), shift=(127.5,) * 3, scale=(1 / 128,) * 3).fingerprint
    '112x112:pillow:pillow-bilinear:rgb:channels-first:shift 127.5,127.5,127.5:scale 0.0078125,0.0078125,0.0078125'
    """

    size: tuple[int, int]  # height, width
    decoder: Decoder = Decoder.PILLOW
    resampling: PixelResampling = PixelResampling.PILLOW_BILINEAR
    blue_first: bool = False
    channels_last: bool = False
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)  # taken away first, in the order of the channels
    scale: tuple[float, float, float] = (1 / 255, 1 / 255, 1 / 255)

    @property
    def fingerprint(self) -> str:
        order, layout = "bgr" if self.blue_first else "rgb", "channels-last" if self.channels_last else "channels-first"
        shift, scale = (",".join(f"{value:.9g}" for value in part) for part in (self.shift, self.scale))
        how = f"{self.size[0]}x{self.size[1]}:{self.decoder.value}:{self.resampling.value}:{order}:{layout}"
        return f"{how}:shift {shift}:scale {scale}"

    def __call__(self, pictures: Sequence[Pixels]) -> NDArray[np.float32]:
        """Pictures of the right size as a batch."""
        batch = np.stack(pictures).astype(np.float32)
        if self.blue_first:
            batch = batch[..., ::-1]
        batch = (batch - np.array(self.shift, np.float32)) * np.array(self.scale, np.float32)
        return np.ascontiguousarray(batch if self.channels_last else batch.transpose(0, 3, 1, 2))


def onnx_reader(
    path: Path,
    preparation: Preparation,
    *,
    output: str | None = None,
    device: str = "cpu",
    cache: Path | None = None,
    batch: int = 16,
) -> PictureReader:
    """Vectors by an ONNX model: its first output, or the one named, flattened to one row per picture."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError("Reading by an ONNX file needs onnxruntime", "models") from error
    sha256 = sha256_of(path)
    wanted = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
    if wanted not in onnxruntime.get_available_providers():
        raise OptionError(f"Device {device} was asked for, but this onnxruntime has no {wanted}. Use --device cpu.")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=[wanted])
    except Exception as error:  # onnxruntime's error types are not public
        raise WeightsError(
            f"{path}: is no ONNX model that onnxruntime can run ({str(error).splitlines()[0][:200]})."
        ) from error
    source = session.get_inputs()[0]
    outputs = [one.name for one in session.get_outputs()]
    if output is not None and output not in outputs:
        raise OptionError(f"{path}: has no output {output!r}. Its outputs: {', '.join(outputs)}.")
    chosen = output or outputs[0]
    fixed = source.shape[0] if isinstance(source.shape[0], int) else None

    def run(pictures: Sequence[Pixels]) -> Vectors:
        try:
            (values,) = session.run([chosen], {source.name: preparation(pictures)})
        except Exception as error:
            shape = "×".join(map(str, source.shape))
            raise WeightsError(
                f"{path}: refused the prepared pictures (its input is {shape}): {str(error)[:200]}"
            ) from error
        return np.asarray(values, dtype=np.float32).reshape(len(pictures), -1)

    def together(jobs: Sequence[Pictures]) -> Vectors:
        pictures = [job[0].pixels for job in jobs]
        step = fixed or len(pictures)
        return np.concatenate([run(pictures[start : start + step]) for start in range(0, len(pictures), step)])

    loading = Loading("onnx", preparation.decoder, preparation.size, preparation.resampling)
    name = f"onnx:{path.name}@{sha256[:16]}({UNVERIFIED})|{chosen}|{preparation.fingerprint}"
    return PictureReader(Instrument(name, loading, 0, together=together, batch=fixed or batch), cache)
