// Command crosscheck checks the types of all packages and tests of the module in the
// current folder on systems that no test runs on. It reads the source of everything
// they import and compiles nothing, so it takes seconds where a build takes minutes.
// It does not find what only a linker or an assembler finds.
//
//	crosscheck darwin/arm64 windows/amd64 linux/arm64
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// need is what types are checked with: function bodies of our own packages alone.
const need = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo

func main() {
	bad := 0
	for _, target := range os.Args[1:] {
		faults, err := check(target)
		if err != nil {
			faults = []string{err.Error()}
		}
		for _, f := range faults {
			fmt.Fprintf(os.Stderr, "%s: %s\n", target, f)
		}
		bad += len(faults)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// check returns what is wrong on a system, "darwin/arm64", each fault once.
func check(target string) ([]string, error) {
	system, arch, ok := strings.Cut(target, "/")
	if !ok {
		return nil, fmt.Errorf("want a system and an architecture, as in linux/arm64")
	}
	list, err := packages.Load(&packages.Config{
		Mode: need, Tests: true, Env: append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return nil, err
	}
	var faults []string
	packages.Visit(list, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			faults = append(faults, e.Error())
		}
	})
	slices.Sort(faults)
	return slices.Compact(faults), nil
}
