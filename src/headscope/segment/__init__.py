"""Segmenting: sentences and topics of a text, from what attention heads write.

What happens in `Segmenter.split(text)` (`segmenter.py`, where to start reading):

1. `sentences/mode.py` decides whether the punctuation of the text can be relied on.
2. `reading/window_batches.py` cuts its tokens into overlapping windows, `reading/read_heads.py`
   runs the model on them and keeps a few values per token.
3. `sentences/candidates.py` lists the places at which a sentence may begin,
   `sentences/boundary_scores.py` gives each a probability, by the small network of
   `sentences/boundary_net.py` and the weights of `sentences/weights.py`.
4. `sentences/decode.py` chooses the best cuts: character spans that cover the text.
5. By topic, `topics/find_topics.py` groups sentences, by the similarities of
   `topics/sentence_similarity.py` and the network of `topics/topic_net.py`.

6. `Segmenter.chunk` packs sentences into chunks, by `chunks/pack.py`; `formats/` says what Markdown
   means for all of this, `cutter.py` puts the steps together, `options.py` has the options.

`training/` learns the weights; `demo_weights/` holds those of the demo model. `evaluation/` judges
a segmenter by the metrics of `metrics.py`. `stream.py` segments texts that do not fit in memory.
`adapters/` offers the segmenter to other libraries.
Imports point one way: evaluation, segmenter, training, sentences and topics, reading.
"""

from headscope.segment.segmenter import Segmenter
from headscope.segment.sentences.boundary_scores import BoundaryScores

__all__ = ["BoundaryScores", "Segmenter"]
