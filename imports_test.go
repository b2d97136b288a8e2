package holdfast

import (
	"go/ast"
	"go/parser"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/holdfast-dev/holdfast"

// layers lists the floor of each package, as in docs/architecture.md. A package may import only packages of
// lower floors. A new package needs an entry here, which also places it in the page.
var layers = map[string]int{
	"internal/jsonscan":   -2, // bytes of JSON, also for the transcript
	"internal/lazyregexp": -2, // regular expressions that are compiled at their first use
	"internal/environ":    -2, // the environment variables that commands get
	"internal/heap":       -2, // memory for large reads
	"transcript":          -1,
	"internal/diskfile":   -1, // complete writes of files, and locks
	"internal/wait":       -1, // a pause that a context can end
	"internal/truncate":   -1, // shortens texts of other programs

	"internal/aws/sigv4":  -1, // request signatures for AWS
	"internal/registries": -1, // package registries and their hosts

	// These import nothing of the project except packages above.
	"bench/bareclient":                     0,
	"bench/bareresume":                     0,
	"bench/empty":                          0,
	"bench/launch":                         0,
	"bench/peers":                          0,
	"internal/aws/credentials":             0, // keys for signing requests
	"internal/claudefixture":               0, // for tests
	"internal/corpus":                      0, // for tests
	"internal/docgen":                      0, // for tests
	"internal/crosscheck":                  0, // for scripts/cross
	"internal/demo":                        0, // files only
	"internal/freeport":                    0, // for tests
	"internal/history":                     0, // repairs items of a transcript, and prints them as text
	"internal/jsonlines":                   0,
	"internal/jsontree":                    0,
	"internal/layernames":                  0, // the layers of settings
	"internal/testneed":                    0, // for tests
	"internal/testprogram":                 1, // for tests: cmd/holdfast, built
	"internal/otelwire":                    0, // with OpenTelemetry's SDK
	"internal/htmlpage":                    0,
	"internal/terminalseq":                 1, // control sequences that hooks may send
	"internal/urlpattern":                  0,
	"internal/hooktranscript":              1, // what hooks read of a session
	"internal/protectedpaths":              0, // files and folders that need protection
	"internal/patterns":                    0, // globs and rules in the users' syntax
	"internal/procgroup":                   0,
	"internal/providers":                   0, // model providers by name
	"internal/record":                      0, // payloads of records
	"internal/sandbox/cgroup":              0,
	"internal/sandbox/egress":              0,
	"internal/sandbox/caches":              0,
	"internal/sandbox/quarantine":          0, // files that commands created under protected names
	"internal/sandbox/realpath":            0,
	"internal/inputimage":                  0, // images that users send to a model
	"internal/inputlog":                    0, // the file with what the user sent
	"internal/sandbox/seccomp":             0,
	"internal/shellparse":                  0, // with the library that parses shell
	"internal/shortid":                     0,
	"internal/spelling":                    0,
	"internal/supervisor/reaper":           0, // as early
	"internal/version":                     0,
	"internal/watch":                       0, // files that hooks name
	"internal/workspace/claude/claudetest": 0, // tests only
	"internal/workspace/lineio":            0,
	"internal/workspace/tree":              0, // folders that a container writes

	// the log, the rules, the model
	"audit/secret":               1,
	"internal/aimock":            1, // for tests
	"internal/forms":             1, // forms of tools, and their answers
	"internal/early":             1, // almost nothing, because it must start before the libraries
	"internal/listen":            1,
	"internal/redis":             1,
	"internal/s3":                1,
	"internal/sandbox/kernel":    1,
	"internal/supervisor":        1,
	"internal/term/edit":         2, // the input box of the conversation
	"internal/term/pager":        4, // a page that scrolls
	"internal/term/pick":         3, // a list with a fuzzy filter
	"internal/term/keymap":       1, // the keys that the user has chosen
	"internal/term":              1, // the only package that prints, prompts and draws in a terminal
	"internal/term/input":        0, // reads keys of a terminal
	"internal/term/live":         1, // draws the end of a conversation
	"internal/markdown":          2, // Markdown of a model as lines of a terminal, while it arrives
	"internal/term/paint":        3, // colors, widths and line breaks
	"internal/term/diff":         4, // diffs as lines of a terminal
	"internal/workspace/engine":  1, // the only package that uses Docker's API
	"internal/workspace/jsonrpc": 1,
	"internal/workspace/vendor":  1, // the interface of drivers
	"internal/yamltree":          1,
	"internal/plugin":            1, // folders of plugins
	"internal/importsettings":    1, // imports settings files of other agents
	"model":                      1,
	"policy":                     1,
	"session":                    1,

	// a tool, the sandbox, a question; stores around stores
	"approval":                      2,
	"internal/daemon/strategy":      2,
	"internal/outputs":              2, // files of sessions outside the store
	"internal/project":              2, // the project of a folder
	"internal/sessionpolicy":        2, // what sessions record of policy
	"internal/savedrule":            3, // what clients learn about saved answers
	"internal/workspace/toolqueue":  2, // what drivers hold back
	"internal/workspace/vendortest": 2, // tests only
	"model/internal/call":           2,
	"model/internal/modelfacts":     2, // prices and context sizes
	"model/internal/modeltest":      2,
	"model/scripted":                2,
	"sandbox":                       2,
	"runspec":                       2, // what a run is, as data
	"internal/session/convert":      2,
	"internal/session/logwatch":     2,
	"internal/session/prune":        2, // old sessions
	"internal/session/rows":         2,
	"internal/session/searchtext":   2,
	"tool":                          2,

	// stores, models, tools, hooks, evidence
	"session/encrypted":                3,
	"internal/session/mirror":          3,
	"session/redacting":                3,
	"internal/session/retry":           3,
	"session/sessiontest":              3,
	"internal/audit":                   3, // it reads the records of the floors below
	"bench/spawn":                      3,
	"event":                            3, // the events of a run
	"hook":                             3,
	"internal/instructions":            3,
	"internal/supervisor/first":        3,
	"internal/supervisor/reaper/first": 3, // for cmd/holdfast, as internal/confine/first
	"internal/workspace/acp":           3,
	"internal/workspace/claude":        3,
	"internal/workspace/codex":         3,
	"model/anthropic":                  3,
	"model/openai":                     3,
	"session/file":                     3,
	"session/memory":                   3,
	"session/mysql":                    3,
	"session/object":                   3,
	"session/postgres":                 3,
	"session/redis":                    3,
	"internal/session/search":          3, // an index in a file of its own
	"session/sqlite":                   3,
	"internal/tool/ask":                3,
	"internal/tool/workdir":            2, // paths in a session's folders
	"internal/tool/toolext":            3, // what an agent needs from Holdfast's tools
	"internal/tool/override":           3,
	"internal/tool/files":              4,
	"internal/tool/plan":               3,
	"internal/tool/search":             3,
	"internal/tool/shell":              4,
	"internal/tool/skills":             3,
	"internal/tool/tasks":              3,
	"internal/tool/web":                3,
	"internal/tool/worktree":           3,

	// the loop; settings
	"agent":                    4,
	"bench/spawner":            4,
	"internal/outcome":         4,
	"internal/runtext":         4, // words about what happened in a run
	"internal/recordevents":    4, // events of records
	"internal/deltas":          4, // pieces of answers
	"internal/session/salvage": 4, // reads a damaged database
	"internal/settings":        4,
	"internal/tool/mcp":        4, // hooks are informed about requests of servers

	// packages that use the loop
	"internal/confine":               5,
	"internal/daemon/feed":           5,
	"internal/policycheck":           5, // what would be decided about a call
	"internal/agentdef":              5,
	"internal/hostpipe":              5, // it knows an agent and its approvers
	"internal/workspace/vendoragent": 5, // vendor agents in Holdfast's loop
	"internal/otel":                  5, // it observes an agent
	"internal/tool/team":             5, // it runs agents

	// parts of workspaces and of the daemon
	"daemon/api":               6, // types of the HTTP interface
	"internal/confine/first":   6, // for cmd/holdfast: its code runs before other packages start
	"internal/compose/env":     6, // the environment of a run
	"internal/compose/keys":    6, // of model providers
	"internal/workspace/image": 6, // the images of containers

	// parts of a run; workspaces
	"bench/execonly":               7,
	"internal/compose/hooks":       7,
	"internal/compose/models":      7,
	"internal/compose/saverule":    8, // saved answers
	"internal/compose/stores":      7,
	"internal/workspace/testimage": 7, // for tests
	"internal/workspace":           7,
	"internal/daemon/routes":       7,
	"internal/daemon/wire":         7,

	// packages that inspect sessions and the setup; the identity of a client
	"internal/rewind":      8,
	"internal/doctor":      8, // what the machine and the setup support
	"internal/daemon/auth": 8,
	"internal/runlog":      8, // the run's own records in a log

	// runs for many clients; the tools of a run
	"internal/console":       9,  // the page, no logic
	"internal/conversation":  10, // what a user sees of a session; it reads the events of daemon/client
	"daemon/client":          9,
	"internal/compose/tools": 9,
	"internal/daemon/runs":   9,
	"internal/mcpserver":     9, // it has an agent, and an access check

	// an agent from its spec; the daemon
	"internal/compose": 10,
	"internal/daemon":  10,

	// what runs need, opened once; what all commands share
	"internal/runtime":     11,
	"internal/cli/command": 11,

	// package holdfast; the daemon as a program
	".":                       12,
	"internal/daemon/process": 12,

	// what several command groups share
	"internal/cli/chat/clipboard": 12, // the image on the clipboard of the desktop
	"internal/cli/chat/files":     12, // files that a prompt can mention
	"internal/cli/chat/render":    12, // the conversation as lines of a terminal
	"internal/cli/dial":           13, // it can serve the daemon in the process
	"internal/cli/flags":          12,
	"internal/cli/question":       12,
	"internal/cli/view":           13,

	// parts of the conversation
	"internal/cli/chat/inbox": 13,

	// the command groups
	"internal/cli/approvals":      14,
	"internal/cli/chat":           14,
	"internal/cli/audit":          14,
	"internal/cli/daemon":         14,
	"internal/cli/demo":           14,
	"internal/cli/doctor":         14,
	"internal/cli/hooks":          14,
	"internal/cli/containeragent": 14,
	"internal/cli/instructions":   14,
	"internal/cli/mcp":            14,
	"internal/cli/policy":         14,
	"internal/cli/run":            14,
	"internal/cli/runs":           14,
	"internal/cli/sandbox":        14,
	"internal/cli/settings":       14,
	"internal/cli/sessions":       14,
	"internal/cli/setup":          14,
	"internal/cli/store":          14,
	"internal/cli/workspace":      14,

	// the command line
	"internal/cli": 15,

	// programs; tests and measurements of whole programs
	"bench":                   16,
	"cmd/holdfast":            16,
	"examples":                16, // tests only
	"examples/agent":          16,
	"examples/approver":       16,
	"examples/daemon-client":  16,
	"examples/deploy":         16,
	"examples/events":         16,
	"examples/hooks":          16,
	"examples/persistence":    16,
	"examples/quickstart":     16,
	"examples/tool":           16,
	"internal/crashtest":      16,
	"internal/erasetest":      16,
	"internal/oracle":         16, // tests only
	"internal/runmodel":       16, // tests only
	"internal/sandbox/escape": 16, // tests only
	"packaging/release":       16, // makes releases
	"site/check":              16, // checks the built documentation
	"site/record":             16, // makes the recordings of the documentation
}

// sharedByGroups are the packages below internal/cli that the command groups share. A group
// imports no other group, except the packages in its own folder.
var sharedByGroups = []string{"command", "dial", "flags", "question", "view"}

// flagImports are the packages of the project that a file with flags may import: data, texts and the command
// groups themselves. The work is done in other files.
var flagImports = []string{
	"daemon/api", "runspec", "internal/cli/command", "internal/cli/flags",
	"internal/outcome", "internal/spelling", "internal/term", "internal/version",
}

// lightPackages names the libraries that any package above floor 0 may import.
var lightPackages = []string{
	"github.com/oklog/ulid/v2",
	"github.com/google/uuid",
	"github.com/bmatcuk/doublestar/v4",
	"github.com/aymanbagabas/go-udiff",
	"golang.org/x/sync",
	"golang.org/x/sys",
}

func TestImports(t *testing.T) {
	for pkg, imports := range packageImports(t) {
		for _, imp := range imports {
			if why := forbidden(pkg, imp); why != "" {
				t.Errorf("%s imports %s: %s", pkg, imp, why)
			}
		}
		if _, ok := layers[pkg]; !ok {
			t.Errorf("package %s has no floor: add it to the plan in imports_test.go and docs/architecture.md", pkg)
		}
	}
}

func TestForbidden(t *testing.T) {
	for _, tt := range []struct {
		pkg, imp string
		ok       bool
	}{
		{"transcript", "encoding/json", true},
		{"transcript", "golang.org/x/sys/unix", false},
		{"examples/agent", module, true},
		{"agent", module, false},
		{"session", module + "/transcript", true},
		{"transcript", module + "/session", false},
		{"session/sqlite", module + "/session/file", false},
		{"session/sqlite", module + "/session", true},
		{"session/sqlite", "modernc.org/sqlite", true},
		{"agent", "modernc.org/sqlite/lib", false},
		{"session", module + "/model", false},
		{"agent", module + "/model", true},
		{"agent", "example.org/new", false},
		{"session", "github.com/oklog/ulid/v2", true},
		{"internal/sandbox/kernel", "github.com/landlock-lsm/go-landlock/landlock/syscall", true},
		{"sandbox", "github.com/landlock-lsm/go-landlock/landlock", false},
		{"sandbox", "kernel.org/pub/linux/libs/security/libcap/psx", false},
		{"sandbox", module + "/internal/sandbox/kernel", true},
		{"internal/sandbox/kernel", module + "/sandbox", false},
		{"internal/sandbox/egress", module + "/internal/sandbox/kernel", false},
		{"internal/cli/hooks", module + "/internal/cli/policy", false},
		{"internal/cli/hooks", module + "/internal/cli/chat/render", false},
		{"internal/cli/run", module + "/internal/cli/chat/files", false},
	} {
		if why := forbidden(tt.pkg, tt.imp); (why == "") != tt.ok {
			t.Errorf("%s imports %s: %q", tt.pkg, tt.imp, why)
		}
	}
}

// forbidden returns why pkg may not import imp, or "".
func forbidden(pkg, imp string) string {
	within := func(prefix string) bool { return imp == prefix || strings.HasPrefix(imp, prefix+"/") }
	if rest, ok := strings.CutPrefix(imp+"/", module+"/"); ok {
		rest = path.Clean(rest)
		group, ok := strings.CutPrefix(rest, "internal/cli/")
		own, fromGroup := strings.CutPrefix(pkg, "internal/cli/")
		group, _, _ = strings.Cut(group, "/")
		own, _, _ = strings.Cut(own, "/")
		if ok && fromGroup && group != own && !slices.Contains(sharedByGroups, group) {
			return "a command group imports no other group"
		}
		switch to, known := layers[rest]; {
		case !known:
			return "it has no floor"
		case to >= layers[pkg]:
			return "it is not on a floor below"
		}
		return ""
	}
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return "" // standard library
	}
	if pkg == "transcript" {
		return "transcript uses the standard library only"
	}
	var owners []string // of all prefixes that match
	for lib, list := range heavyPackages {
		if within(lib) {
			owners = append(owners, list...)
		}
	}
	switch {
	case slices.Contains(owners, pkg):
		return ""
	case owners != nil:
		slices.Sort(owners)
		return "only " + strings.Join(owners, " and ") + " may"
	}
	if slices.ContainsFunc(lightPackages, within) {
		return ""
	}
	return "this library is not on the list"
}

