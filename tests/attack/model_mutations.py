"""What makes a model folder hostile: each mutation changes a good one, by a seeded random choice.

A mutation takes the folder, a folder outside with files that are not to be touched, and a source of
random numbers; it gives back a few words on what it did.
"""

import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

Mutation = Callable[[Path, Path, random.Random], str]

VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 3, 7, 10**6, 10**9, 10**30, 2**63, -(2**63), 0.5, 1e300, float("inf"), -0.0),
    *("", "4", "float32", "eager", "somebody/kernel", "../../outside", "/dev/zero", "x" * 10_000),
    *(None, True, False, [], {}, [1, 2], [[]], {"a": {"b": 1}}, [10**9] * 3, "\ud800", "\0"),
)
KERNELS = ("somebody/kernel", "kernels-community/flash-attn", "flash_attention_2", "paged|eager", 3)
PLACES = (
    "",
    "text_config",
    "vision_config",
    "encoder",
    "decoder",
    "audio_config",
    "backbone_config",
)
DANGEROUS: tuple[tuple[str, Any], ...] = (
    *(
        (key, kernel)
        for key in ("_attn_implementation", "attn_implementation")
        for kernel in KERNELS
    ),
    ("_attn_implementation_internal", "somebody/kernel"),
    ("_experts_implementation", "somebody/kernel"),
    ("experts_implementation", "somebody/kernel"),
    ("__dict__", {"_attn_implementation_internal": "somebody/kernel"}),
    ("__class__", "int"),
    ("attribute_map", {"hidden_size": "vocab_size"}),
    ("use_kernels", True),
    ("kernel_config", {"RMSNorm": "somebody/kernel:RMSNorm"}),
    ("fusion_config", {"patch_embeddings": True}),
    ("quantization_config", {"quant_method": "bitsandbytes", "load_in_4bit": True}),
    ("quantization_config", {"quant_method": "gptq", "bits": 4}),
    ("quantization_config", {}),
    ("auto_map", {"AutoConfig": "evil.EvilConfig", "AutoModel": "evil.EvilModel"}),
    ("auto_map", {"AutoModel": "somebody/code--evil.EvilModel"}),
    ("auto_map", ["evil.Evil", None]),
    ("custom_pipelines", {"evil": {"impl": "evil.EvilModel"}}),
    ("transformers_weights", "adapter_model.bin"),
    ("transformers_weights", "../outside/trap.bin"),
    ("transformers_weights", "/dev/zero"),
    ("tokenizer_class", "AutoModel"),
    ("tokenizer_class", "pipeline"),
    ("tokenizer_class", 7),
    ("backbone", "somebody/backbone"),
    ("peft_config", {"base_model_name_or_path": "../outside"}),
    ("adapters", {"adapters": {"a": "somebody/adapter"}}),
    ("configuration_files", ["config.4.0.0.json"]),
    ("per_layer_config", {"0": {"num_attention_heads": 10**9}}),
    ("num_labels", 10**9),
    ("id2label", {"x": "y"}),
    ("torch_dtype", "load"),
    ("dtype", "int8"),
    ("output_attentions", "yes"),
    ("chunk_size_feed_forward", 3),
    ("is_encoder_decoder", True),
    ("is_decoder", True),
    ("add_cross_attention", True),
    ("pruned_heads", {"0": [0, 1, 2, 3]}),
    ("architectures", ["os.system"]),
    ("get_text_config", "not a function"),
)
MODEL_TYPES = ("albert", "t5", "gpt_neox", "clip", "whisper", "longformer", "swin", "rag", "detr")


def change_number(folder: Path, _: Path, rng: random.Random) -> str:
    config = _read(folder / "config.json")
    key = rng.choice(sorted(config))
    if rng.random() < 0.15:
        del config[key]
        _write(folder / "config.json", config)
        return f"config without {key}"
    config[key] = rng.choice(VALUES)
    _write(folder / "config.json", config)
    return f"config {key} = {str(config[key])[:20]!r}"


