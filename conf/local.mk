# SPDX-License-Identifier: Apache-2.0
dist_conf_DATA = conf/tenon.ini
conftargetsdir = $(confdir)/targets
dist_conftargets_DATA = conf/targets/cpu.ini conf/targets/cuda.ini conf/targets/gpu_generic.ini conf/targets/opencl.ini
confprofilesdir = $(confdir)/profiles
dist_confprofiles_DATA = conf/profiles/llm.ini
