// Command crosscheck type-checks all packages and tests of the module in the current folder for systems on
// which no test runs. It reads the source of all imports and compiles nothing, so it takes seconds where a
// build takes minutes. It does not find the errors of linkers and assemblers.
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

// need selects what is type-checked: function bodies only of this module's packages.
const need = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo

func main() {
	count := 0
	for _, target := range os.Args[1:] {
		errs, err := check(target)
		if err != nil {
			errs = []string{err.Error()}
		}
		for _, f := range errs {
			fmt.Fprintf(os.Stderr, "%s: %s\n", target, f)
		}
		count += len(errs)
	}
	if count > 0 {
		os.Exit(1)
	}
}

// check returns the errors for a system such as "darwin/arm64", each once.
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
	var errs []string
	packages.Visit(list, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			errs = append(errs, e.Error())
		}
	})
	slices.Sort(errs)
	return slices.Compact(errs), nil
}
