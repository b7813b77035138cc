"""Fourteen models of full size with random weights: what trains, and on which batch.

Eight of transformers, six of timm. Dropout and dropped paths are off, so that a step
can be repeated in float64. Nothing is loaded: weights are random, and those of one dim
are roughened, because scales of 1 (or of 1e-6) and biases of 0 hide mistakes.
"""

import os
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import Tensor, nn

from benchmarks.model_zoo import declare_vision_operators

_BERT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_SMALL = {
    "vocab_size": 512,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}
_SEED = 0


@dataclass(frozen=True, slots=True)
class TrainingCase:
    """A model, its batch, and a small twin to try scripts out.

    Attributes:
        name: As the tables have it.
        model: Name of its class in transformers, or of its model in timm.
        config: Name of its configuration in transformers, "" for timm.
        batch: Tokens: rows and length; images: rows, channels, height, width.
        settings: What differs from the defaults.
        tiny: What differs more in the small twin.
        masked: The model gets an attention mask, with padding.
        whole: Rows of a batch depend on each other (batch normalisation).
    """

    name: str
    model: str
    config: str
    batch: tuple[int, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    tiny: dict[str, Any] = field(default_factory=dict)
    masked: bool = False
    whole: bool = False


_ALL = (
    TrainingCase(
        "distilbert",
        "DistilBertForMaskedLM",
        "DistilBertConfig",
        (64, 128),
        {"dropout": 0.0, "attention_dropout": 0.0},
        {"vocab_size": 512, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128},
        masked=True,
    ),
    TrainingCase(
        "albert-base",
        "AlbertForMaskedLM",
        "AlbertConfig",
        (32, 128),
        {
            **_BERT,
            "hidden_size": 768,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
        },
        {**_SMALL, "embedding_size": 32},
        masked=True,
    ),
    TrainingCase(
        "bert-base",
        "BertForMaskedLM",
        "BertConfig",
        (32, 128),
        _BERT,
        _SMALL,
        masked=True,
    ),
    TrainingCase(
        "roberta-base",
        "RobertaForMaskedLM",
        "RobertaConfig",
        (32, 128),
        {**_BERT, "vocab_size": 50265, "max_position_embeddings": 514},
        _SMALL,
        masked=True,
    ),
    TrainingCase(
        "gpt2",
        "GPT2LMHeadModel",
        "GPT2Config",
        (8, 512),
        {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
        {"vocab_size": 512, "n_embd": 64, "n_layer": 2, "n_head": 4},
    ),
    TrainingCase(
        "opt-125m",
        "OPTForCausalLM",
        "OPTConfig",
        (16, 256),
        {"dropout": 0.0, "attention_dropout": 0.0},
        {
            "vocab_size": 512,
            "hidden_size": 64,
            "word_embed_proj_dim": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 128,
        },
    ),
    TrainingCase(
        "t5-small",
        "T5ForConditionalGeneration",
        "T5Config",
        (16, 128),
        {"dropout_rate": 0.0, "decoder_start_token_id": 0},
        {
            "vocab_size": 512,
            "d_model": 64,
            "d_kv": 16,
            "d_ff": 128,
            "num_layers": 2,
            "num_heads": 4,
        },
    ),
    TrainingCase(
        "vit_small",
        "vit_small_patch16_224",
        "",
        (64, 3, 224, 224),
        tiny={"depth": 2, "embed_dim": 48, "num_heads": 3},
    ),
    TrainingCase(
        "resnet50",
        "resnet50",
        "",
        (64, 3, 224, 224),
        tiny={"layers": (1, 1, 1, 1)},
        whole=True,
    ),
    TrainingCase(
        "convnext_tiny",
        "convnext_tiny",
        "",
        (64, 3, 224, 224),
        tiny={"depths": (1, 1, 1, 1), "dims": (16, 32, 48, 64)},
    ),
    TrainingCase(
        "qwen3-0.6b",
        "Qwen3ForCausalLM",
        "Qwen3Config",
        (4, 1024),
        {
            "vocab_size": 151936,
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "tie_word_embeddings": True,
        },
        {**_SMALL, "num_key_value_heads": 2, "head_dim": 16},
    ),
    TrainingCase(
        "swin_tiny",
        "swin_tiny_patch4_window7_224",
        "",
        (64, 3, 224, 224),
        {"drop_path_rate": 0.0},
        {"depths": (2, 2), "embed_dim": 24, "num_heads": (2, 4)},
    ),
    TrainingCase(
        "efficientnet_b0", "efficientnet_b0", "", (64, 3, 224, 224), whole=True
    ),
    TrainingCase("densenet121", "densenet121", "", (32, 3, 224, 224), whole=True),
)

CASES: dict[str, TrainingCase] = {case.name: case for case in _ALL}
"""Name -> case, the quickest to compile first."""


class Scored(nn.Module):
    """A model that returns the mean cross-entropy of its scores.

    The models' own losses convert scores to float32, whatever they were.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: dict[str, Tensor], labels: Tensor) -> Tensor:
        """Return the loss [1]; labels are numbers of tokens or of classes."""
        found = self.model(**inputs)
        scores = found if isinstance(found, Tensor) else found.logits
        return nn.functional.cross_entropy(scores.flatten(0, -2), labels.flatten())


def model_of(case: TrainingCase, *, tiny: bool = False) -> Scored:
    """Return the model in training mode, the same weights each time."""
    torch.manual_seed(_SEED)
    declare_vision_operators()
    settings = {**case.settings, **(case.tiny if tiny else {})}
    if case.config:
        import transformers

        config = getattr(transformers, case.config)(**settings)
        config.use_cache = False
        made = getattr(transformers, case.model)(config)
    else:
        import timm

        made = timm.create_model(case.model, pretrained=False, **settings)
    roughen(made)
    return Scored(made.train())


def roughen(model: nn.Module) -> None:
    """Make weights random that start as constants.

    Law: no weight is the same number everywhere (but for single numbers).
    """
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1 or not bool(weight.any()):
                weight.add_(torch.randn_like(weight), alpha=0.02)


def batch_of(
    case: TrainingCase, *, tiny: bool = False
) -> tuple[dict[str, Tensor], Tensor]:
    """Return named inputs and labels, the same each time."""
    draw = torch.Generator().manual_seed(_SEED + 1)
    if not case.config:
        rows, channels, *sides = case.batch
        shape = (2, channels, *_sides(case)) if tiny else (rows, channels, *sides)
        images = torch.randn(shape, generator=draw)
        return {"x": images}, torch.randint(1000, (len(images),), generator=draw)
    shape = (4, 32) if tiny else case.batch
    high = 500 if tiny else 30000
    tokens, labels, others = (
        torch.randint(3, high, shape, generator=draw) for _ in range(3)
    )
    inputs = {"input_ids": tokens}
    if case.masked:
        mask = torch.ones_like(tokens)
        mask[::3, -shape[1] // 4 :] = 0
        inputs["attention_mask"] = mask
    if case.model.startswith("T5"):
        inputs["decoder_input_ids"] = others
    return inputs, labels


def _sides(case: TrainingCase) -> tuple[int, int]:
    fixed = case.model.endswith("_224")
    return (224, 224) if fixed else (64, 64)
