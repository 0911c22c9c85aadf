# SPDX-License-Identifier: Apache-2.0
# The first hour of a newcomer and of an administrator, with an installed tree.
TESTS += tests/firsthour/run.sh
EXTRA_DIST += tests/firsthour/run.sh tests/firsthour/newcomer.sh tests/firsthour/administrator.sh

# As tests/tree/install.sh: installing links anew in the build tree.
tests/firsthour/run.log: $(filter-out tests/firsthour/run.log tests/tree/install.log,$(TEST_LOGS))
