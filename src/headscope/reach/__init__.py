"""How far similarity, and the use of context, extend in long texts.

`texts` makes what the model reads of two documents: as they are, spliced, shuffled, replaced beyond
a distance, with phrases that come back. `measure` takes them through the model.
"""
