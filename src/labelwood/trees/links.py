"""Who is whose parent."""

from __future__ import annotations

from collections.abc import Iterable


class CycleError(Exception):
    """A concept is its own ancestor; `line` is where one of the links stands, if it comes from a file."""

    def __init__(self, concepts: list[str], line: int | None) -> None:
        self.line = line
        circle = " → ".join(concepts)
        super().__init__(f"the hierarchy goes round in a circle ({circle}); remove one of these links")


class Links:
    """The parents of each concept, in the order in which they are named.

    Example:
        >>> links = Links([("dog", "animal", 1), ("dog", "pet", 2)])
        >>> links.parents
        {'dog': ['animal', 'pet'], 'animal': [], 'pet': []}
    """

    def __init__(self, links: Iterable[tuple[str, str, int | None]]) -> None:
        self.parents: dict[str, list[str]] = {}
        self.lines: dict[tuple[str, str], int | None] = {}
        for child, parent, line in links:
            named = self.parents.setdefault(child, [])
            if parent and (child, parent) not in self.lines:
                self.parents.setdefault(parent, [])
                self.lines[child, parent] = line
                named.append(parent)

    def narrowest_first(self, all_parents: bool) -> list[str]:
        """The concepts in an order in which each comes before its parents; of several, the first or all."""
        used = {child: parents if all_parents else parents[:1] for child, parents in self.parents.items()}
        waiting = dict.fromkeys(used, 0)  # how many children have not come yet
        for parents in used.values():
            for parent in parents:
                waiting[parent] += 1
        order = [concept for concept, n in waiting.items() if n == 0]
        for concept in order:
            for parent in used[concept]:
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    order.append(parent)
        if len(order) < len(used):
            raise self._cycle(used, set(used).difference(order))
        return order

    def _cycle(self, used: dict[str, list[str]], left: set[str]) -> CycleError:
        # What is left has a child that is left: going from child to child must come round.
        child_of = {parent: child for child in used if child in left for parent in used[child]}
        walk = [next(concept for concept in used if concept in left)]
        seen = {walk[0]: 0}
        while (child := child_of[walk[-1]]) not in seen:
            seen[child] = len(walk)
            walk.append(child)
        circle = [*walk[seen[child] :], child][::-1]
        return CycleError(circle, self.lines[circle[0], circle[1]])
