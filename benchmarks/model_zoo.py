"""Small models with random weights: 16 of transformers, 13 of timm.

Each entry makes a model in evaluation mode and a batch for it, repeatably and without
the network. The configurations are tiny, but every kind of layer is there.
"""

import copy
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")

VOCABULARY = 97
TOKENS = 24
BATCH = 2


@dataclass(frozen=True)
class Case:
    """A model and how to call it.

    Attributes:
        name: Of the architecture.
        family: ``"transformers"`` or ``"timm"``.
        make: Returns the model.
        batch: Returns its named arguments.
    """

    name: str
    family: str
    make: Callable[[], torch.nn.Module]
    batch: Callable[[], dict[str, Any]]

    def model(self) -> torch.nn.Module:
        """Return the model in evaluation mode, the same weights each time.

        Matrices that start as zero (heads of classifiers) are random too.
        """
        torch.manual_seed(0)
        model = self.make().eval()
        with torch.no_grad():
            for weight in model.parameters():
                if weight.dim() > 1 and not bool(weight.any()):
                    weight.normal_(std=0.02)
        return model

    def reference(self, model: torch.nn.Module) -> torch.nn.Module:
        """Return a copy in float64."""
        wide = copy.deepcopy(model).double()
        choose = getattr(wide, "set_experts_implementation", None)
        if choose is not None and self.name == "mixtral":
            choose("batched_mm")  # the grouped product has no float64
        return wide

    def inputs(self) -> dict[str, Any]:
        """Return the arguments, the same each time."""
        torch.manual_seed(1)
        return self.batch()


def tensors_of(output: Any) -> list[torch.Tensor]:
    """Return all tensors of a model's output, in its order."""
    if isinstance(output, torch.Tensor):
        return [output]
    if hasattr(output, "items"):
        output = [value for _, value in output.items()]
    if isinstance(output, (tuple, list)):
        return [tensor for part in output for tensor in tensors_of(part)]
    return []


_SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
_DROPLESS: dict[str, Any] = {
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
_HEADS: dict[str, Any] = {"num_key_value_heads": 2, "head_dim": 8}

_TRANSFORMERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertConfig", "BertForMaskedLM", {**_SMALL, **_DROPLESS}),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {**_SMALL, **_DROPLESS}),
    "albert": (
        "AlbertConfig",
        "AlbertForMaskedLM",
        {**_SMALL, **_DROPLESS, "embedding_size": 16},
    ),
    "electra": (
        "ElectraConfig",
        "ElectraForMaskedLM",
        {**_SMALL, **_DROPLESS, "embedding_size": 16},
    ),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {
            "vocab_size": VOCABULARY,
            "dim": 32,
            "n_layers": 2,
            "n_heads": 4,
            "hidden_dim": 64,
            "max_position_embeddings": 64,
            "dropout": 0.0,
            "attention_dropout": 0.0,
        },
    ),
    "gpt2": (
        "GPT2Config",
        "GPT2LMHeadModel",
        {
            "vocab_size": VOCABULARY,
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 64,
            "resid_pdrop": 0.0,
            "embd_pdrop": 0.0,
            "attn_pdrop": 0.0,
            "bos_token_id": 0,
            "eos_token_id": 2,
        },
    ),
    "llama": ("LlamaConfig", "LlamaForCausalLM", {**_SMALL, **_HEADS}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**_SMALL, **_HEADS}),
    "gemma2": (
        "Gemma2Config",
        "Gemma2ForCausalLM",
        {**_SMALL, **_HEADS, "sliding_window": 8},
    ),
    "t5": (
        "T5Config",
        "T5ForConditionalGeneration",
        {
            "vocab_size": VOCABULARY,
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 64,
            "num_layers": 2,
            "num_heads": 4,
            "dropout_rate": 0.0,
            "decoder_start_token_id": 0,
        },
    ),
    "bart": (
        "BartConfig",
        "BartForConditionalGeneration",
        {
            "vocab_size": VOCABULARY,
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 64,
            "decoder_ffn_dim": 64,
            "max_position_embeddings": 64,
            "dropout": 0.0,
        },
    ),
    "deberta-v2": (
        "DebertaV2Config",
        "DebertaV2ForMaskedLM",
        {
            **_SMALL,
            **_DROPLESS,
            "relative_attention": True,
            "position_buckets": 8,
            "pos_att_type": ["p2c", "c2p"],
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
        },
    ),
    "opt": (
        "OPTConfig",
        "OPTForCausalLM",
        {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "word_embed_proj_dim": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 64,
            "max_position_embeddings": 64,
            "dropout": 0.0,
        },
    ),
    "mixtral": (
        "MixtralConfig",
        "MixtralForCausalLM",
        {**_SMALL, **_HEADS, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "mamba": (
        "MambaConfig",
        "MambaForCausalLM",
        {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "state_size": 8,
            "num_hidden_layers": 2,
            "expand": 2,
            "time_step_rank": 4,
        },
    ),
    "vit": (
        "ViTConfig",
        "ViTForImageClassification",
        {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "image_size": 32,
            "patch_size": 8,
            **_DROPLESS,
        },
    ),
}

_TIMM = {
    "resnet18": 64,
    "resnet50": 64,
    "vit_tiny_patch16_224": 224,
    "deit_tiny_patch16_224": 224,
    "convnext_atto": 64,
    "efficientnet_b0": 64,
    "mobilenetv3_small_100": 64,
    "swin_tiny_patch4_window7_224": 224,
    "mixer_s32_224": 224,
    "regnetx_002": 64,
    "densenet121": 64,
    "ghostnet_100": 64,
    "res2net50_26w_4s": 64,
}


def _make_transformers(name: str) -> torch.nn.Module:
    declare_vision_operators()  # transformers imports torchvision where it is there
    import transformers

    quieten: Callable[[], None] = transformers.logging.set_verbosity_error
    quieten()
    config_class, model_class, settings = _TRANSFORMERS[name]
    config = getattr(transformers, config_class)(**settings)
    for flag in ("use_cache", "return_dict"):
        setattr(config, flag, flag == "return_dict")
    model: torch.nn.Module = getattr(transformers, model_class)(config)
    return model


def _batch_transformers(name: str) -> dict[str, Any]:
    if name == "vit":
        return {"pixel_values": torch.randn(BATCH, 3, 32, 32)}
    tokens = torch.randint(3, VOCABULARY, (BATCH, TOKENS))
    batch = {"input_ids": tokens}
    if name != "mamba":
        mask = torch.ones_like(tokens)
        mask[0, -5:] = 0
        batch["attention_mask"] = mask
    if name in ("t5", "bart"):
        batch["decoder_input_ids"] = torch.randint(3, VOCABULARY, (BATCH, TOKENS))
    return batch


def _make_timm(name: str) -> torch.nn.Module:
    declare_vision_operators()
    import timm

    model: torch.nn.Module = timm.create_model(name, pretrained=False, num_classes=10)
    return model


_LIBRARY: list[Any] = []


def declare_vision_operators() -> None:
    """Declare what torchvision expects of its binary part, where that is missing."""
    if _LIBRARY:
        return
    try:
        import torchvision  # noqa: F401  # to see whether it can be
    except ImportError:
        return
    except RuntimeError:  # no operator torchvision::nms
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float t) -> Tensor")
        _LIBRARY.append(library)


def _case(name: str, family: str) -> Case:
    if family == "transformers":
        return Case(
            name,
            family,
            lambda: _make_transformers(name),
            lambda: _batch_transformers(name),
        )
    size = _TIMM[name]
    return Case(
        name,
        family,
        lambda: _make_timm(name),
        lambda: {"x": torch.randn(BATCH, 3, size, size)},
    )


CASES = {
    name: _case(name, family)
    for family, names in (("transformers", _TRANSFORMERS), ("timm", _TIMM))
    for name in names
}
"""Name -> case, all 29."""
