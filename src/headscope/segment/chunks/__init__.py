"""Chunks: pieces of a text with at most a given number of tokens, cut at the best boundaries.

In reading order: `limits` (how large), `token_counter` (in whose tokens), `cut_places` (where a
chunk may begin, and what that is worth), `pack` (the best cuts that keep the limits), `overlap`.
"""
