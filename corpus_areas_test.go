package holdfast

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// elsewhere names, by case or by area, the tests that try what no map of corpus.Claim has:
// "folder.TestName". A script is the test that runs it and its name.
var elsewhere = map[string][]string{
	"escapes.json": {"sandbox/escape.TestCorpusEscapes", "sandbox/egress.TestEscapes"}, // of each id there is an attempt

	"tool_executor-013": {"tool/mcp.TestToolsOfAServer"},
	"ak-loop-015":       {"tool.TestRegistryRefusesTwins"}, // neither wins: two of one name are refused
	"ak-tool-016":       {"agent.TestAQuestionOutlivesItsProcess", "agent.TestAnInterruptAfterTheAnswer", "internal/crashtest.TestKillWhileAsking"},

	"cd-srv-041": {"internal/cli.TestDaemonSettings", "internal/cli.TestServiceVariables"},
	"cd-srv-042": {"settings.TestBadFiles"},
	"cd-srv-043": {"internal/listen.TestStaleInfo"},

	"cd-tool-002": {"tool/files.TestEdit"},
	"cd-tool-004": {"tool/files.TestEdit"},      // replace_all; a number of places that is expected is no field here
	"cd-tool-005": {"tool/files.TestMultiEdit"}, // edits are made one after the other, and all or none
	"cd-tool-008": {"tool/files.TestWrite"},     // folders are made, beneath the session's folders only
	"cd-tool-009": {"agent.TestFilesAreSavedInTheLog"},
	"cd-tool-014": {"tool/files.TestMultiEdit"},
	"cd-tool-016": {"tool/files.TestReadRefuses"},
	"cd-tool-020": {"tool/shell.TestBashFlood", "tool/shell.TestBashTimeout"},
	"cd-tool-021": {"tool/shell.TestBashEnvironment"},
	"cd-tool-023": {"daemon/strategy.TestInvalid"}, // templates are not rendered at all

	"xx-001": {"internal/crashtest.TestKill", "internal/crashtest.TestALongSessionIsKilledAndCompacted"},
	"xx-002": {"session/file.TestTornTail"},
	"xx-014": {"tool/shell.TestBashLongOutputIsKept"},
	"xx-015": {"session/sqlite.TestOpenMigratesVersion1", "session/file.TestMarkOfAnOlderFormatIsFoldedAnew"},
	"xx-017": {"session.TestReplay", "policy.TestReplay", "internal/cli.TestScripts"}, // policy_replay.txtar

	"session_store-002": {"session/file.TestModes"},
	"session_store-004": {"session/file.TestModes"},
	"session_store-046": {"session/file.TestLinks"},
	"session_store-047": {"session/file.TestLinks"},
	"session_store-011": {"session.TestCorpusSessionStore"},
	// By the beginning of their names: pagination.
	"session_store-031": pages, "session_store-032": pages, "session_store-033": pages, "session_store-034": pages,
	"session_store-037": pages, "session_store-039": pages, "session_store-040": pages,
}

var pages = []string{"session.TestCorpusSessionStore"}

// absent are the cases about what is not here, with the reason.
var absent = map[string]string{
	"cd-tool-011":       "no tool moves files",
	"cd-tool-012":       "no tool moves files",
	"session_store-052": "a time, not a behaviour: bench measures it",
	"session_store-054": "a time, not a behaviour: bench measures it",
}

// Every case of the corpus is claimed by its id, or by its area for each of its cases, in
// a test that runs it, or by a test that elsewhere names and that there is. A reason why a
// package does not run a case is no claim.
func TestEveryCaseOfTheCorpusIsClaimed(t *testing.T) {
	cases := map[string]string{} // by id: the area
	areas := map[string]bool{}
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ ID, Area, Category string }
		if err := json.Unmarshal(b, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range list {
			area := c.Area
			if area == "" {
				area = filepath.Base(file) // the escapes have categories, and are tried all at once
			}
			cases[c.ID], areas[area] = area, true
		}
	}
	claims := readClaims(t)
	for name, tests := range elsewhere {
		if cases[name] == "" && !areas[name] {
			t.Errorf("elsewhere has %s, which is neither a case nor an area", name)
		}
		for _, test := range tests {
			if !claims.tests[test] {
				t.Errorf("%s is said to be tried by %s, which there is not", name, test)
			}
		}
	}
	for id := range absent {
		if cases[id] == "" || claims.keys[id] {
			t.Errorf("absent has %s, which is no case, or is claimed", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		area := cases[id]
		if !claims.keys[id] && !claims.keys[area] && elsewhere[id] == nil && elsewhere[area] == nil && absent[id] == "" {
			t.Errorf("nobody claims %s (%s)", id, area)
		}
	}
}

// claimed is what the tests say.
type claimed struct {
	keys  map[string]bool // of maps from ids or areas to functions
	tests map[string]bool // "folder.TestName"
}

func readClaims(t *testing.T) claimed {
	t.Helper()
	c := claimed{map[string]bool{}, map[string]bool{}}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		uses := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return strings.HasSuffix(i.Path.Value, `/internal/corpus"`) })
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					c.tests[folder+"."+n.Name.Name] = true
				}
			case *ast.CompositeLit:
				if uses {
					c.literal(n)
				}
			case *ast.AssignStmt:
				if at, ok := n.Lhs[0].(*ast.IndexExpr); ok && uses {
					c.key(at.Index, n.Rhs[0])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// literal takes the keys of a map whose values are functions.
func (c claimed) literal(lit *ast.CompositeLit) {
	m, ok := lit.Type.(*ast.MapType)
	if !ok {
		return
	}
	if _, ok := m.Value.(*ast.FuncType); !ok {
		return
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			c.key(kv.Key, kv.Value)
		}
	}
}

// key takes a key that is a text, unless its value is one, too: a reason.
func (c claimed) key(key, value ast.Expr) {
	k, ok := key.(*ast.BasicLit)
	if v, reason := value.(*ast.BasicLit); !ok || reason && v.Kind == token.STRING {
		return
	}
	if name, err := strconv.Unquote(k.Value); err == nil {
		c.keys[name] = true
	}
}
