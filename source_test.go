package holdfast

import (
	"bytes"
	"go/ast"
	"go/parser"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const maxLines = 500

// A file above maxLines should be split.
func TestFilesAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, at most %d are allowed: look for the second noun in it", f, n, maxLines)
		}
	}
}

// The regular expressions of packages are compiled when they are used, by lazyregexp.Must:
// otherwise every start of the program would compile them.
func TestRegexpsAreLazy(t *testing.T) {
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f, "_test.go") || strings.HasPrefix(f, "packaging/") { // which is no part of the program
			continue
		}
		for _, d := range parse(t, f, parser.SkipObjectResolution).Decls {
			if vars, ok := d.(*ast.GenDecl); ok && compiles(vars) {
				t.Errorf("%s: regexp.MustCompile at the start: use lazyregexp.Must", f)
			}
		}
	}
}

func compiles(vars *ast.GenDecl) (found bool) {
	ast.Inspect(vars, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "MustCompile" {
			x, _ := sel.X.(*ast.Ident)
			found = found || x != nil && x.Name == "regexp"
		}
		_, later := n.(*ast.FuncLit)
		return !later
	})
	return found
}

// Every package has a doc comment that says what it is for.
func TestPackagesHaveComments(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file := parse(t, f, parser.PackageClauseOnly|parser.ParseComments)
		documented[path.Dir(f)] = documented[path.Dir(f)] || file.Doc != nil
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

// No folder has a meaningless name.
func TestPackageNames(t *testing.T) {
	for pkg := range packageImports(t) {
		if slices.Contains([]string{"util", "utils", "common", "helpers", "manager"}, path.Base(pkg)) {
			t.Errorf("package %s has a meaningless name", pkg)
		}
	}
}

// Every exported constructor of a public package is called by an example that runs, that is, one with an
// Output comment.
func TestConstructorsHaveExamples(t *testing.T) {
	constructors := map[string][]string{} // by folder
	shown := map[string]map[string]bool{} // what examples call, by folder
	for _, f := range goFiles(t) {
		dir := path.Dir(f)
		if strings.HasPrefix(dir, "internal/") || strings.Contains(dir, "/internal/") || strings.HasPrefix(dir, "cmd/") || strings.HasPrefix(dir, "examples/") || strings.HasPrefix(dir, "bench") {
			continue
		}
		file := parse(t, f, parser.ParseComments)
		if shown[dir] == nil {
			shown[dir] = map[string]bool{}
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok || fn.Recv != nil:
			case strings.HasSuffix(f, "_test.go"):
				if strings.HasPrefix(fn.Name.Name, "Example") && hasOutput(file, fn) {
					noteCalls(fn, shown[dir])
				}
			case isConstructor(fn.Name.Name):
				constructors[dir] = append(constructors[dir], fn.Name.Name)
			}
		}
	}
	for dir, names := range constructors {
		for _, name := range names {
			if !shown[dir][name] {
				t.Errorf("%s.%s has no example that runs", dir, name)
			}
		}
	}
}

var constructor = regexp.MustCompile(`^(New|Open)([A-Z].*)?$`)

func isConstructor(name string) bool { return constructor.MatchString(name) }

// hasOutput reports whether an example ends in an Output comment.
func hasOutput(file *ast.File, fn *ast.FuncDecl) bool {
	for _, c := range file.Comments {
		text := strings.ToLower(c.Text())
		if c.Pos() > fn.Body.Pos() && c.End() < fn.Body.End() &&
			(strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")) {
			return true
		}
	}
	return false
}

func noteCalls(fn *ast.FuncDecl, names map[string]bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := ast.Unparen(call.Fun).(type) {
		case *ast.SelectorExpr:
			names[f.Sel.Name] = true
		case *ast.Ident:
			names[f.Name] = true
		case *ast.IndexExpr: // an instantiated generic function
			if s, ok := f.X.(*ast.SelectorExpr); ok {
				names[s.Sel.Name] = true
			}
		}
		return true
	})
}

// Nothing in the repository names the machine or the path where it was made.
func TestNoMachinePaths(t *testing.T) {
	tracked, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("not a git checkout (%v); run in a clone: go test .", err)
	}
	// Joined here so that this file does not match itself. Other paths below /work are the project's folder in
	// a workspace's container.
	foreign := regexp.MustCompile(strings.Join([]string{
		`/wo` + `rk/(main|shared|[.][a-z])`, `/fa` + `rm/`, `[.]lib` + `rary`, `fa` + `rm-(bench|studio)`, `suba` + `gent session`,
		`/tmp/br` + `ief`, `/home/[a-z]+/go`, `/ro` + `ot/go`,
	}, "|"))
	for name := range strings.SplitSeq(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		if strings.HasPrefix(name, "testdata/corpus/") || name == "go.sum" {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			continue // removed, or binary
		}
		for i, line := range bytes.Split(b, []byte("\n")) {
			if m := foreign.Find(line); m != nil {
				t.Errorf("%s:%d: %q does not belong here", name, i+1, m)
			}
		}
	}
}

// exportedNamesFile is the file with the total number of exported names that public packages may
// have. It only goes down: a new name has to replace another one.
const exportedNamesFile = "testdata/exported-names"

// Exported names are for other programs. What only this project uses is unexported or below internal.
func TestExportedNames(t *testing.T) {
	counts, total := map[string]int{}, 0
	for _, f := range goFiles(t) {
		dir := path.Dir(f)
		if strings.HasSuffix(f, "_test.go") || !isPublic(dir) {
			continue
		}
		n := exportedNames(parse(t, f, 0))
		counts[dir] += n
		total += n
	}
	b, err := os.ReadFile(exportedNamesFile)
	if err != nil {
		t.Fatal(err)
	}
	bar, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatalf("%s: %v", exportedNamesFile, err)
	}
	report := t.Logf
	if total > bar {
		report = t.Errorf
	}
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d %s", counts[dir], dir)
	}
	report("%4d exported names in all, at most %d: unexport what no program outside needs, or move it below internal, and write the lower number to %s", total, bar, exportedNamesFile)
}

// isPublic reports whether programs outside may import the package in a folder.
func isPublic(dir string) bool {
	return !slices.ContainsFunc([]string{"internal", "cmd", "examples", "bench"}, func(part string) bool {
		return strings.HasPrefix(dir+"/", part+"/") || part == "internal" && strings.Contains(dir+"/", "/internal/")
	})
}

// exportedNames counts the exported functions, types, constants and variables of a
// file at top level. Methods and fields are not counted.
func exportedNames(file *ast.File) int {
	if file.Name.Name == "main" {
		return 0
	}
	n := 0
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					count(s.Names...)
				}
			}
		}
	}
	return n
}
