"""What layers hold of dependency trees, for any model, where the corpus marks them.

A map per layer is fitted to the trees of each half of the documents (`headscope.lens.tree_probe`),
and the other half is read with it: how well distances between states rank those in the tree, and
how many edges of the tree are in the smallest spanning tree. The distance in the text, which needs
no model, is held against the same trees.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.errors import CorpusError, ModelError
from headscope.lens.probe import HALVES, half_of
from headscope.lens.tree_probe import TreeExample, fit_tree_maps, tree_distances
from headscope.lens.trees import Tree, edges_found, rank_agreement, trees_of
from headscope.measuring.batch import batches
from headscope.measuring.labels import label_tokens
from headscope.measuring.study import Advance, Cells, Setting
from headscope.models.own_head import OwnHead
from headscope.runs.folder import RunFolder
from headscope.settings import Settings
from headscope.system.progress import Progress
from headscope.text.windows import Window

MOST_WORDS = 8000
"""Words of each half that maps are fitted to, at most: those of the first windows."""
_MOST_BYTES = 512 << 20
"""Of their states, in half precision."""


class TreeStudy:
    """Probes of distances in dependency trees."""

    name = "lens"
    steps = 1

    def __init__(self, head: OwnHead, settings: Settings) -> None:
        """Say what is measured.

        Args:
            head: Gives the states of the layers.
            settings: Which layers.
        """
        if head.model.config.is_encoder_decoder:
            raise ModelError(
                f"probe: {head.model.name} is an encoder-decoder, and words are probed in encoders "
                "and decoders alone; choose another model"
            )
        self.head = head
        self.layers = head.numbers(settings.layers)
        self._maps: list[Float[Tensor, "layer d_model rank"] | None] = []

    @property
    def settings(self) -> Mapping[str, Setting]:
        """What identifies it."""
        return {"probe": "distances"}

    @property
    def cells(self) -> Mapping[str, tuple[int, ...]]:
        """Words and edges, and how well each layer, and order alone, tells them."""
        by_layer = (len(self.layers),)
        return {
            "words": (),
            "edges": (),
            "agreement": by_layer,
            "found": by_layer,
            "linear_agreement": (),
            "linear_found": (),
        }

    def prepare(self, run: RunFolder, progress: Progress) -> None:
        """Fit the maps.

        Args:
            run: With the windows.
            progress: Is told of every window, and of every fit.
        """
        manifest = run.manifest
        progress.stage("fitting probes", total=manifest.corpus.windows)
        examples: list[list[TreeExample]] = [[] for _ in range(HALVES)]
        words = [0] * HALVES
        for number in range(manifest.shards):
            windows = run.read_windows(number)
            for places in batches(windows, max_tokens=manifest.settings.batch_tokens):
                some = [windows[place] for place in places]
                if min(words) < self._most_words:
                    for row, tree, states in self._read(some):
                        half = half_of(some[row])
                        if words[half] < self._most_words:
                            words[half] += len(tree.tokens)
                            examples[half].append(TreeExample(states.half(), tree.distances))
                progress.advance(len(places))
        if not any(examples):
            raise CorpusError(
                f"corpus {', '.join(manifest.corpus.sources)}: marks no dependencies, so there is "
                "nothing to learn of trees; take a treebank (.conllu)"
            )
        self._maps = [fit_tree_maps(of_half) for of_half in examples]

    def measure(self, windows: Sequence[Window], advance: Advance) -> Cells:
        """How well the maps of the other half tell the trees.

        Args:
            windows: A batch.
            advance: Is told of every window.
        """
        cells = {name: np.zeros((len(windows), *shape)) for name, shape in self.cells.items()}
        for row, tree, states in self._read(windows):
            agreement = rank_agreement(tree.linear, tree)
            known = np.isfinite(agreement)
            found, edges = edges_found(tree.linear, tree)
            cells["words"][row] += known.sum()
            cells["edges"][row] += edges
            cells["linear_agreement"][row] += agreement[known].sum()
            cells["linear_found"][row] += found
            maps = self._maps[1 - half_of(windows[row])]
            if maps is None:
                cells["agreement"][row] = cells["found"][row] = np.nan
                continue
            for place, distances in enumerate(tree_distances(maps, states).double().numpy()):
                cells["agreement"][row, place] += rank_agreement(distances, tree)[known].sum()
                cells["found"][row, place] += edges_found(distances, tree)[0]
        advance(len(windows))
        return cells

    @property
    def _most_words(self) -> int:
        width = int(self.head.model.config.hidden_size)
        return min(MOST_WORDS, _MOST_BYTES // (2 * HALVES * len(self.layers) * width))

    def _read(
        self, windows: Sequence[Window]
    ) -> list[tuple[int, Tree, Float[Tensor, "layer word d_model"]]]:
        """The trees of a batch, each with its window and the states of its words."""
        trees = [trees_of(window) for window in windows]
        labels = label_tokens(windows, self.head.model.device)
        scored: Bool[Tensor, "batch position"] = torch.zeros_like(labels.real)
        for row, of_window in enumerate(trees):
            for tree in of_window:
                scored[row, torch.from_numpy(tree.tokens).to(scored.device)] = True
        if not scored.any():
            return []
        inputs = self.head.model.encoder_inputs(labels.token_ids, labels.real)
        states = self.head.states(inputs, scored)[list(self.layers)].float().cpu()
        # All of one length, since a few tokens have states that are a hundred times as long.
        states = states / states.square().mean(-1, keepdim=True).sqrt().clamp_min(1e-12)
        place = (scored.flatten().cumsum(0) - 1).view(scored.shape).cpu().numpy()
        return [
            (row, tree, states[:, torch.from_numpy(place[row, tree.tokens])])
            for row, of_window in enumerate(trees)
            for tree in of_window
        ]
