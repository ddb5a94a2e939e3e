# SPDX-License-Identifier: GPL-2.0
#
# `make help` lists the targets. Those that build or install for this host check that what
# they need is there, and install no package; `make deps` does. The demos and all that tests
# install what they need first. Each prints about a line a stage.
#
#   V=1             show everything
#   KERNEL=VERSION  the kernel to build for and to boot (default: for make the one that runs
#                   here, in test machines the newest here)
#   KDIR=DIR        build the modules for the kernel whose build files are there
#   BTF=1           give the modules type information, for bpftrace and the like: tools/btf
#   VM=none         no test machine: on this very host's kernel, as root
#   LANES=N         on a machine with 2 N processors: so many test machines at a time

Q	:= $(if $(filter-out 0,$(V)),,@)
V	?= 0
export V
MAKEFLAGS += --no-print-directory

all: check-build	## build the modules, modoae/modoae.ko and modoaeip/modoaeip.ko; the default
	$(Q)kdir=$$(tools/setup --host-kdir) && tools/build "$$kdir"

deps:			## install what make and make programs need; WHAT="install rpm test ..." or all
	$(Q)tools/setup $(or $(WHAT),build programs)

programs: check-programs	## liboae, the command oae and the examples, in build/
	$(Q)$(MAKE) -s -C lib
	$(Q)$(MAKE) -s -C tools/oae
	$(Q)$(MAKE) -s -C examples

demo: setup-demo	## two kernels, an atomic link between them, and a cable that is cut
	$(Q)tools/build
	$(Q)tools/demo

demo-gateway: setup-demo	## hosts in two Ethernet zones, a gateway each, a router between
	$(Q)tools/build
	$(Q)tools/demo-gateway

demo-failover: setup-demo	## two hosts, two cables, a copy, and cables that are pulled
	$(Q)tools/build
	$(Q)$(MAKE) -s programs
	$(Q)tools/demo-failover

# Every stage runs, whatever became of the others; all must pass.
LANES	?= 1
STAGE	= $(MAKE) -s -f tests/stages.mk LANES=$(LANES)

test: setup-test	## unit tests, explorer, simulator, regression in the test machine ...
	$(Q)tools/build
	$(Q)$(MAKE) -s programs test-programs
	$(Q)$(STAGE)

quick: setup-test	## before each commit: unit tests, small explorations, smoke tests
	$(Q)tools/build
	$(Q)$(MAKE) -s -C tests/guest
	$(Q)$(STAGE) quick

test-long: setup-matrix	## all of make test at full length, and what it leaves out; FROM=STAGE goes on there
	$(Q)tools/build
	$(Q)$(MAKE) -s programs test-programs
	$(Q)tests/starve/build build/starve
	$(Q)tests/starve/check-imports build/starve
	$(Q)$(STAGE) long FROM=$(FROM)

test-debug: setup-test setup-debug	## the regression in a kernel full of instruments, which is built first
	$(Q)tools/debugkernel
	$(Q)tools/build --debug
	$(Q)$(MAKE) -s programs test-programs
	$(Q)$(STAGE) debug

test-races: setup-test setup-debug	## the regression in a kernel that looks for data races, built first
	$(Q)tools/testkernel races
	$(Q)KERNEL=$$(tools/testkernel races --release) tools/build --out build/races
	$(Q)$(MAKE) -s programs test-programs
	$(Q)$(STAGE) test-races

test-rt: setup-test setup-debug	## the regression, and storms, in a kernel with PREEMPT_RT, built first
	$(Q)tools/testkernel rt
	$(Q)KERNEL=$$(tools/testkernel rt --release) tools/build --out build/rt
	$(Q)$(MAKE) -s programs test-programs
	$(Q)$(STAGE) test-rt

# What the tests of /dev/oae run in the test machine.
test-programs:
	$(Q)$(MAKE) -s -C tests/soak
	$(Q)$(MAKE) -s -C tests/lib programs
	$(Q)$(MAKE) -s -C tests/guest

soak: setup-test	## 100,000 swaps, 1,000,000 FETCH_ADDs on bad links
	$(Q)tools/build
	$(Q)$(MAKE) -s test-programs
	$(Q)$(STAGE) soak

# With WINDOW only what is sent with a window of that.
faults: setup-test	## 200,000 messages over each bad network; or WINDOW=32 MESSAGES=1000000
	$(Q)tools/build
	$(Q)$(MAKE) -s test-programs
	$(Q)$(STAGE) faults

cuts: setup-test	## one of two cables fails, in all ways: MESSAGES=1000000 CUTS=10000 SEED=...
	$(Q)tools/build
	$(Q)$(MAKE) -s test-programs
	$(Q)$(STAGE) cuts

calm: setup-test	## TIME=3600 seconds of traffic on two good cables, and neither is found lossy
	$(Q)tools/build
	$(Q)$(MAKE) -s test-programs
	$(Q)$(STAGE) calm

starve: setup-test	## every allocation of both modules fails, one at a time and at random
	$(Q)tests/starve/build build/starve
	$(Q)tests/starve/check-imports build/starve
	$(Q)$(STAGE) starve

# What an earlier run left can be compared with.
coverage: setup-test	## which lines of both modules the tests reach, by file; OLD=FILE to compare
	$(Q)tools/build
	$(Q)$(MAKE) -s programs test-programs
	$(Q)tests/coverage/run --json build/coverage.json $(if $(OLD),--compare $(OLD))

life-storm: setup-test	## all that comes and goes, at random and at once: TIME=180 SEED=...
	$(Q)tools/build
	$(Q)$(MAKE) -s test-programs
	$(Q)$(STAGE) life-storm

storm: setup-test	## strangers at full rate, of all kinds, beside a link at work
	$(Q)tools/build
	$(Q)$(MAKE) -s test-programs
	$(Q)$(STAGE) storm

