import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from proofs import record_vectors
from proofs.record_vectors import KINDS, main, record
from proofs.recorded import FOLDER
from verify.oracle import Wheel


@pytest.mark.skipif(find_spec("triton") is None, reason="needs the triton wheel")
def test_recording_is_repeatable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_vectors, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["record_vectors", "--cases", "5"])
    main()
    for kind in KINDS:
        written = json.loads((tmp_path / f"{kind}.json").read_text())
        kept = json.loads((FOLDER / f"{kind}.json").read_text())
        assert written["kind"] == kind and len(written["vectors"]) == 5
        if written["triton"] == kept["triton"]:
            assert written["vectors"][0] == kept["vectors"][0]


@pytest.mark.skipif(find_spec("triton") is None, reason="needs the triton wheel")
def test_only_modelled_kinds_are_recorded() -> None:
    with Wheel() as wheel:
        for kind in ("slice", "dot_operand"):
            vectors = record(kind, wheel, 1, 10)
            assert "amd" not in json.dumps([v["encoding"] for v in vectors])
