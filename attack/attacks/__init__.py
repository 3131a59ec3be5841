"""One kind of attack a file. A file joins by its name here; it has a list `ATTACKS`."""

from __future__ import annotations

from importlib import import_module

from attack.protocol import Attack

FILES = ("models", "encoders", "arrays", "readers", "bombs", "kills", "races", "disks", "commandline", "of_tests")


def all_attacks() -> list[Attack]:
    """Every attack, in the order of the table."""
    return [attack for file in FILES for attack in import_module(f"attack.attacks.{file}").ATTACKS]


def find(name: str) -> Attack:
    """The attack of a name; one of another module is named as module:name."""
    module, _, other = name.rpartition(":")
    attacks = import_module(module).ATTACKS if module and other else all_attacks()
    known = {attack.name: attack for attack in attacks}
    if name not in known:
        raise SystemExit(f"there is no attack {name!r}; there are: {', '.join(known)}")
    return known[name]
