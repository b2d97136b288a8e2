package holdfast

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// coveredElsewhere names, by case or by area, the tests of cases that no map of corpus.Claim contains:
// "folder.TestName". A script is named by its test and its own name.
var coveredElsewhere = map[string]caseClaim{
	"escapes.json":      {"", []string{"internal/sandbox/escape.TestCorpusEscapes", "internal/sandbox/egress.TestEscapes"}, ""}, // each ID has an attack
	"tool_executor-013": {`{"input": {"tool":"mcp__s__t"}, "expect": {"readOnly":false}}`, []string{"internal/tool/mcp.TestToolsOfAServer"}, ""},
	"ak-loop-015":       {`{"given": {"sources":"two tools with the same name, policy first wins / last wins"}, "when": ["call"], "expect": {"first_wins":"first source runs","last_wins":"last source runs"}}`, []string{"tool.TestRegistryRejectsDuplicates"}, "neither wins: two tools of one name are refused when the registry is made"},
	"ak-tool-016":       {`{"given": {"state":"script calls tool needing approval after 2 completed children"}, "when": ["approve and resume"], "expect": {"completed children":"not run a second time (replayed from record)"}}`, []string{"agent.TestApprovalSurvivesProcess", "agent.TestInterruptAfterAnswer", "internal/crashtest.TestKillDuringApproval"}, ""},
	"cd-srv-041":        {`{"given": {"config":"env, file, default all set"}, "when": ["load"], "expect": {"precedence":"env > file > default; empty env ignored"}}`, []string{"internal/cli/daemon.TestDaemonSettings", "internal/compose/env.TestServiceVariables"}, ""},
	"cd-srv-042":        {`{"given": {"config file":"unknown field"}, "when": ["load"], "expect": {"error":"rejected"}}`, []string{"internal/settings.TestBadFiles"}, ""},
	"cd-srv-043":        {`{"given": {"pid file":"points at a dead process"}, "when": ["status"], "expect": {"state":"stopped","file":"removed"}}`, []string{"internal/listen.TestStaleInfo"}, ""},
	"cd-tool-002":       {`{"given": {"file":"CRLF with BOM"}, "when": ["edit one line"], "expect": {"CRLF and BOM":"preserved"}}`, []string{"internal/tool/files.TestEdit"}, ""},
	"cd-tool-004":       {`{"given": {"expectedOccurrences":2,"occurs":2}, "when": ["edit"], "expect": {"both":"replaced"}}`, []string{"internal/tool/files.TestEdit"}, "no field has the expected number of matches: replace_all replaces all, and without it several matches are an error"},
	"cd-tool-005":       {`{"given": {"state":"two edits overlap"}, "when": ["edit"], "expect": {"error":"overlapping_edits with indices","file":"unchanged"}}`, []string{"internal/tool/files.TestMultiEdit"}, "edits are made one after the other, each on the outcome of the one before, and all or none"},
	"cd-tool-008":       {`{"given": {"state":"parent missing, flag unset"}, "when": ["create"], "expect": {"error":"not_found"}}`, []string{"internal/tool/files.TestWrite"}, "missing folders are made, beneath the folders of the session only"},
	"cd-tool-009":       {`{"given": {"state":"delete"}, "when": ["delete"], "expect": {"file":"moved to trash archive with metadata","restore":"possible"}}`, []string{"agent.TestFilesSavedInLog"}, "only a shell deletes files; the content before a change by a tool is in the log, and rewind restores it"},
	"cd-tool-014":       {`{"given": {"state":"patch same path twice"}, "when": ["apply"], "expect": {"error":"patch_parse_error"}}`, []string{"internal/tool/files.TestMultiEdit"}, "no tool takes patches: several edits of a file are made in order, all or none"},
	"cd-tool-016":       {`{"given": {"state":"read binary"}, "when": ["read"], "expect": {"error":"binary_file with size and sha256","allowBinary":"base64"}}`, []string{"internal/tool/files.TestReadRefuses"}, ""},
	"cd-tool-020":       {`{"given": {"state":"run_command prints 5 MB, forks, sleeps; timeout 1 s"}, "when": ["run"], "expect": {"stdout":"capped at 1 MiB","group":"SIGTERM then SIGKILL after 5 s","error":"timeout"}}`, []string{"internal/tool/shell.TestBashFlood", "internal/tool/shell.TestBashTimeout"}, ""},
	"cd-tool-021":       {`{"given": {"state":"run_command"}, "when": ["env"], "expect": {"daemon's API keys":"absent"}}`, []string{"internal/tool/shell.TestBashEnvironment"}, ""},
	"cd-tool-023":       {`{"given": {"state":"strategy file prompt template uses an exec filter or env filter"}, "when": ["prepare_run of an untrusted strategy"], "expect": {"refused":"without approval"}}`, []string{"internal/daemon/strategy.TestInvalid"}, "strategies have no templates: nothing of a prompt is run or expanded"},
	"xx-001":            {`{"given": {"state":"kill -9 at every write boundary of a 3-turn session"}, "when": ["restart"], "expect": {"log":"a prefix of the true log, valid, resumable","acknowledged items":"all present"}}`, []string{"internal/crashtest.TestKill", "internal/crashtest.TestLongSessionKilledAndCompacted"}, ""},
	"xx-002":            {`{"given": {"state":"torn last record"}, "when": ["open"], "expect": {"truncated at the last good record; reported":true}}`, []string{"session/file.TestTornTail"}, ""},
	"xx-014":            {`{"given": {"state":"tool output 1 GB"}, "when": ["store"], "expect": {"spilled to an artifact with size and hash; log record small":true}}`, []string{"internal/tool/shell.TestBashLongOutputIsKept"}, ""},
	"xx-015":            {`{"given": {"state":"log written by version n-1"}, "when": ["open with n"], "expect": {"read; unknown record kinds kept":true}}`, []string{"session/sqlite.TestOpenMigratesVersion1", "session/file.TestOldSummaryRebuilt"}, ""},
	"xx-017":            {`{"given": {"state":"run finished"}, "when": ["replay the log without model and tools"], "expect": {"same transcript, same decisions":true}}`, []string{"session.TestReplay", "policy.TestReplay", "internal/cli.TestScripts"}, ""}, // policy_replay.txtar
	"session_store-002": {`{"settings": {"dir":"<custom>"}, "input": {"op":"save"}, "expect": {"exists":"<custom>/<id>/transcript.json"}}`, []string{"session/file.TestModes"}, ""},
	"session_store-004": {`{"input": {"op":"save"}, "expect": {"mode":"0600"}}`, []string{"session/file.TestModes"}, ""},
	"session_store-046": {`{"settings": {"fs":"<sessions>/x -> /important"}, "input": {"op":"delete","id":"x"}, "expect": {"important":"intact"}}`, []string{"session/file.TestLinks"}, ""},
	"session_store-047": {`{"settings": {"fs":"<sessions>/x/transcript.json -> /important"}, "input": {"op":"save","id":"x"}, "expect": {"important":"intact"}}`, []string{"session/file.TestLinks"}, ""},
	"session_store-011": readCases,

	"session_store-031": readCases,
	"session_store-032": readCases,
	"session_store-033": readCases,
	"session_store-034": readCases,
	"session_store-037": readCases,
	"session_store-039": readCases,
	"session_store-040": readCases,
}

