# SPDX-License-Identifier: GPL-2.0
#
# The stages of `make test` and `make quick`, which build what they need and then run this
# file. A target each, in no order: those that take longest begin first.
#
# The guests of one processor run two at a time, and then those of two, one at a time. With LANES=N
# so many times as many. The stages without a guest run beside them, two at a time, on what they leave.

# The regression's test files: of the link, of the gateway, of /dev/oae.
TESTS := $(shell tests/guest/run --list)
GATEWAY_TESTS := $(filter test_gateway_%,$(TESTS))
DEV_TESTS := $(filter test_dev_%,$(TESTS))
LINK_TESTS := $(filter-out test_gateway_% test_dev_% test_readme,$(TESTS))

# Tests about races, or of what happens by chance: they need two processors.
RACES := test_life test_faults test_storm test_costs test_graph test_cuts test_wirefuzz test_dev_files \
	test_dev_killed test_dev_order test_dev_monitor test_dev_perf test_dev_spread test_dev_faults test_dev_window test_dev_random test_dev_ringfuzz test_dev_ringkill \
	test_gateway_zones test_gateway_paths test_gateway_faults test_gateway_wirefuzz

IN_GUESTS := regress device gateway leaks readme
IN_TWO := races pair counts
BESIDE := mutants model unit spec wireshark oae sim fuzz scripts lib
STARVE_STAGES := starve-links starve-gateways
LEAK_TESTS := test_leaks test_gateway_leaks test_dev_leaks
LANES ?= 1
export LANES
STAGES_OF = $(MAKE) -s -k -j$(LANES) -f tests/stages.mk
TWO_OF = $(MAKE) -s -k -j$$((2 * $(LANES))) -f tests/stages.mk

# What a stage builds, it builds as if it were alone.
unexport MAKEFLAGS MFLAGS

# Both to the end, whatever becomes of the other.
all:
	@$(MAKE) -s -k -j2 -f tests/stages.mk in-guests beside
in-guests:
	@$(TWO_OF) $(IN_GUESTS); first=$$?; \
		$(STAGES_OF) $(IN_TWO) && exit $$first
beside:
	@tools/idle $(TWO_OF) $(BESIDE)

# Of `make quick`: the smoke of link, device and gateway in one guest; beside it the unit tests
# and the small scenarios of the explorer.
QUICK_TESTS := test_smoke test_dev_smoke \
	test_gateway_zones.Zones.test_all_pairs test_gateway_zones.Zones.test_ways
QUICK_SCENARIOS := confirm one wrap port kill probe room rename one-raw crash verb-crash verb swap-alone
QUICK_BESIDE := quick-unit quick-model quick-scripts

quick:
	@$(MAKE) -s -k -j2 -f tests/stages.mk quick-guest quick-beside
quick-beside:
	@tools/idle $(STAGES_OF) $(QUICK_BESIDE)
quick-guest:
	@tools/stage $@ tools/vm run --time-limit 300 -- tests/guest/run $(QUICK_TESTS)
quick-unit:
	@tools/stage $@ env OAE_SIM_SEEDS=10000 $(MAKE) -s -C tests/unit run
quick-model:
	@$(MAKE) -s -C tests/model
	@tools/stage $@ build/model/explore $(QUICK_SCENARIOS)
quick-scripts:
	@tools/stage $@ tests/scripts/run

unit:
	@tools/stage $@ $(MAKE) -s -C tests/unit run
model:
	@tools/stage $@ $(MAKE) -s -C tests/model run
mutants:
	@tools/stage $@ tests/mutants/run --changed
long-mutants:
	@tools/stage $@ tests/mutants/run --whole
spec:
	@tools/stage $@ tests/spec/run
fuzz:
	@tools/stage $@ $(MAKE) -s -C tests/fuzz run TIME=2
sim:
	@tools/stage $@ tests/sim/test_oaesim.py
