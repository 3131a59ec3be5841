"""Runs every writing command onto every kind of existing file, link or folder: nothing of these may be lost.

`count(folder)` says how many attempts there were, and which of them lost or changed a file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import labelwood as lw
from labelwood.cli import status_of

PETS = [
    {"id": "a", "text": "a dog barks", "labels": ["animal", "pet"], "title": "Dogs"},
    {"id": "b", "text": "the cat sleeps", "labels": ["animal"], "title": "Cats"},
    {"id": "c", "text": "a red rose blooms", "labels": ["plant"], "title": "Roses"},
    {"id": "d", "text": "the old oak grows", "labels": ["plant"], "title": "Oaks"},
]
PAGES = [
    {"id": "p", "rows": ["a dog barks", "a rose blooms"], "labels": ["animal", "plant"]},
    {"id": "q", "rows": ["the dog sleeps", "old coins"], "labels": ["animal"]},
]
ABOUT = [{"id": name, "text": name.upper(), "alt": [], "train_freq": 3} for name in ("animal", "pet", "plant", "coin")]
USER_DATA = b'{"mine": "years of work"}\n'


def lines(records: list[dict]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def write_inputs(folder: Path) -> None:
    """Writes the inputs of all commands: rows, groups, sparse features, a label file, and models."""
    (folder / "in").mkdir()
    (folder / "in" / "labels.jsonl").write_text(lines(ABOUT))
    (folder / "in" / "pets.jsonl").write_text(lines(PETS))
    (folder / "in" / "pages.jsonl").write_text(lines(PAGES))
    (folder / "in" / "trn_X_Xf.txt").write_text("2 3\n0:1\n1:1\n")
    (folder / "in" / "trn_X_Y.txt").write_text("2 4\n0:1\n1:1\n")
    lw.TextClassifier(model="tree").fit([row["text"] for row in PETS], [row["labels"] for row in PETS]).save(
        folder / "tree"
    )
    softmax = lw.SoftmaxTreeClassifier(dim=4, epochs=1)
    lw.TextClassifier(model=softmax).fit([row["text"] for row in PETS], [row["labels"] for row in PETS]).save(
        folder / "softmax"
    )


# Each command with the name of its output; {in} stands for the folder of inputs.
COMMANDS = {
    **{
        f"convert {name}": (("convert", "{in}/in/pets.jsonl"), name)
        for name in ("rows.jsonl", "rows.csv", "rows.parquet", "trn.json", "rows.fasttext", "rows.jsonl.gz")
    },
    "convert attentionxml": (("convert", "{in}/in/pets.jsonl"), "train_texts.txt"),
    **{
        f"convert {name}": (("convert", "{in}/in/trn_X_Xf.txt"), name)
        for name in ("trn_X_Xf.txt", "X.trn.npz", "rows.svm", "rows.txt")
    },
    "convert a folder": (("convert", "{in}/in/pets.jsonl"), "labels.jsonl"),
    **{f"impute {name}": (("impute", "{in}/in/pages.jsonl", "-o"), name) for name in ("rows.jsonl", "rows.parquet")},
    **{
        f"predict {name}": (("predict", "{in}/tree", "{in}/in/pets.jsonl", "-o"), name)
        for name in ("out.jsonl", "out.csv", "out.parquet", "out.jsonl.xz", "out.json", "out.xlsx", "out")
    },
    "explain svg": (("explain", "{in}/tree", "--label", "animal", "-o"), "a.svg"),
    "explain html": (("explain", "{in}/tree", "--label", "animal", "-o"), "a.html"),
    "compress": (("compress", "{in}/softmax", "-o"), "small"),
    "train": (("train", "{in}/in/pets.jsonl", "--model", "centroid", "-o"), "model"),
    "tradeoff": (
        ("tradeoff", "{in}/in/pets.jsonl", "--no-plots", "--lams", "0", "--seeds", "1", "--jobs", "1", "-o"),
        "report",
    ),
}


def a_file(target: Path) -> None:
    target.write_bytes(USER_DATA)


def a_link(target: Path) -> None:
    (target.parent / "mine").write_bytes(USER_DATA)
    target.symlink_to("mine")


def a_dangling_link(target: Path) -> None:
    target.symlink_to("nowhere")


def a_hard_link(target: Path) -> None:
    (target.parent / "mine").write_bytes(USER_DATA)
    os.link(target.parent / "mine", target)


def a_folder(target: Path) -> None:
    target.mkdir()
    (target / "thesis.txt").write_bytes(USER_DATA)


def a_link_to_a_folder(target: Path) -> None:
    a_folder(target.parent / "elsewhere")
    target.symlink_to("elsewhere")


def a_folder_like_a_report(target: Path) -> None:
    target.mkdir()
    for name in ("sweep.json", "report.html"):
        (target / name).write_bytes(USER_DATA)
    (target / "runs").mkdir()
    (target / "runs" / "mine.json").write_bytes(USER_DATA)


def a_folder_like_a_model(target: Path) -> None:
    target.mkdir()
    (target / "manifest.json").write_bytes(USER_DATA)


def a_pipe(target: Path) -> None:
    os.mkfifo(target)


def a_socket(target: Path) -> None:
    # The path of a socket must be short, and the folder's path may be long.
    before = Path.cwd()
    os.chdir(target.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(target.name)
    finally:
        os.chdir(before)


def companion_files(target: Path) -> None:
    """All files that commands may write beside their output, and the output with other compressions."""
    beside = ("labels.jsonl", "lbl.json", "lbl_X_Xf.txt", "trn_X_Y.txt", "train_labels.txt", "Y.trn.npz")
    twins = (f"{target.name}.xz", target.name.removesuffix(".gz").removesuffix(".xz"), "filter_train.txt")
    for name in (*beside, *twins):
        if name != target.name:
            (target.parent / name).write_bytes(USER_DATA)


def labels_that_say_more(target: Path) -> None:
    more = [{**record, "note": "mine"} for record in ABOUT]
    (target.parent / "labels.jsonl").write_text(lines(more))


def labels_of_other_data(target: Path) -> None:
    (target.parent / "label_names.txt").write_text("ghost\nanimal\n")


OBSTACLES: dict[str, Callable[[Path], None]] = {
    made.__name__.replace("_", " "): made
    for made in (
        a_file,
        a_link,
        a_dangling_link,
        a_hard_link,
        a_folder,
        a_link_to_a_folder,
        a_folder_like_a_report,
        a_folder_like_a_model,
        a_pipe,
        a_socket,
        companion_files,
        labels_that_say_more,
        labels_of_other_data,
    )
}
RESTART_OPTIONS = {"tradeoff": ("--restart",)}  # asks to replace only what the command itself has made


def contents(folder: Path) -> dict[str, object]:
    """The contents of a folder: mode, inode and content of each path; for a link, its target."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (stat.st_mode, stat.st_ino, content)
    return found