def add_danger(folder: Path, _: Path, rng: random.Random) -> str:
    config = _read(folder / "config.json")
    (key, value), place = rng.choice(DANGEROUS), rng.choice(PLACES)
    if place:
        inner = config.get(place)
        config[place] = (inner if isinstance(inner, dict) else {}) | {key: value}
    else:
        config[key] = value
    _write(folder / "config.json", config)
    return f"config {place or 'top'}: {key} = {str(value)[:40]}"


def change_type(folder: Path, _: Path, rng: random.Random) -> str:
    config = _read(folder / "config.json")
    config["model_type"] = rng.choice([*MODEL_TYPES, "", 3, None, "x/../y", ["bert"]])
    _write(folder / "config.json", config)
    return f"model_type = {config['model_type']!r}"


def replace_json(folder: Path, outside: Path, rng: random.Random) -> str:
    """A JSON file that is something else."""
    name = rng.choice(["config.json", "tokenizer.json", "tokenizer_config.json", "vocab.json"])
    path = folder / name
    good = path.read_bytes() if path.is_file() else b"{}"
    contents = {
        "a list": b"[1, 2]",
        "a number": b"7",
        "empty": b"",
        "not UTF-8": good[:-1] + b"\xff\xfe}",
        "UTF-16": good.decode("utf-8", "replace").encode("utf-16"),
        "deep lists": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "deep objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        "deep enough": b'{"a":' * 60 + b"1" + b"}" * 60,
        "NaN": good.rstrip()[:-1] + b', "initializer_range": NaN}',
        "a long number": good.rstrip()[:-1] + b', "hidden_size": ' + b"9" * 6_000 + b"}",
        "cut": good[: len(good) // 2],
        "zeros": bytes(len(good)),
        "escapes": b'{"model_type": "\\u001b[2J\\u0007bert"}',
        "a byte order mark": b"\xef\xbb\xbf" + good,
    }
    form = rng.choice([*sorted(contents), "a folder", "a pipe", "a link", "a device", "a gigabyte"])
    if form in contents:
        path.write_bytes(contents[form])
        return f"{name} is {form}"
    path.unlink(missing_ok=True)
    match form:
        case "a folder":
            path.mkdir()
        case "a pipe":
            os.mkfifo(path)
        case "a link":
            path.symlink_to(outside / "precious.json")
        case "a device":
            path.symlink_to("/dev/zero")
        case _:
            with path.open("wb") as file:
                file.truncate(1 << 30)  # takes no room on the disk
    return f"{name} is {form}"