// A file of the command line that declares flags does not import packages that do the work.
func TestFlagFilesDoNoWork(t *testing.T) {
	withFlags := 0
	for _, name := range goFiles(t) {
		if !strings.HasPrefix(name, "internal/cli/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := parse(t, name, 0)
		if !knowsFlags(t, f) {
			continue
		}
		withFlags++
		for _, imp := range importsOf(t, f) {
			rest, inModule := strings.CutPrefix(imp, module+"/")
			group, isGroup := strings.CutPrefix(rest, "internal/cli/")
			if imp == module || inModule && !slices.Contains(flagImports, rest) && (!isGroup || slices.Contains(sharedByGroups, group)) {
				t.Errorf("%s has flags and imports %s: move what does the work to another file", name, imp)
			}
		}
	}
	if withFlags < len(sharedByGroups) {
		t.Errorf("found %d files with flags", withFlags)
	}
}

// knowsFlags reports whether a file declares flags, or imports a package that does.
func knowsFlags(t *testing.T, f *ast.File) (found bool) {
	for _, imp := range importsOf(t, f) {
		found = found || strings.HasPrefix(imp, "github.com/spf13/") || imp == module+"/internal/cli/flags"
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			return !ok || x.Name != "strings" // strings.Builder is another type
		case *ast.Ident:
			found = found || n.Name == "Builder" // command.Builder
		}
		return true
	})
	return found
}

// packageImports maps each package of the project to what its files import,
// whatever their build tags say; test files are left out.
func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		pkg := path.Dir(f)
		for _, imp := range importsOf(t, parse(t, f, parser.ImportsOnly)) {
			if !slices.Contains(out[pkg], imp) {
				out[pkg] = append(out[pkg], imp)
			}
		}
	}
	return out
}

func importsOf(t *testing.T, f *ast.File) (list []string) {
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, imp)
	}
	return list
}
