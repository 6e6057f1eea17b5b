# make record   a take from the microphone (or from testaudio where there is none), then what is in it
# make test     builds and runs all tests
# make build    the library and the command: .build/release/holdfast
# make docs     reference pages of the Swift and the C library: .build/reference/{swift,c}/index.html
# make sanitize the tests under ThreadSanitizer, then AddressSanitizer with leaks; valgrind over the C examples
# make check    layout, warnings, forbidden constructs
# make bench    what it costs beside other recorders, each part alone, growth, recorders side by side; QUICK=1 takes two minutes
# make torture  kills recorders at random instants and at every call to the disk, and recovers each take
# make powerloss  cuts the power behind every call to the disk, in every way a disk may have it, and recovers each
# make generated  writes docs/holdfast.1 and completions/ anew, from the command's own tables
# make install  PREFIX=/usr/local DESTDIR= LIBDIR=$PREFIX/lib: command, C library, manual page, completions; needs no Swift where it runs
# make uninstall  takes the same away again
# make deb      Debian packages of both in .build/deb
# make sim      simulated sessions of the recorder with crashes, power cuts and failing disks: SESSIONS=N, SEED=N for one
# make fuzz     every reader of files fuzzed for FUZZ_SECONDS, with AddressSanitizer
# make soak     records for SOAK_MINUTES (60) with a fault a minute, then accounts for every frame, memory and descriptors
# make clean    removes what was built
# make deps     installs the Debian packages that are missing; the others do it by themselves

SWIFT ?= $(firstword $(shell command -v swift) $(wildcard /opt/swift/usr/bin/swift))

# What Swift itself needs on a bare Debian, and the libraries that Holdfast stands on.
BUILD_PACKAGES = python3 binutils gcc git libc6-dev libcurl4 libncurses6 libsqlite3-0 libstdc++-12-dev libxml2 tzdata pkg-config zlib1g-dev \
  libopus-dev libogg-dev libopusfile-dev libsndfile1-dev libsamplerate0-dev libssl-dev libebur128-dev libasound2-dev
# What the tests judge by, make their audio with, and run on.
TEST_PACKAGES = procps opus-tools ffmpeg sox espeak-ng alsa-utils pocketsphinx-testdata python3 python3-jsonschema file \
  libasound2-plugins pulseaudio pulseaudio-utils bindfs \
  dbus-daemon libsystemd0 python3-dbus python3-gi g++ valgrind groff mandoc zsh fish

# Tests run optimised, since minutes of audio go through them; apart from `make build`, whose flags differ.
TEST_FLAGS ?= -c release -Xswiftc -enable-testing --scratch-path .build/tests

C_LIBRARIES = opus ogg opusfile sndfile samplerate libcrypto libebur128 alsa
# A test that traps must end the run: Swift's own backtracer can wait for ever on a pipe that nobody reads.
export SWIFT_BACKTRACE = enable=no

SOURCES = $(shell git ls-files --cached --others --exclude-standard $(1) 2>/dev/null)

.PHONY: help build record test check docs sanitize bench instructions torture powerloss sim fuzz soak generated package install uninstall deb clean deps swift
help:
	@sed -n '/^# make/s/^# //p' Makefile

build: deps
	scripts/steady $(SWIFT) build -c release
	@cd "$$($(SWIFT) build -c release --show-bin-path)" && ln -sf libholdfast-c.so libholdfast.so.0 && ln -sf libholdfast.so.0 libholdfast.so

record: build
	@scripts/record "$$($(SWIFT) build -c release --show-bin-path)/holdfast"

test: deps
	@scripts/need $(TEST_PACKAGES)
	scripts/steady $(SWIFT) build --build-tests $(TEST_FLAGS)
	HOLDFAST_COUNTS=1 scripts/steady $(SWIFT) test --skip-build --disable-xctest $(TEST_FLAGS) --filter CaptureThreadTests
	scripts/steady $(SWIFT) test --skip-build --disable-xctest $(TEST_FLAGS)
	python3 benchmarks/instructions.py "$$($(SWIFT) build $(TEST_FLAGS) --show-bin-path)/holdfast" --check
	SWIFT_DETERMINISTIC_HASHING=1 "$$($(SWIFT) build $(TEST_FLAGS) --show-bin-path)/HoldfastSim" --sessions 1000