// caseClaim is the content of a case that its tests were written for, and those tests.
type caseClaim struct {
	claim   string
	tests   []string
	instead string // an intended deviation, which the tests show
}

// readCases is a group of cases that a runner selects by the prefix of their names, and reads.
var readCases = caseClaim{tests: []string{"session.TestCorpusSessionStore"}}

// uncovered are the cases about features that Holdfast does not have, with the reason.
var uncovered = map[string]string{
	"cd-tool-011":       "no tool moves files",
	"cd-tool-012":       "no tool moves files",
	"session_store-052": "a time, not a behaviour: bench measures it",
	"session_store-054": "a time, not a behaviour: bench measures it",
}

// Every case of the corpus is claimed by its ID, or by its area for each of its cases, in a test that runs it,
// or by an existing test that coveredElsewhere names. A reason why a package does not run a case is not a
// claim. A test that does not read all of a case fails where it runs ([corpus.Claim]); the content in
// coveredElsewhere is compared here.
func TestCorpusCasesAreClaimed(t *testing.T) {
	cases := map[string]corpus.Case{} // by id
	areas := map[string]bool{}
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		for _, c := range corpus.Load(t, filepath.Base(file)) {
			if c.Area == "" {
				c.Area = filepath.Base(file) // escapes have categories instead of areas, and one test runs them all
			}
			cases[c.ID], areas[c.Area] = c, true
		}
	}
	claims := readClaims(t)
	for name, trial := range coveredElsewhere {
		if cases[name].ID == "" && !areas[name] {
			t.Errorf("elsewhere has %s, which is neither a case nor an area", name)
		}
		if !areas[name] && !reflect.DeepEqual(trial, readCases) {
			if err := cases[name].CompareClaim(trial.claim); err != nil {
				t.Error(err)
			}
		}
		for _, test := range trial.tests {
			if !claims.tests[test] {
				t.Errorf("%s names the test %s, which does not exist", name, test)
			}
		}
	}
	for id := range uncovered {
		if cases[id].ID == "" || claims.keys[id] {
			t.Errorf("absent has %s, which is no case, or is claimed", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		area := cases[id].Area
		if !claims.keys[id] && !claims.keys[area] && coveredElsewhere[id].tests == nil && coveredElsewhere[area].tests == nil && uncovered[id] == "" {
			t.Errorf("no test claims %s (%s)", id, area)
		}
	}
}

// claimed are the claims of the tests.
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

// literal collects the keys of a map whose values are functions.
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

// key adds a key that is a text, unless its value is a text, too: a reason.
func (c claimed) key(key, value ast.Expr) {
	k, ok := key.(*ast.BasicLit)
	if v, reason := value.(*ast.BasicLit); !ok || reason && v.Kind == token.STRING {
		return
	}
	if name, err := strconv.Unquote(k.Value); err == nil {
		c.keys[name] = true
	}
}