# Fewer messages and seconds than a test has by itself: `make test-long` has them. Elsewhere
# than in a plain guest for tests/coverage, and there all tests.
IN_GUEST = tools/vm run --smp $(SMP) --time-limit 1200
SMP := 1
FEWER := FAULT_MESSAGES=1500 GATEWAY_MESSAGES=1000 GATEWAY_STRANGERS=20000
regress:
	@tools/stage $@ $(IN_GUEST) -- env $(FEWER) tests/guest/run $(filter-out $(RACES),$(LINK_TESTS))
gateway:
	@tools/stage $@ $(IN_GUEST) -- env $(FEWER) tests/guest/run $(filter-out $(RACES),$(GATEWAY_TESTS))
device:
	@tools/stage $@ $(IN_GUEST) -- env $(FEWER) tests/guest/run $(filter-out $(RACES),$(DEV_TESTS))
races: SMP := 2
races:
	@tools/stage $@ $(IN_GUEST) -- env $(FEWER) OAE_SOAK=1 tests/guest/run $(filter $(RACES),$(TESTS)) test_soak
# In a guest that nothing else has been done in.
readme:
	@tools/stage $@ tools/vm run --smp 1 --time-limit 300 -- tests/guest/run test_readme
scripts:
	@tools/stage $@ tests/scripts/run
headers:
	@tools/stage $@ tests/headers/run
oae: ROUNDS := 15
oae long-oae:
	@tools/stage $@ $(if $(ROUNDS),env ROUNDS=$(ROUNDS)) $(MAKE) -s -C tools/oae check
lib:
	@tools/stage $@ $(MAKE) -s -C tests/lib run
wireshark:
	@tools/stage $@ tests/lua/run
# Lockdown cannot be lifted again: last in its guest.
leaks:
	@tools/stage $@ tools/vm run --smp 1 --append slub_debug=F --time-limit 1200 -- \
		tests/guest/run $(LEAK_TESTS) test_lockdown
pair:
	@tools/stage $@ env PAIR_MESSAGES=1000 tests/link/pair

counts:
	@$(MAKE) -s -C tests/bench count
	@tools/stage $@ tests/bench/counts --compare

# Of `make test-long`, in this order: what `make test` does, at full length, and what it does not do
# at all. FROM=STAGE begins there. Some are targets of the Makefile as well, with its variables.
LONG_IN_GUESTS := long-regress long-device long-gateway readme long-leaks long-lockdown long-pair \
	soak faults long-cuts long-graph long-random long-rings long-monitor long-calm life-storm storm \
	wirefuzz gateway-wirefuzz counts $(STARVE_STAGES)
LONG_BESIDE := unit long-oae lib wireshark long-wireshark scripts headers sim spec model-deep spec-deep long-mutants \
	long-fuzz
LONG_STAGES := $(LONG_IN_GUESTS) $(LONG_BESIDE)
LONG_LEFT := $(if $(FROM),$(shell printf '%s\n' $(LONG_STAGES) | sed -n '/^$(FROM)$$/,$$p'),$(LONG_STAGES))
IN_LONG := tools/vm run --time-limit 7200

long:
	@[ -n "$(LONG_LEFT)" ] || { echo "FROM=$(FROM): one of $(LONG_STAGES)" >&2; exit 1; }
	@failed=; $(MAKE) -s -k -j2 -f tests/stages.mk FROM=$(FROM) long-in-guests long-beside || failed=1; \
		tools/stage --table $(LONG_STAGES) || failed=1; test -z "$$failed"
# Without a goal make would make all.
long-in-guests:
	@$(if $(filter $(LONG_IN_GUESTS),$(LONG_LEFT)),$(STAGES_OF) $(filter $(LONG_IN_GUESTS),$(LONG_LEFT)))
long-beside:
	@tools/idle $(STAGES_OF) $(filter $(LONG_BESIDE),$(LONG_LEFT))