check: deps
	$(SWIFT) format lint --strict --parallel -r Sources Tests Package.swift examples/swift benchmarks/stages
	$(SWIFT) format lint --strict --parallel -r Sources --configuration "$$(tr -d '\n' <.swift-format | sed 's/}[^}]*$$/, "rules": {"NeverForceUnwrap": true, "NeverUseForceTry": true, "NeverUseImplicitlyUnwrappedOptionals": true}}/')"
	@flags=$$(pkg-config --cflags $(C_LIBRARIES)) && for f in $(call SOURCES,'Tests/*.c' 'Sources/*.h' 'Sources/*.c'); do \
	  gcc -fsyntax-only -x c -std=gnu17 -Wall -Wextra -Werror -I$$(dirname $$f)/include -ISources/CHoldfast/include $$flags -include ./$$f /dev/null || exit 1; done
	@python3 -c 'import ast, sys; [ast.parse(open(f, encoding="utf-8").read(), f) for f in sys.argv[1:]]' $(call SOURCES,'*.py')
	@for f in scripts/need scripts/record scripts/deb .ci/run $(call SOURCES,'*.sh'); do bash -n "$$f" || exit 1; done
	scripts/steady $(SWIFT) build -c release
	PATH="$$(dirname $(SWIFT)):$$PATH" scripts/capture-calls "$$($(SWIFT) build -c release --show-bin-path)/holdfast"

# Where benchmarks/hearing/make_set.py has put the clips that speech is scored on.
SET ?= benchmarks/hearing/set
bench: build
	@scripts/need valgrind gcc python3 opus-tools ffmpeg alsa-utils procps
	@bin="$$($(SWIFT) build -c release --show-bin-path)"; python3 benchmarks/compare.py "$$bin/holdfast" "$$bin/HoldfastBenchmarks" \
	  $(if $(QUICK),--quick) $(if $(NEWER),--newer $(NEWER)) $(if $(RESULTS),--results $(RESULTS)) && \
	  python3 benchmarks/instructions.py "$$bin/holdfast" --check
	@if [ -z "$(QUICK)" ] && [ -f "$(SET)/dev/labels.json" ]; then \
	  python3 benchmarks/hearing/score.py --set "$(SET)" --nogroups --name holdfast --holdfast "$$($(SWIFT) build -c release --show-bin-path)/holdfast"; \
	else echo "speech isn't scored: benchmarks/hearing/README.md says how to build the set"; fi

# What `make test` runs of it: whether the pipeline's instructions have grown by more than 3 %.
instructions: build
	@scripts/need valgrind gcc python3
	python3 benchmarks/instructions.py "$$($(SWIFT) build -c release --show-bin-path)/holdfast" --check

KILLS ?= 200
torture: build
	@scripts/need gcc python3 python3-numpy ffmpeg opus-tools libasound2-dev
	python3 benchmarks/torture.py "$$($(SWIFT) build -c release --show-bin-path)/holdfast" --kills $(KILLS)

powerloss: build
	@scripts/need gcc python3 opus-tools libasound2-dev e2fsprogs
	python3 benchmarks/powerloss.py "$$($(SWIFT) build -c release --show-bin-path)/holdfast"

generated: build
	@holdfast="$$($(SWIFT) build -c release --show-bin-path)/holdfast" && mkdir -p completions && "$$holdfast" help --man >docs/holdfast.1 && \
	"$$holdfast" help --completion bash >completions/holdfast.bash && "$$holdfast" help --completion zsh >completions/_holdfast && \
	"$$holdfast" help --completion fish >completions/holdfast.fish

# With Swift's runtime inside: the command and the library need none on the machine they run on.
PACKAGE = .build/package/release
PACKAGE_FLAGS = -c release -Xswiftc -static-stdlib -Xswiftc -no-toolchain-stdlib-rpath --disable-local-rpath --scratch-path .build/package
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
DESTDIR ?=
VERSION = $(shell sed -n 's/.*StaticString = "\(.*\)"/\1/p' Sources/Holdfast/Version.swift)
LIBRARY = libholdfast.so.$(VERSION)
# Everything that is installed; `uninstall` removes just these.
INSTALLED = $(PREFIX)/bin/holdfast $(LIBDIR)/$(LIBRARY) $(LIBDIR)/libholdfast.so.0 $(LIBDIR)/libholdfast.so $(PREFIX)/include/holdfast.h \
  $(LIBDIR)/pkgconfig/holdfast.pc $(PREFIX)/share/man/man1/holdfast.1 $(PREFIX)/share/bash-completion/completions/holdfast \
  $(ZSHDIR)/_holdfast $(PREFIX)/share/fish/vendor_completions.d/holdfast.fish

