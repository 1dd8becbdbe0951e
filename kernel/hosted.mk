# Hosted tests and benchmarks: the layers on Linux threads (arch/hosted), the fixtures of testing/. Included by the Makefile
# beside it.
#   make test [LOCK=ticket|mcs|big] [SAN=thread|address] [ONLY="queue sched"] [PRINTED=1]
#   make mutant MUTANT=FILE.c ONLY="queue"   the tests with FILE.c, a changed layer file, in place of the layer's
#   make bench-locks [CPUS=N]
#   make conform [LAYER=queue] the C side of the comparison with the specifications (proof/extract)
# Each layer's tests stand beside it as <layer>_test.c; they are linked with all layers and run one after the other. So do
# those of arch/x86_64, which include the files that they test and play the hardware.
# With PRINTED=1 the layers are what c2coq prints from the syntax trees that the proofs speak of.

HOSTED_OUT := $(ROOT)/build/kernel/hosted-$(LOCK)$(if $(SAN),-$(SAN))$(if $(PRINTED),-printed)
HOSTED_CC := gcc
# -iquote: a layer's header must not stand in for the system's <sched.h>.
HOSTED_INCLUDES := $(INCLUDES:-I%=-iquote%) -iquote$(KERNEL)/arch/hosted -iquote$(KERNEL)/testing
HOSTED_FLAGS := -std=gnu11 -g -O1 -pthread -DDEBUG -Wall -Wextra -Wno-unused-function -MMD -MP $(LOCK_DEFINE) \
	$(HOSTED_INCLUDES) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) \
	$(if $(filter address,$(SAN)),-fsanitize=undefined -fno-sanitize-recover=undefined)