long-regress:
	@tools/stage $@ $(IN_LONG) -- env OAE_TIMES=3 CALM=60 PATH_CUTS=20 FAULT_MESSAGES=20000 tests/guest/run $(LINK_TESTS)
long-device:
	@tools/stage $@ $(IN_LONG) -- env OAE_TIMES=3 tests/guest/run $(DEV_TESTS)
long-gateway:
	@tools/stage $@ $(IN_LONG) -- env OAE_TIMES=3 tests/guest/run $(GATEWAY_TESTS)
long-leaks:
	@tools/stage $@ tools/vm run --append slub_debug=F --time-limit 7200 -- \
		env OAE_TIMES=3 tests/guest/run $(LEAK_TESTS)
long-lockdown:
	@tools/stage $@ $(IN_LONG) -- tests/guest/run test_lockdown
long-pair:
	@tools/stage $@ tests/link/pair
long-graph:
	@tools/stage $@ $(IN_LONG) -- env NODES=64 REST=60 tests/guest/run test_graph
long-random:
	@tools/stage $@ $(IN_LONG) -- env TIME=60 tests/guest/run test_dev_random
long-rings:
	@tools/stage $@ $(IN_LONG) -- env TIME=300 RING_RECORDS=1000000 \
		tests/guest/run test_dev_ringfuzz test_dev_ringkill
long-monitor:
	@tools/stage $@ $(IN_LONG) -- env EVENTS=1000000 LINKS=200 \
		tests/guest/run test_dev_monitor.Monitor.test_flood

# Targets of the Makefile, which says what the variables are.
soak:
	@tools/stage $@ $(IN_LONG) -- tests/guest/run test_soak
faults:
	@tools/stage $@ $(IN_LONG) -- \
		env $(if $(WINDOW),FAULT_WINDOW=$(WINDOW)) $(if $(MESSAGES),FAULT_MESSAGES=$(MESSAGES) WINDOW_MESSAGES=$(MESSAGES)) \
		$(if $(PACK),FAULT_PACK=$(PACK)) SEED=$(SEED) \
		tests/guest/run $(if $(WINDOW),test_dev_window,test_faults)
long-cuts: MESSAGES := 100000
long-cuts: CUTS := 1000
cuts long-cuts:
	@tools/stage $@ tools/vm run --time-limit 21600 -- \
		env CUT_MESSAGES=$(or $(MESSAGES),1000000) CUTS=$(or $(CUTS),10000) SEED=$(SEED) \
		tests/guest/run test_cuts
long-calm: TIME := 300
calm long-calm:
	@tools/stage $@ tools/vm run --time-limit $$((2 * $(or $(TIME),3600) + 600)) -- \
		env CALM=$(or $(TIME),3600) tests/guest/run test_paths.Failover.test_not_lossy
# slub_debug finds memory used after it was freed, and counts.
life-storm:
	@tools/stage $@ tools/vm run --append slub_debug=FZPU --time-limit $$(($(or $(TIME),180) + 1800)) -- \
		env TIME=$(or $(TIME),180) SEED=$(SEED) tests/guest/run test_life_storm
storm:
	@tools/stage $@ tools/vm run --time-limit 3600 -- tests/storm/run
wirefuzz:
	@tools/stage $@ tools/vm run --time-limit 14400 -- \
		env TIME=$(or $(TIME),300) SEED=$(SEED) tests/guest/run test_wirefuzz
gateway-wirefuzz:
	@tools/stage $@ tools/vm run --time-limit 14400 -- \
		env TIME=$(or $(TIME),300) SEED=$(SEED) tests/guest/run test_gateway_wirefuzz
model-deep:
	@tools/stage $@ $(MAKE) -s -C tests/model deep
spec-deep:
	@tools/stage $@ tests/spec/run deep
long-wireshark:
	@tools/stage $@ env OAE_FRAMES=20000 tests/lua/run test_fuzz
