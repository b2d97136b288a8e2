# The commands of this project. `make help` lists them.

.DEFAULT_GOAL := help
FUZZTIME ?= 10s
VERSION = github.com/holdfast-dev/holdfast/internal/version
GOFLAGS_TEST ?=

.PHONY: help test test-all race cross bench lint docs fuzz build release site

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## install what the tests need, vet, run the tests that take minutes
	@scripts/test -short $(GOFLAGS_TEST)

test-all: ## run every test: crashes, containers, vendor agents, other systems, an ordinary user
	@scripts/test $(GOFLAGS_TEST)

race: ## run the packages with goroutines under the race detector
	@scripts/race

cross: ## type-check for macOS, Windows and arm64 Linux (HOLDFAST_HEAVY=1 builds)
	@scripts/cross

bench: ## measure against minimal control programs and print a table
	@go run -C bench .

lint: ## formatting, vet, tidiness, golangci-lint
	@scripts/lint

docs: ## write the generated pages of docs/ from the code
	@scripts/docs

fuzz: ## each fuzz target for FUZZTIME (default 10s)
	@scripts/fuzz $(FUZZTIME)

build: ## one static binary: ./holdfast
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X $(VERSION).revision=$$(git rev-parse --short HEAD)" -o holdfast ./cmd/holdfast

release: ## archives, packages, image, signature: dist/ (a tag makes a release, anything else a snapshot)
	@scripts/release

site: ## the documentation as web pages: dist/site (the first time compiles Hugo, three minutes)
	@scripts/site