def attempts(inputs: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """Yields the name of each attempt, its folder, and the command."""
    for command, (arguments, name) in COMMANDS.items():
        for kind, make in OBSTACLES.items():
            folder = Path(tempfile.mkdtemp(dir=inputs.parent))
            make(folder / name)
            filled = [argument.replace("{in}", str(inputs)) for argument in arguments]
            yield f"{command} onto {kind}", folder, [*filled, str(folder / name), *RESTART_OPTIONS.get(command, ())]
    for arguments in own_inputs(inputs):
        yield " ".join(arguments[:1]) + " onto its own input", inputs, arguments


def own_inputs(inputs: Path) -> Iterator[list[str]]:
    """Yields commands whose output is their own input, also as a folder and with --overwrite."""
    rows, pages, tree, softmax = (str(inputs / name) for name in ("in/pets.jsonl", "in/pages.jsonl", "tree", "softmax"))
    for more in ([], ["--overwrite"]):
        yield ["predict", tree, rows, "-o", rows, *more]
        yield ["predict", tree, rows, "-o", tree, *more]
        yield ["impute", pages, "-o", pages, *more]
        yield ["convert", rows, str(inputs / "in"), "--to", "jsonl", *more]
        yield ["convert", rows, rows, "--to", "fasttext", *more]
        yield ["convert", str(inputs / "in"), str(inputs / "in" / "labels.jsonl"), "--format", "jsonl", *more]
    yield ["convert", rows, rows]
    yield ["compress", softmax, "-o", softmax]
    yield ["train", rows, "-o", str(inputs / "in")]
    yield ["tradeoff", rows, "-o", str(inputs / "in"), "--restart", "--no-plots"]
    yield ["tradeoff", rows, "-o", tree, "--restart", "--no-plots"]


def count(folder: Path) -> dict[str, object]:
    """Counts the attempts and those that wrote something, and lists what was lost or changed."""
    inputs = folder / "inputs"
    inputs.mkdir()
    write_inputs(inputs)
    lost: list[str] = []
    tried = written = 0
    untouched = contents(inputs)
    for name, place, arguments in attempts(inputs):
        before = contents(place)
        status = quiet(arguments)
        after = contents(place)
        tried += 1
        written += status == 0
        changed = [file for file, content in before.items() if after.get(file) != content]
        half = [file for file in after.keys() - before.keys() if status != 0 or Path(file).name.startswith(".")]
        if status not in (0, 2) or changed or half or contents(inputs) != untouched:
            lost.append(f"{name}: status {status}, changed {changed}, left behind {half}")
    return {"attempts": tried, "written": written, "lost": lost}


def quiet(arguments: list[str]) -> int:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return status_of(arguments)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        result = count(Path(place))
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    sys.exit(bool(result["lost"]))
