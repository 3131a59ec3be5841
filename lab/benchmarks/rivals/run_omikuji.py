"""omikuji: Parabel and Bonsai. It trains from a text file only and has no call for batches.

Reading its text file is not counted. A batch is a loop over its C function with buffers made once, which is faster
than its Python call; single rows go through the Python call.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import omikuji
from omikuji._libomikuji import ffi, lib

from lab.benchmarks.rivals.protocol import BEAM, TRAIN_THREADS, Contender, K, best_of_lists, matrix, serve


class Omikuji(Contender):
    """Parameters are fields of its hyper-parameters."""

    def prepare(self, data: Path) -> None:
        path = data / "omikuji.txt"
        if path.exists():
            return
        X, Y = matrix(data / "X.trn.npz"), matrix(data / "Y.trn.npz")
        kept = np.flatnonzero(np.diff(X.indptr))  # it ends the process at a row without features
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("w") as lines:
            lines.write(f"{len(kept)} {X.shape[1]} {Y.shape[1]}\n")
            lines.writelines(text_line(X, Y, int(i)) for i in kept)
        unfinished.rename(path)

    def read(self, data: Path) -> Any:
        self.pool = omikuji._ThreadPoolHandle(TRAIN_THREADS, initialize=True)
        path = ffi.new("char[]", str(data / "omikuji.txt").encode())
        return ffi.gc(lib.load_omikuji_data_set(path, self.pool.ptr), lib.free_omikuji_data_set)

    def fit(self, rows: Any, model: Path) -> None:
        chosen = omikuji.Model.default_hyper_param()
        for name, value in self.params.items():
            setattr(chosen, name, value)
        self.model = omikuji.Model(lib.train_omikuji_model(rows, chosen, self.pool.ptr))

    def save(self, model: Path) -> None:
        self.model.save(str(model))

    def load(self, model: Path) -> None:
        self.model = omikuji.Model.load(str(model))
        self.model.init_prediction_thread_pool(1)

    def batch(self, X: Any) -> Any:
        features, values = X.indices.astype(np.uint32), X.data
        ids, scores = ffi.new("uint32_t[]", K), ffi.new("float[]", K)
        answers = []
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            count = lib.omikuji_predict(
                self.model._model_ptr,
                BEAM,
                stop - start,
                ffi.from_buffer("uint32_t[]", features[start:stop]),
                ffi.from_buffer("float[]", values[start:stop]),
                K,
                ids,
                scores,
                ffi.NULL,  # in the calling thread
            )
            answers.append((ffi.unpack(ids, count), ffi.unpack(scores, count)))
        return answers

    def top(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        return best_of_lists([list(zip(ids, scores, strict=True)) for ids, scores in answer])

    def row(self, X: Any) -> Any:
        return list(zip(X.indices.tolist(), X.data.tolist(), strict=True))

    def one(self, row: Any) -> Any:
        return self.model.predict(row, beam_size=BEAM, top_k=K)


def text_line(X: Any, Y: Any, i: int) -> str:
    """Row `i` as omikuji reads it: labels, then features."""
    labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()))
    here = slice(X.indptr[i], X.indptr[i + 1])
    pairs = zip(X.indices[here].tolist(), X.data[here].tolist(), strict=True)
    return f"{labels} {' '.join(f'{feature}:{value:.7g}' for feature, value in pairs)}\n"


if __name__ == "__main__":
    serve(Omikuji)
