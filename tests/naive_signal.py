"""Signal and noise by plain loops over pairs, from the definitions alone."""

import math
from collections import Counter

import numpy as np


def naive_cosines(z, counted):
    """c[i][j] of counted tokens: cosine of vectors minus the mean of the counted ones."""
    places = [t for t in range(len(z)) if counted[t]]
    mean = [sum(z[t][k] for t in places) / len(places) for k in range(len(z[0]))]
    centred = {t: [float(z[t][k]) - mean[k] for k in range(len(mean))] for t in places}
    length = {t: math.sqrt(sum(v * v for v in centred[t])) for t in places}
    return {
        (i, j): sum(a * b for a, b in zip(centred[i], centred[j], strict=True))
        / (length[i] * length[j])
        for i in places
        for j in places
        if i < j
    }


def _different(labels, i, j):
    """Different words, spelled differently, and different tokens."""
    if labels["word"][i] < 0 or labels["word"][j] < 0:
        return False
    return all(
        labels[name][i] != labels[name][j] or labels[name][i] < 0
        for name in ("word", "form", "token")
    )


def naive_side(relation, labels, own, i, j):
    """related, unrelated or None for a pair that does not count."""
    if not _different(own, i, j) or not _different(labels, i, j):
        return None
    lemma = labels["lemma"]
    same_lemma = lemma[i] == lemma[j] >= 0
    if relation == "lemma":
        if same_lemma:
            return "related"
        return "unrelated" if lemma[i] >= 0 and lemma[j] >= 0 else None
    sentence = labels["sentence"]
    if same_lemma or sentence[i] < 0 or sentence[j] < 0:
        return None
    if relation == "sentence":
        return "related" if sentence[i] == sentence[j] else "unrelated"
    governor, word = labels["governor"], labels["word"]
    if governor[i] < 0 or governor[j] < 0 or sentence[i] != sentence[j]:
        return None
    arc = governor[i] == word[j] or governor[j] == word[i]
    return "related" if arc else "unrelated"


def _groups_that_give(numbers):
    """Effective number of groups that pairs come from: 1 if all are of one."""
    return sum(numbers) ** 2 / sum(n * n for n in numbers)


def naive_snr(windows, relation, groups, fewest=100, share=0.5, floor=1e-4):
    """The ratio over windows of (z of a head, own labels, swapped labels, counted)."""
    by_labels = []
    cells, groups_of_cell = {}, {}
    for (z, own, swapped, counted), group in zip(windows, groups, strict=True):
        for (i, j), c in naive_cosines(z, counted).items():
            for name, labels in (("own", own), ("swapped", swapped)):
                side = naive_side(relation, labels, own, i, j)
                if side is not None:
                    cell = (name, side, int(math.log2(j - i)))
                    cells.setdefault(cell, []).append(c)
                    groups_of_cell.setdefault(cell, Counter())[group] += 1
    bins = sorted({distance for _, _, distance in cells})
    used = [
        distance
        for distance in bins
        if all(
            len(cells.get((name, side, distance), ())) >= fewest
            and _groups_that_give(groups_of_cell[name, side, distance].values())
            >= share * len(set(groups))
            for name in ("own", "swapped")
            for side in ("related", "unrelated")
        )
    ]
    if not used:
        return math.nan
    for name in ("own", "swapped"):
        ratios = []
        for distance in used:
            related = np.array(cells[name, "related", distance])
            unrelated = np.array(cells[name, "unrelated", distance])
            noise = 0.5 * (max(related.var(), floor) + max(unrelated.var(), floor))
            ratios.append((related.mean() - unrelated.mean()) ** 2 / noise)
        by_labels.append(sum(ratios) / len(ratios))
    return by_labels[0] - by_labels[1]
