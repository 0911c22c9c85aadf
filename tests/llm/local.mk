# SPDX-License-Identifier: Apache-2.0
# Tests of the passes for large language models. Their golden cases lie in tests/pass.
EXTRA_DIST += \
	tests/llm/functions/broken.py \
	tests/llm/functions/copy.py \
	tests/llm/functions/graph.py \
	tests/llm/functions/scale.py \
	tests/llm/functions/scale_again.py
