"""Adapters: the segmenter as a part of other libraries' pipelines, one file a library.

Each needs its library, which headscope does not install: `pip install "headscope[langchain]"`, and
so on. All of them give the spans that `Segmenter.chunk` and `Segmenter.spans` give.
"""