def lie_in_header(folder: Path, _: Path, rng: random.Random) -> str:
    """A safetensors file whose header is wrong."""
    path = folder / "model.safetensors"
    if not path.is_file() or path.is_symlink():
        return "no weights"
    content = path.read_bytes()
    try:
        length = struct.unpack("<Q", content[:8])[0]
        header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    except (struct.error, ValueError):
        return "no weights"  # what another mutation has made of them
    names = sorted(name for name in header if name != "__metadata__")
    entry = header[rng.choice(names)]
    lies: dict[str, Callable[[], object]] = {
        "offset outside": lambda: entry.update(data_offsets=[0, 10**12]),
        "offset shifted": lambda: entry.update(data_offsets=[n + 4 for n in entry["data_offsets"]]),
        "offset reversed": lambda: entry.update(data_offsets=entry["data_offsets"][::-1]),
        "offset negative": lambda: entry.update(data_offsets=[-8, 8]),
        "overlap": lambda: entry.update(header[names[0]]),
        "huge shape": lambda: entry.update(shape=[2**40, 2**40]),
        "shape of zero": lambda: entry.update(shape=[0], data_offsets=[0, 0]),
        "shape of floats": lambda: entry.update(shape=[1.5]),
        "no shape": lambda: entry.pop("shape"),
        "dtype I32": lambda: entry.update(dtype="I32"),
        "dtype F8": lambda: entry.update(dtype="F8_E4M3"),
        "dtype of code": lambda: entry.update(dtype="os.system"),
        "dtype 3": lambda: entry.update(dtype=3),
        "missing tensor": lambda: header.pop(rng.choice(names)),
        "other name": lambda: header.update({"x" * 5_000: header.pop(rng.choice(names))}),
        "metadata of lists": lambda: header.update(__metadata__=[1, 2]),
        "no tensors": header.clear,
    }
    others = {
        "header of 2^63": lambda text: struct.pack("<Q", 2**63) + text + data,
        "header of 0": lambda text: struct.pack("<Q", 0) + text + data,
        "header too short": lambda text: struct.pack("<Q", len(text) - 9) + text + data,
        "key twice": lambda text: _framed(text[:-1] + b"," + text[1:]) + data,
        "cut": lambda text: (_framed(text) + data)[: rng.randrange(1, len(content))],
        "more behind it": lambda text: _framed(text) + data + b"more",
        "deep header": lambda text: _framed(b'{"a":' * 2_000 + b"1" + b"}" * 2_000) + data,
        "NaN weights": lambda text: _framed(text) + b"\xff" * len(data),
        "infinite weights": lambda text: _framed(text) + b"\x00\x00\x80\x7f" * (len(data) // 4),
        "zero weights": lambda text: _framed(text) + bytes(len(data)),
        "huge weights": lambda text: _framed(text) + b"\x00\x00\x7f\x7f" * (len(data) // 4),
        "random bytes": lambda text: rng.randbytes(len(content)),
        "a flipped bit": lambda text: _flipped(_framed(text) + data, rng),
    }
    lie = rng.choice([*sorted(lies), *sorted(others)])
    if lie in lies:
        lies[lie]()
    text = json.dumps(header).encode()
    path.write_bytes(others[lie](text) if lie in others else _framed(text) + data)
    return f"weights: {lie}"


def point_elsewhere(folder: Path, outside: Path, rng: random.Random) -> str:
    """Weights by an index that names other files, or by links and pipes."""
    path = folder / "model.safetensors"
    target = rng.choice(
        [
            *("pytorch_model.bin", "adapter_model.bin", "../outside/trap.bin", "/dev/zero"),
            *("../outside/model.safetensors", str(outside / "model.safetensors"), "a pipe"),
            *("part.safetensors", "", ".", "..", "a\0b.safetensors", "\ud800.safetensors"),
            *("x" * 5_000 + ".safetensors", "sub/part.safetensors", "link.safetensors", 7, None),
            *("model.safetensors.index.json", "trap.safetensors", "loop.safetensors", ["a", "b"]),
        ]
    )
    good = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    if rng.random() < 0.8:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    (folder / "part.safetensors").write_bytes(good)
    _replace_link(folder / "link.safetensors", outside / "model.safetensors")
    _replace_link(folder / "loop.safetensors", folder / "loop.safetensors")
    if target == "a pipe":
        target = "pipe.safetensors"
        if not (folder / target).exists():
            os.mkfifo(folder / target)
    names = ["embeddings.word_embeddings.weight", "wte.weight", "other"]
    maps: list[Any] = [dict.fromkeys(names, target), {"a": "part.safetensors", "b": target}]
    weight_map = rng.choice([*maps, [target], {}, target])
    _write(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": weight_map})
    return f"index names {str(target)[:40]!r}"


def replace_weights(folder: Path, outside: Path, rng: random.Random) -> str:
    path = folder / "model.safetensors"
    path.unlink(missing_ok=True)
    form = rng.choice(["a pickle", "a link", "/dev/zero", "a pipe", "a folder", "nothing", "only"])
    match form:
        case "a pickle":
            path.write_bytes((outside / "trap.bin").read_bytes())
        case "a link":
            path.symlink_to(outside / "model.safetensors")
        case "/dev/zero":
            path.symlink_to("/dev/zero")
        case "a pipe":
            os.mkfifo(path)
        case "a folder":
            path.mkdir()
        case "only":
            ending = rng.choice(["bin", "pt", "pth", "ckpt", "h5", "msgpack", "gguf"])
            (folder / f"pytorch_model.{ending}").write_bytes((outside / "trap.bin").read_bytes())
            form = f"only a .{ending}"
    return f"weights are {form}"


def change_tokenizer(folder: Path, _: Path, rng: random.Random) -> str:
    """A value somewhere in tokenizer.json, or a whole part of it."""
    path = folder / "tokenizer.json"
    if not path.is_file() or path.is_symlink():
        return "no tokenizer"
    tokenizer = _read(path)
    if not isinstance(tokenizer.get("model"), dict):
        return "no tokenizer"  # what another mutation has made of it
    bomb = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
    parts: dict[str, Callable[[], object]] = {
        "bomb": lambda: tokenizer.update(
            normalizer={"type": "Sequence", "normalizers": [bomb] * 12}
        ),
        "ids above the vocabulary": lambda: _ids(tokenizer, 10**6),
        "ids above 2^31": lambda: _ids(tokenizer, 2**31),
        "ids that are negative": lambda: _ids(tokenizer, -10_000),
        "all ids the same": lambda: _ids(tokenizer, None),
        "no vocabulary": lambda: tokenizer["model"].update(vocab={}),
        "added tokens": lambda: tokenizer.update(
            added_tokens=[{"id": 10**9, "content": "the", "special": True}]
        ),
        "special of 10^9": lambda: tokenizer.update(
            post_processor={"type": "BertProcessing", "sep": ["[SEP]", 10**9], "cls": ["[CLS]", 2]}
        ),
        "endless regex": lambda: tokenizer.update(
            pre_tokenizer={
                "type": "Split",
                "pattern": {"Regex": "(a+)+$"},
                "behavior": "Isolated",
                "invert": False,
            }
        ),
        "broken charsmap": lambda: tokenizer.update(
            normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}
        ),
        "truncation": lambda: tokenizer.update(
            truncation={"direction": "Right", "max_length": 0, "strategy": "LongestFirst"}
        ),
        "padding": lambda: tokenizer.update(padding={"strategy": {"Fixed": 10**9}}),
    }
    part = rng.choice([*sorted(parts), *["any"] * 8])
    if part == "any":
        part = _change_anywhere(tokenizer, rng)
    else:
        parts[part]()
    _write(path, tokenizer)
    return f"tokenizer: {part}"


def change_tokenizer_config(folder: Path, outside: Path, rng: random.Random) -> str:
    path = folder / "tokenizer_config.json"
    if not path.is_file() or path.is_symlink():
        return "no tokenizer config"
    config = _read(path)
    added: tuple[tuple[str, Any], ...] = (
        (
            "tokenizer_class",
            rng.choice(["AutoModel", "RagTokenizer", "../x", 3, "MarianTokenizer"]),
        ),
        ("tokenizer_file", str(outside / "precious.json")),
        ("vocab_file", rng.choice(["/dev/zero", str(outside / "precious.json")])),
        ("merges_file", "/dev/zero"),
        ("auto_map", {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}),
        ("auto_map", ["somebody/code--evil.Evil", None]),
        ("fast_tokenizer_files", ["tokenizer.4.0.0.json", "../outside/precious.json"]),
        ("sp_model_kwargs", {"model_file": "/dev/zero"}),
        ("chat_template", "{% for x in range(10**9) %}{{ x }}{% endfor %}"),
        ("model_max_length", rng.choice([0, -5, 1, "many", [], 2.5, float("inf")])),
        ("added_tokens_decoder", {"1000000000": {"content": "the", "special": True}}),
        ("added_tokens_decoder", {"x": 3}),
        ("init_inputs", ["/dev/zero"]),
        ("name_or_path", "somebody/tokenizer"),
        ("extra_special_tokens", rng.choice([3, {"a": 1}, ["x"] * 1_000])),
        (rng.choice(sorted(config) or ["x"]), rng.choice(VALUES)),
    )
    key, value = rng.choice(added)
    config[key] = value
    _write(path, config)
    return f"tokenizer config {key} = {str(value)[:30]!r}"


def add_file(folder: Path, outside: Path, rng: random.Random) -> str:
    """A file beside the model that a library may look for."""
    trap = (outside / "trap.bin").read_bytes()
    template = b"{{ ''.__class__.__mro__[1].__subclasses__() }}"
    files: dict[str, bytes] = {
        "adapter_config.json": json.dumps(
            {"peft_type": "LORA", "base_model_name_or_path": str(outside), "task_type": "CAUSAL_LM"}
        ).encode(),
        "adapter_model.bin": trap,
        "pytorch_model.bin": trap,
        "tf_model.h5": trap,
        "training_args.bin": trap,
        "spk_dict.pt": trap,
        "generation_config.json": b'{"max_length": -1, "custom_generate": "evil", "num_beams": []}',
        "preprocessor_config.json": b'{"feature_extractor_type": "evil", "auto_map": {"a": "b"}}',
        "processor_config.json": b'{"processor_class": "Evil"}',
        "special_tokens_map.json": json.dumps({"cls_token": rng.choice(VALUES)}).encode(),
        "added_tokens.json": json.dumps({"the": rng.choice([10**9, -1, "x", None])}).encode(),
        "chat_template.jinja": template,
        "tekken.json": b'{"vocab": []}',
        "tokenizer.model": trap,
        "vocab.txt": b"\xff\xfe\n" * 100,
        "merges.txt": b"#version\na\n\n\0\n",
        "vocab.json": b'{"a": -1}',
        "evil.py": b"raise SystemExit('the code was run')",
        "modules.json": b'[{"type": "evil.Evil", "path": "../../outside"}]',
    }
    name = rng.choice(sorted(files))
    path = folder / name
    if path.is_dir() or path.is_fifo() or path.is_symlink():
        return f"{name} was there"
    path.write_bytes(files[name])
    return f"with {name}"


def many_files(folder: Path, _: Path, rng: random.Random) -> str:
    for number in range(rng.choice([100, 300])):
        (folder / f"part-{number}.json").write_bytes(b"{}")
    return "many small files"


MUTATIONS: tuple[tuple[Mutation, int], ...] = (
    (change_number, 6),
    (add_danger, 6),
    (change_type, 1),
    (replace_json, 4),
    (lie_in_header, 5),
    (point_elsewhere, 4),
    (replace_weights, 2),
    (change_tokenizer, 5),
    (change_tokenizer_config, 4),
    (add_file, 4),
    (many_files, 1),
)
"""With how often each is chosen."""


def _ids(tokenizer: dict[str, Any], added: int | None) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {
        word: 0 if added is None else number + added for word, number in vocabulary.items()
    }


def _change_anywhere(tokenizer: dict[str, Any], rng: random.Random) -> str:
    place: Any = tokenizer
    way = []
    while True:
        key = rng.choice(sorted(place) if isinstance(place, dict) else range(len(place)))
        way.append(str(key)[:20])
        child = place[key]
        if not isinstance(child, dict | list) or not child or rng.random() < 0.3:
            place[key] = rng.choice(VALUES)
            return f"{'.'.join(way)} = {str(place[key])[:20]!r}"
        place = child


def _framed(header: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header


def _flipped(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    changed[rng.randrange(min(len(changed), 2_000))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _replace_link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes()) if path.is_file() and not path.is_symlink() else {}
    except (ValueError, RecursionError):
        return {"model_type": "bert"}  # what another mutation has made of it
    return values if isinstance(values, dict) and values else {"model_type": "bert"}


def _write(path: Path, values: object) -> None:
    if not path.is_dir() and not path.is_symlink() and not path.is_fifo():
        path.write_text(json.dumps(values))
