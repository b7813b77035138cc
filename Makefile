# Everything happens in .venv, which each target makes and keeps up to date.
# Needed beforehand: Python >= 3.11 with venv, g++, make. Another interpreter:
# `make run PYTHON=/path/to/python3.12`.

.PHONY: run test test-slow lint prove clean distclean runtime dev
.NOTPARALLEL:
export PYTHON

run: runtime ## the main job on real input, with a report
	@.venv/bin/python -m tilewright run

test: dev ## format, lint, contracts, types, tests, wheel
	@.ci/check

test-slow: dev ## the tests marked slow
	@.ci/check slow

lint: dev ## the first steps of `make test`
	@.ci/check format lint contracts types

prove: runtime ## the catalogue of theorems
	@.ci/provers
	@.venv/bin/python -m tilewright prove

runtime dev:
	@.ci/setup $@

clean: ## what the checks leave behind
	rm -rf build dist *.egg-info .coverage .coverage.* .mypy_cache .ruff_cache \
	    .pytest_cache .hypothesis .import_linter_cache
	find . -name .venv -prune -o -type d -name __pycache__ -exec rm -rf {} +

distclean: clean ## and the environment
	rm -rf .venv