package: deps
	scripts/steady $(SWIFT) build $(PACKAGE_FLAGS) --product holdfast
	scripts/steady $(SWIFT) build $(PACKAGE_FLAGS) --product holdfast-c

install: package
	install -Dm755 $(PACKAGE)/holdfast "$(DESTDIR)$(PREFIX)/bin/holdfast"
	install -Dm644 $(PACKAGE)/libholdfast-c.so "$(DESTDIR)$(LIBDIR)/$(LIBRARY)"
	ln -sf $(LIBRARY) "$(DESTDIR)$(LIBDIR)/libholdfast.so.0"
	ln -sf libholdfast.so.0 "$(DESTDIR)$(LIBDIR)/libholdfast.so"
	install -Dm644 Sources/CHoldfast/include/holdfast.h "$(DESTDIR)$(PREFIX)/include/holdfast.h"
	install -d "$(DESTDIR)$(LIBDIR)/pkgconfig"
	sed 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@VERSION@|$(VERSION)|' Sources/CHoldfast/holdfast.pc.in >"$(DESTDIR)$(LIBDIR)/pkgconfig/holdfast.pc"
	install -Dm644 docs/holdfast.1 "$(DESTDIR)$(PREFIX)/share/man/man1/holdfast.1"
	install -Dm644 completions/holdfast.bash "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/holdfast"
	install -Dm644 completions/_holdfast "$(DESTDIR)$(ZSHDIR)/_holdfast"
	install -Dm644 completions/holdfast.fish "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/holdfast.fish"
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || echo "install: the linker finds $(LIBDIR)/libholdfast.so.0 once ldconfig has been run as root"

uninstall:
	@for file in $(INSTALLED); do rm -fv "$(DESTDIR)$$file"; done
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

deb:
	@scripts/need dpkg-dev
	$(MAKE) install PREFIX=/usr LIBDIR=/usr/lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH) ZSHDIR=/usr/share/zsh/vendor-completions \
	  DESTDIR=$(CURDIR)/.build/deb/all
	scripts/deb .build/deb $(VERSION)

docs: build
	SWIFT=$(SWIFT) C_LIBRARIES="$(C_LIBRARIES)" scripts/docs "$$($(SWIFT) build -c release --show-bin-path)" .build/reference
	@echo "python3 -m http.server -d .build/reference, then /swift/documentation/holdfast and /c/documentation/choldfast"

# SANITIZE="thread address valgrind", or some of them; FILTER narrows the tests, CYCLES the recorders made one after the other.
sanitize: deps
	@scripts/need $(TEST_PACKAGES) valgrind
	SWIFT=$(SWIFT) scripts/sanitize $(SANITIZE)

SESSIONS ?= 10000
sim: deps
	scripts/steady $(SWIFT) build -c release --product HoldfastSim
	SWIFT_DETERMINISTIC_HASHING=1 "$$($(SWIFT) build -c release --show-bin-path)/HoldfastSim" $(if $(SEED),--seed $(SEED),--sessions $(SESSIONS))

SOAK_MINUTES ?= 60
soak: build
	@scripts/need gcc python3 python3-numpy ffmpeg opus-tools libasound2-dev
	python3 benchmarks/soak.py "$$($(SWIFT) build -c release --show-bin-path)/holdfast" --minutes $(SOAK_MINUTES)

FUZZ_SECONDS ?= 60
FUZZERS ?= ledger tail ogg header manifest wav arguments configuration recovery
fuzz: deps
	PATH="$$(dirname $(SWIFT)):$$PATH" Tests/fuzz/build.sh .build/holdfast-fuzz
	@for f in $(FUZZERS); do mkdir -p .build/fuzz/$$f && \
	  HOLDFAST_FUZZ=$$f .build/holdfast-fuzz .build/fuzz/$$f Tests/fuzz/corpus/$$f -max_total_time=$(FUZZ_SECONDS) -malloc_limit_mb=64 \
	  -timeout=1 -max_len=65536 -artifact_prefix=.build/fuzz/$$f- -print_final_stats=1 || exit 1; done

clean:
	rm -rf .build

deps: swift
	@scripts/need $(BUILD_PACKAGES)

swift:
	@[ -n "$(SWIFT)" ] || { echo "Swift 6.3 is needed: put it on PATH or into /opt/swift (swift.org has it for Debian 12)" >&2; exit 1; }
