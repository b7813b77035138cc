"""Eight language models of transformers in tiny configurations, timed by all three.

Two layers of width 128 with 4 heads, batch 4 of 128 tokens, float32, inference, random
weights.
"""

import os
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

from benchmarks.fusing_cpu import measure, show
from benchmarks.model_zoo import declare_vision_operators

VOCABULARY, WIDTH, LAYERS, HEADS, BATCH, TOKENS = 1000, 128, 2, 4, 4, 128

_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 4 * WIDTH,
    "max_position_embeddings": 2 * TOKENS,
}
_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertConfig", "BertForMaskedLM", _COMMON),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", _COMMON),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {
            "vocab_size": VOCABULARY,
            "dim": WIDTH,
            "n_layers": LAYERS,
            "n_heads": HEADS,
            "hidden_dim": 4 * WIDTH,
            "max_position_embeddings": 2 * TOKENS,
        },
    ),
    "gpt2": (
        "GPT2Config",
        "GPT2LMHeadModel",
        {
            "vocab_size": VOCABULARY,
            "n_embd": WIDTH,
            "n_layer": LAYERS,
            "n_head": HEADS,
            "n_positions": 2 * TOKENS,
            "bos_token_id": 0,
            "eos_token_id": 2,
        },
    ),
    "t5": (
        "T5Config",
        "T5ForConditionalGeneration",
        {
            "vocab_size": VOCABULARY,
            "d_model": WIDTH,
            "d_kv": WIDTH // HEADS,
            "d_ff": 4 * WIDTH,
            "num_layers": LAYERS,
            "num_heads": HEADS,
            "decoder_start_token_id": 0,
        },
    ),
    "opt": (
        "OPTConfig",
        "OPTForCausalLM",
        {
            "vocab_size": VOCABULARY,
            "hidden_size": WIDTH,
            "word_embed_proj_dim": WIDTH,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "ffn_dim": 4 * WIDTH,
            "max_position_embeddings": 2 * TOKENS,
        },
    ),
    "albert": (
        "AlbertConfig",
        "AlbertForMaskedLM",
        {**_COMMON, "embedding_size": WIDTH // 2},
    ),
    "qwen3": (
        "Qwen3Config",
        "Qwen3ForCausalLM",
        {**_COMMON, "num_key_value_heads": HEADS // 2, "head_dim": WIDTH // HEADS},
    ),
}


def model_of(name: str) -> torch.nn.Module:
    """Return a model in evaluation mode with repeatable random weights."""
    declare_vision_operators()
    import transformers

    quieten: Callable[[], None] = transformers.logging.set_verbosity_error
    quieten()
    config_class, model_class, settings = _MODELS[name]
    config = getattr(transformers, config_class)(**settings)
    config.use_cache = False
    torch.manual_seed(0)
    model: torch.nn.Module = getattr(transformers, model_class)(config)
    return model.eval()


def batch_of(name: str) -> dict[str, torch.Tensor]:
    """Return the named arguments of a model."""
    torch.manual_seed(1)
    tokens = torch.randint(3, VOCABULARY, (BATCH, TOKENS))
    batch = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    if name == "t5":
        batch["decoder_input_ids"] = torch.randint(3, VOCABULARY, (BATCH, TOKENS))
    return batch


def models(
    names: list[str], rounds: int, flush: Callable[[list[dict[str, Any]]], None]
) -> list[dict[str, Any]]:
    """Return the rows of the models; ``flush`` gets what is there after each."""
    rows: list[dict[str, Any]] = []
    for name in _MODELS:
        if names and name not in names:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = measure(name, model_of(name), (), batch_of(name), rounds)
        show(row)
        rows.append(row)
        flush(rows)
    return rows