long-fuzz:
	@tools/stage $@ $(MAKE) -s -C tests/fuzz long TIME=$(or $(TIME),300)

# Of `make test-debug`: the same in the debug kernel, and that its instruments work. Each message
# costs it thirty times as much: fewer of them, with every fault among them still.
DEBUG_STAGES := debug-regress debug-device debug-gateway debug-leaks debug-life-storm debug-instruments
IN_DEBUG := tools/vm run --debug --time-limit 5400

debug:
	@$(STAGES_OF) $(DEBUG_STAGES)

debug-instruments:
	@tools/stage $@ tests/instruments/run debug
debug-regress:
	@tools/stage $@ $(IN_DEBUG) -- env FAULT_MESSAGES=4000 tests/guest/run $(LINK_TESTS)
debug-gateway:
	@tools/stage $@ $(IN_DEBUG) -- env GATEWAY_MESSAGES=4000 GATEWAY_STRANGERS=20000 \
		tests/guest/run $(GATEWAY_TESTS)
debug-device:
	@tools/stage $@ $(IN_DEBUG) -- env TIME=20 tests/guest/run $(DEV_TESTS)
debug-leaks:
	@tools/stage $@ $(IN_DEBUG) -- \
		tests/guest/run $(LEAK_TESTS)
debug-life-storm:
	@tools/stage $@ $(IN_DEBUG) -- env TIME=$(or $(TIME),180) SEED=$(SEED) tests/guest/run test_life_storm

# Of `make test-races` and `make test-rt`: the same in the kernels of tools/testkernel, all that comes
# and goes, and that they notice; strangers at full rate.
RACE_STAGES := races-regress races-gateway races-device races-life-storm races-instruments
RT_STAGES := rt-regress rt-gateway rt-device rt-life-storm rt-storm rt-instruments
IN_KERNEL = KERNEL=$$(tools/testkernel $* --release) tools/stage $@ tools/vm run --time-limit 5400 --env OAE_SLOW=4 \
	--env OAE_MODULE=$(CURDIR)/build/$*/modoae/modoae.ko \
	--env OAEIP_MODULE=$(CURDIR)/build/$*/modoaeip/modoaeip.ko

test-races:
	@$(STAGES_OF) $(RACE_STAGES)
test-rt:
	@$(STAGES_OF) $(RT_STAGES)

races-instruments rt-instruments: %-instruments:
	@tools/stage $@ tests/instruments/run $*
races-regress rt-regress: %-regress:
	@$(IN_KERNEL) -- env FAULT_MESSAGES=20000 tests/guest/run $(LINK_TESTS)
races-gateway rt-gateway: %-gateway:
	@$(IN_KERNEL) -- tests/guest/run $(GATEWAY_TESTS)
races-device rt-device: %-device:
	@$(IN_KERNEL) -- env TIME=20 tests/guest/run $(DEV_TESTS)
races-life-storm rt-life-storm: %-life-storm:
	@$(IN_KERNEL) -- env TIME=60 tests/guest/run test_life_storm
rt-storm: %-storm:
	@$(IN_KERNEL) -- tests/storm/run

# Of `make starve`: a guest for each module, and the list of its sites.

starve:
	@$(STAGES_OF) $(STARVE_STAGES)
$(STARVE_STAGES): starve-%:
	@tools/stage $@ tools/vm run --time-limit 5400 --append slub_debug=FP -- tests/starve/run $*; \
		status=$$?; grep -E '^(ok |BAD) ' build/log/$@.log; exit $$status

.PHONY: all in-guests beside quick quick-beside quick-guest $(QUICK_BESIDE) $(IN_GUESTS) $(IN_TWO) $(BESIDE) debug $(DEBUG_STAGES) test-races $(RACE_STAGES) test-rt $(RT_STAGES) starve $(STARVE_STAGES) long $(LONG_STAGES)
