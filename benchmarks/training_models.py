"""Seven models with random weights that return their loss, for training benchmarks.

Dropout is off unless it is asked for, so that gradients can be compared with float64's.
"""

import os
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import Tensor, nn

from benchmarks.model_zoo import declare_vision_operators

_DROPLESS: dict[str, dict[str, Any]] = {
    "BertConfig": {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    "GPT2Config": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
    "LlamaConfig": {},
}
_LLAMA: dict[str, Any] = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 12,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}
_TINY: dict[str, dict[str, Any]] = {
    "BertConfig": {
        "vocab_size": 512,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
    },
    "GPT2Config": {"vocab_size": 512, "n_embd": 64, "n_layer": 2, "n_head": 4},
    "LlamaConfig": {
        "vocab_size": 512,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
    },
}


@dataclass(frozen=True, slots=True)
class Language:
    """A language model of transformers.

    Attributes:
        config: Name of its configuration.
        model: Name of its class.
        tokens: Batch and length.
        settings: What differs from the configuration's defaults.
    """

    config: str
    model: str
    tokens: tuple[int, int]
    settings: dict[str, Any]


LANGUAGE: dict[str, Language] = {
    "bert-base": Language("BertConfig", "BertForMaskedLM", (16, 512), {}),
    "gpt2": Language("GPT2Config", "GPT2LMHeadModel", (8, 1024), {}),
    "llama-0.3b": Language("LlamaConfig", "LlamaForCausalLM", (8, 1024), _LLAMA),
}
VISION = {
    "resnet50": "resnet50",
    "vit-base": "vit_base_patch16_224",
    "convnext-tiny": "convnext_tiny",
    "mixer-b16": "mixer_b16_224",
}
_IMAGES = (64, 3, 224, 224)
_CLASSES = 1000

NAMES = (
    "resnet50",
    "bert-base",
    "gpt2",
    "vit-base",
    "llama-0.3b",
    "convnext-tiny",
    "mixer-b16",
)


class Loss(nn.Module):
    """A model and its loss in one module."""

    def __init__(self, model: nn.Module, language: bool) -> None:
        super().__init__()
        self.model = model
        self.language = language

    def forward(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy [1]."""
        if self.language:
            loss: Tensor = self.model(input_ids=inputs, labels=labels).loss
            return loss
        scores = self.model(inputs)
        return nn.functional.cross_entropy(scores.float(), labels)


def model_of(name: str, *, dropout: bool = False, tiny: bool = False) -> Loss:
    """Return a model in training mode, the same weights each time.

    Args:
        name: One of :data:`NAMES`.
        dropout: Leave dropout as the configuration has it.
        tiny: Two layers of width 64, language models only: to try a script out.
    """
    torch.manual_seed(0)
    if name in LANGUAGE:
        declare_vision_operators()
        import transformers

        entry = LANGUAGE[name]
        settings = {"use_cache": False, **entry.settings}
        if not dropout:
            settings |= _DROPLESS[entry.config]
        if tiny:
            settings |= _TINY[entry.config]
        config = getattr(transformers, entry.config)(**settings)
        return Loss(getattr(transformers, entry.model)(config).train(), True)
    import timm

    made = timm.create_model(VISION[name], pretrained=False)
    fill_zeros(made)
    return Loss(made.train(), False)


def fill_zeros(model: nn.Module) -> None:
    """Make weights random that start as 0: a zero head's results would test nothing."""
    for weight in model.parameters():
        if not weight.any():
            nn.init.normal_(weight, std=0.02)


def batch_of(
    name: str,
    device: str,
    *,
    seed: int = 1,
    rows: int | None = None,
    alphabet: int = 30000,
    tiny: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return inputs and labels, random.

    Args:
        name: One of :data:`NAMES`.
        device: Where they lie.
        seed: Of their values.
        rows: Batch, if not the model's own.
        alphabet: Number of different tokens.
        tiny: For the tiny model.
    """
    generator = torch.Generator().manual_seed(seed)
    if name not in LANGUAGE:
        images = torch.randn((rows or _IMAGES[0], *_IMAGES[1:]), generator=generator)
        labels = torch.randint(0, _CLASSES, (len(images),), generator=generator)
        return images.to(device), labels.to(device)
    batch, length = (4, 32) if tiny else LANGUAGE[name].tokens
    shape = rows or batch, length
    high = min(alphabet, 500) if tiny else alphabet
    tokens = torch.randint(3, high, shape, generator=generator)
    causal = name != "bert-base"  # its labels are not its own inputs, which it sees
    labels = tokens if causal else torch.randint(3, high, shape, generator=generator)
    return tokens.to(device), labels.clone().to(device)