HARDWARE_TESTS := $(wildcard $(KERNEL)/arch/x86_64/*/*_test.c)
HOSTED_TESTS := $(foreach layer,$(LAYERS),$(wildcard $(KERNEL)/layers/$(layer)/*_test.c)) $(HARDWARE_TESTS)
ifneq ($(ONLY),)
ALL_TESTS := $(HOSTED_TESTS)
HOSTED_TESTS := $(foreach name,$(ONLY),$(or $(filter %/$(name)_test.c,$(ALL_TESTS)),\
    $(error ONLY=$(name): no such test; a layer's tests are named without _test, as ONLY="queue sched")))
endif
HOSTED_LAYERS := $(filter-out %_test.c %_check.c,$(foreach layer,$(LAYERS),$(wildcard $(KERNEL)/layers/$(layer)/*.c)))
HOSTED_OBJECTS := $(patsubst $(KERNEL)/%.c,$(HOSTED_OUT)/%.o,$(HOSTED_LAYERS) \
	$(wildcard $(KERNEL)/arch/hosted/*.c $(KERNEL)/testing/*.c))
HOSTED_PROGRAMS := $(patsubst $(KERNEL)/%.c,$(HOSTED_OUT)/%,$(HOSTED_TESTS))

.PHONY: test test-programs bench-locks
test-programs: $(HOSTED_PROGRAMS)

test: test-programs
	@failed=0; for program in $(HOSTED_PROGRAMS); do \
	    name=$$(basename $$program); \
	    if result=$$(timeout 600 $$program 2>$$program.log); then \
	        printf '%-24s %s\n' "$$name" "$$(echo "$$result" | tail -n 1)"; \
	    else \
	        printf '%-24s FAILED: %s\n' "$$name" "$$(echo "$$result" | tail -n 1)"; \
	        head -n 40 $$program.log; failed=1; \
	    fi; \
	done; exit $$failed

$(HOSTED_OUT)/%.o: $(KERNEL)/%.c $(KERNEL)/hosted.mk
	@mkdir -p $(@D)
	@$(HOSTED_CC) $(HOSTED_FLAGS) -c $< -o $@

ifneq ($(PRINTED),)
HOSTED_PRINTED := $(patsubst $(KERNEL)/%.c,$(HOSTED_OUT)/%.c,$(HOSTED_LAYERS))
.SECONDARY: $(HOSTED_PRINTED)
$(HOSTED_PRINTED): $(HOSTED_OUT)/%.c: $(KERNEL)/%.c $(C2COQ) \
	$(wildcard $(KERNEL)/*.h $(KERNEL)/arch/arch.h $(KERNEL)/layers/*/*.h $(KERNEL)/layers/*/*_check.c)
	@mkdir -p $(@D)
	@$(C2COQ) print $(INCLUDES) $(LOCK_DEFINE) -DDEBUG $< > $@.new && mv $@.new $@

$(HOSTED_PRINTED:.c=.o): %.o: %.c $(KERNEL)/hosted.mk
	@$(HOSTED_CC) $(HOSTED_FLAGS) -Wno-unused-variable -c $< -o $@
endif

$(patsubst $(KERNEL)/%.c,$(HOSTED_OUT)/%.o,$(HARDWARE_TESTS)): HOSTED_FLAGS += -iquote$(KERNEL)/arch/x86_64

# An archive, so that a test is linked with what it uses only.
$(HOSTED_OUT)/layers.a: $(HOSTED_OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

$(HOSTED_PROGRAMS): %: %.o $(HOSTED_OUT)/layers.a
	@$(HOSTED_CC) $(HOSTED_FLAGS) $^ -o $@

# The linker takes nothing from the archive that the changed file defines.
.PHONY: mutant
mutant: $(HOSTED_PROGRAMS:=.o) $(HOSTED_OUT)/layers.a
	@$(HOSTED_CC) $(HOSTED_FLAGS) -w -MF /dev/null -c $(MUTANT) -o $(MUTANT:.c=.o)
	@failed=0; for test in $(HOSTED_PROGRAMS); do \
	    name=$$(basename $$test); program=$(basename $(MUTANT))-$$name; \
	    $(HOSTED_CC) $(HOSTED_FLAGS) $$test.o $(MUTANT:.c=.o) $(HOSTED_OUT)/layers.a -o $$program || exit 2; \
	    if result=$$(timeout 20 $$program 2>&1); then echo "$$name passes"; else echo "$$name fails"; failed=1; fi; \
	done; exit $$failed

# One program a layer; the other side is extracted from the layer's specification.
CONFORM_SOURCES := $(wildcard $(ROOT)/proof/extract/$(or $(LAYER),*)/driver.c)
CONFORM_PROGRAMS := $(patsubst $(ROOT)/proof/extract/%/driver.c,$(HOSTED_OUT)/conform/%,$(CONFORM_SOURCES))
.PHONY: conform
conform: $(CONFORM_PROGRAMS)

$(CONFORM_PROGRAMS): $(HOSTED_OUT)/conform/%: $(ROOT)/proof/extract/%/driver.c $(wildcard $(ROOT)/proof/extract/*.h) $(HOSTED_OUT)/layers.a
	@mkdir -p $(@D)
	@$(HOSTED_CC) $(HOSTED_FLAGS) $(filter %.c %.a,$^) -o $@

# Natively and fully optimised, as the kernel is: the whole program at once.
BENCH_FLAGS := -std=gnu11 -O2 -flto -pthread -DLOCK_TICKET -DHOSTED_DEDICATED $(HOSTED_INCLUDES)
BENCH_SOURCES := $(ROOT)/bench/locks.c $(filter-out %_test.c %_check.c,$(wildcard $(KERNEL)/layers/spinlock/*.c)) \
	$(KERNEL)/arch/hosted/atomic.c
$(ROOT)/build/bench/locks: $(BENCH_SOURCES) $(KERNEL)/hosted.mk $(wildcard $(KERNEL)/layers/spinlock/*.h)
	@mkdir -p $(@D)
	@$(HOSTED_CC) $(BENCH_FLAGS) $(BENCH_SOURCES) -o $@

bench-locks: $(ROOT)/build/bench/locks
	@$(ROOT)/build/bench/locks $(CPUS)

-include $(HOSTED_OBJECTS:.o=.d) $(addsuffix .d,$(HOSTED_PROGRAMS) $(CONFORM_PROGRAMS))

# What unit tests of programs are linked with (user/unit): the layers, whose names are hidden, and the part of the C library that calls
# the kernel. Built with SAN=address, as such tests are.
UNIT_OUT := $(ROOT)/build/user/unit
UNIT_FLAGS := $(HOSTED_FLAGS) -DASHLAR_UNIT -I$(ROOT)/user/include
UNIT_LIBC := $(patsubst %,$(UNIT_OUT)/libc/%.o,env env_text format print)
.PHONY: unit-library
unit-library: $(UNIT_OUT)/libunit.a

$(UNIT_OUT)/unit.o: $(ROOT)/user/unit/unit.c $(KERNEL)/hosted.mk
	@mkdir -p $(@D)
	@$(HOSTED_CC) $(UNIT_FLAGS) -c $< -o $@

$(UNIT_OUT)/libc/%.o: $(ROOT)/user/libc/%.c $(KERNEL)/hosted.mk
	@mkdir -p $(@D)
	@$(HOSTED_CC) $(UNIT_FLAGS) -I$(KERNEL) -c $< -o $@

# A program may have functions called as the kernel's.
$(UNIT_OUT)/kernel.o: $(UNIT_OUT)/unit.o $(HOSTED_OUT)/layers.a
	@ld -r -o $@.all $^
	@objcopy --strip-debug --wildcard --keep-global-symbol='unit_*' --keep-global-symbol='sys_*' \
	    --keep-global-symbol='message_*' $@.all $@ && rm $@.all

$(UNIT_OUT)/libunit.a: $(UNIT_OUT)/kernel.o $(UNIT_LIBC)
	@rm -f $@
	@ar rcs $@ $^

-include $(UNIT_OUT)/unit.d $(UNIT_LIBC:.o=.d)