wirefuzz: setup-test	## peers and gateways that mean no good, TIME=300 seconds each; SEED=N again
	$(Q)tools/build
	$(Q)$(MAKE) -s test-programs
	$(Q)$(STAGE) wirefuzz gateway-wirefuzz

check: setup-check	## builds without a warning; sparse, checkpatch, clang-format, scripts, mutants
	$(Q)failed=; \
	for check in $$(tools/check list); do \
		tools/stage check-$$check tools/check $$check || failed=1; \
	done; \
	test -z "$$failed"

# Of the rows with aims some can be had alone; tests/bench/aims --list says which there are.
AIMS	= tests/bench/aims --json build/bench/report/aims-rounds.json $(if $(WINDOW),--window $(WINDOW))

bench: setup-bench	## against a bare echo, VXLAN, TIPC, UDP, TCP, rdma_rxe; ROWS="small incast": only these
	$(Q)tools/build
	$(Q)$(MAKE) -s -C tests/bench
ifdef ROWS
	$(Q)$(AIMS) $(ROWS)
else
	$(Q)$(MAKE) -s test-programs
	$(Q)tests/bench/tables --run $(MAKE) bench-rows
endif

bench-count: setup-bench	## instructions of a transaction, a ping-pong, 64 KB ...; WRITE=1: into doc/
	$(Q)tools/build
	$(Q)$(MAKE) -s -C tests/bench count
	$(Q)tests/bench/counts $(if $(filter-out 0,$(WRITE)),--write)

# What is measured; tests/bench/tables reads what it prints.
bench-rows:
	$(Q)tools/vm run --time-limit 300 -- tests/bench/run
	$(Q)tools/vm run --time-limit 300 -- tests/bench/gateway
	$(Q)tools/vm run --time-limit 300 -- tests/bench/programs
	$(Q)tests/bench/programs-pair
	$(Q)tools/vm run --time-limit 600 -- tests/bench/storm
	$(Q)tools/oaesim --torus 100x100 --loss 1% -n 10M --bench 2>&1 >/dev/null
	$(Q)$(AIMS)

matrix: setup-matrix	## build for and test on KERNELS="5.10 6.1 6.12 7", fetched
	$(Q)$(MAKE) -s programs test-programs
	$(Q)tools/matrix $(KERNELS)

headers: setup-matrix	## build against kernel headers with parts of newer ones; CASES="6.1-lltx ..."
	$(Q)tests/headers/run $(CASES)

cross: setup-cross	## build for arm64, i386, armhf, s390x, ppc64el, powerpc; their unit tests
	$(Q)tools/cross -v

model-deep: setup-unit	## explore all states of all scenarios, in 4 GiB
	$(Q)$(STAGE) model-deep

spec-deep: setup-test	## check all configurations of the specification
	$(Q)$(STAGE) spec-deep

fuzz: setup-fuzz	## fuzz the core for TIME=3600 seconds each; 0: until something is found
	$(Q)$(MAKE) -s -C tests/fuzz long TIME=$(or $(TIME),3600)

sim: setup-unit		## ten million transactions on a simulated torus of 100 x 100 nodes
	$(Q)tools/oaesim --torus 100x100 --loss 1% -n 10M --bench

install: check-install programs	## install on this host (root): the modules, liboae, oae, manual pages
	$(Q)tools/install
	$(Q)$(MAKE) -s -C lib install
	$(Q)$(MAKE) -s -C tools/oae install
	$(Q)$(MAKE) -s -C tools/sim install

dkms: check-dkms		## the same with DKMS, which builds it anew for every new kernel
	$(Q)tools/install dkms

uninstall:		## undo install or dkms
	$(Q)tools/install remove
	$(Q)$(MAKE) -s -C lib uninstall
	$(Q)$(MAKE) -s -C tools/oae uninstall
	$(Q)$(MAKE) -s -C tools/sim uninstall

deb: check-deb		## Debian packages: modoae-dkms, oae-tools, liboae1, liboae-dev, python3-oae
	$(Q)tools/deb

rpm: check-rpm		## RPM packages: akmod-modoae, oae-tools, liboae, liboae-devel, python3-oae
	$(Q)tools/rpm

test-packages: setup-packages	## both, install and dkms, in clean roots; DKMS for two kernels
	$(Q)tools/deb
	$(Q)tools/stage packages tests/packages/run

clean:			## remove what was built; what the test machine keeps stays
	$(Q)rm -rf build/*.log $(addprefix build/,bench check coverage coverage.json deb rpm debug examples fuzz guest headers instruments instruments-races instruments-rt lib lib-test \
		log matrix model mutants oae oae-check older races results rt sim sim-test soak spec starve unit)
	$(Q)for module in modoae modoaeip; do \
		(cd $$module && rm -rf has *.o *.ko *.mod *.mod.c .*.cmd .tmp_versions \
			Module.symvers modules.order); \
	done
	$(Q)rm -f .checkpatch-camelcase*
	$(Q)find . -name __pycache__ -prune -exec rm -rf {} +

help:			## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1 /p' Makefile | \
		while read -r name text; do printf '  make %-13s %s\n' "$$name" "$$text"; done

# One apt at a time, and before anything that needs what it installs.
setup-%:
	$(Q)tools/setup $*

# Says what is missing, and what to install it with.
check-%:
	$(Q)tools/setup --check $*

.NOTPARALLEL:
.PHONY: all deps programs test-programs quick test-long soak life-storm faults cuts calm storm wirefuzz demo demo-gateway demo-failover test test-debug test-races test-rt starve coverage check bench bench-count bench-rows matrix headers cross model-deep spec-deep fuzz sim install dkms uninstall deb rpm test-packages clean help
