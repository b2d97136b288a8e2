package holdfast

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/holdfast-dev/holdfast"

// floors is the floor plan of docs/architecture.md, in tenths of a floor. A
// package may import packages of lower floors only. A new package needs an
// entry here, and with it a place in the plan.
var floors = map[string]int{
	"transcript":       0,
	"policy/shellread": 1, // with the one library that knows the shell

	"session":             10,
	"policy":              10,
	"model":               10,
	"session/sessiontest": 15,

	"session/internal/heads":      15,
	"session/internal/rows":       15,
	"session/internal/searchtext": 15,

	"session/memory":           20,
	"session/file":             20,
	"session/sqlite":           20,
	"session/postgres":         20,
	"session/mysql":            20,
	"session/redis":            20,
	"session/object":           20,
	"session/encrypted":        20,
	"session/mirror":           20,
	"session/redacting":        20,
	"session/retry":            20,
	"session/search":           25, // an index in a file of its own
	"session/convert":          25,
	"tool":                     20,
	"model/internal/call":      20,
	"model/internal/modeltest": 25,
	"sandbox":                  20,
	"sandbox/seccomp":          1,
	"sandbox/cgroup":           1,
	"sandbox/egress":           1,
	"sandbox/kernel":           5,
	"sandbox/escape":           80, // tests only
	"approval":                 20,

	"tool/files":      30,
	"tool/search":     30,
	"tool/shell":      30,
	"tool/tasks":      30,
	"tool/worktree":   30,
	"tool/skills":     30,
	"tool/ask":        30,
	"tool/plan":       30,
	"tool/web":        30,
	"instructions":    30,
	"tool/mcp":        32, // hooks are told about what servers ask
	"model/anthropic": 30,
	"model/openai":    30,
	"model/scripted":  30,
	"hook":            30,
	"hook/watch":      5,  // files that hooks name
	"audit":           35, // it reads what the floors below have recorded
	"audit/secret":    1,
	"checkpoint":      35,

	"agent":    40,
	"settings": 40,

	"otel":         45, // it watches an agent
	"tool/team":    45, // it leads agents
	"agent/define": 45,

	"internal/demo":       0, // files only
	"internal/page":       0,
	"internal/diskfile":   1,
	"internal/procgroup":  0,
	"internal/listen":     2,
	"internal/outcome":    45,
	"internal/logpipe":    46, // it knows an agent, and whom it may ask
	"internal/confine":    50,
	"internal/version":    0,
	"internal/spelling":   0,
	"internal/jsoncheck":  0,
	"internal/lazyregexp": 0,
	"internal/jsontree":   1,
	"internal/yamltree":   2,
	"internal/outputs":    25, // what sessions keep beside the store
	"internal/policylog":  25, // what sessions record of policy
	"internal/early":      5,  // next to nothing: it must start before the libraries

	"internal/supervisor/reaper":       4, // as early
	"internal/supervisor":              6,
	"internal/supervisor/reaper/first": 70, // for cmd/holdfast, as internal/confine/first
	"internal/supervisor/first":        70,

	"workspace":                    50,
	"workspace/internal/engine":    45, // the only one that knows Docker's API
	"workspace/image":              47, // what containers are made of
	"workspace/internal/testimage": 80, // for tests
	"workspace/internal/tree":      45, // folders that a container writes
	"workspace/internal/vendor":    45, // what drivers are
	"workspace/internal/claude":    46,
	"workspace/internal/lines":     43,
	"workspace/internal/jsonrpc":   44,
	"workspace/internal/stage":     46, // what drivers keep back
	"workspace/internal/codex":     47,
	"workspace/internal/acp":       47,
	"workspace/internal/guest":     47, // agents of another make in our loop

	"workspace/internal/claude/claudetest": 1,  // tests only
	"workspace/internal/vendortest":        46, // tests only

	"daemon/strategy": 50,
	"daemon/auth":     50,
	"daemon/wire":     52,
	"daemon/feed":     52,
	"daemon/runs":     55,
	"daemon/client":   57,
	"daemon":          60,
	"console":         60, // the page, no logic

	"internal/mcpserver": 62, // it has an agent, and whom it lets in

	"internal/cli":           70,
	"internal/confine/first": 70, // for cmd/holdfast: what it runs, it runs before other packages start

	"cmd/holdfast":         80,
	"examples/persistence": 80,
	"bench/bareclient":     75,
	"bench/empty":          75,
	"bench/spawn":          70,
	"bench/spawner":        75,
	"bench":                80,
	"internal/crashtest":   80,
	"internal/runmodel":    80, // tests only
	"internal/erasetest":   80,
	"internal/corpus":      0, // for tests
	"internal/claudedir":   0, // for tests
	"internal/missing":     0, // for tests
	"internal/freeport":    0, // for tests
	"internal/crosscheck":  1, // for scripts/cross
	"internal/aimock":      1, // for tests
}

// heavy names the libraries that only some packages may link, by what their
// import path starts with. Whoever does not import these packages does not pay.
var heavy = map[string][]string{
	"mvdan.cc/sh":                            {"policy/shellread"},
	"modernc.org/sqlite":                     {"session/sqlite", "session/search", "bench", "examples/persistence"},
	"github.com/jackc/pgx":                   {"session/postgres", "bench"},
	"github.com/go-sql-driver/mysql":         {"session/mysql", "bench"},
	"github.com/redis/go-redis":              {"session/redis", "bench"},
	"github.com/minio/minio-go":              {"session/object", "bench"},
	"filippo.io/age":                         {"session/encrypted", "internal/cli"},
	"github.com/zalando/go-keyring":          {"session/encrypted", "internal/cli"},
	"github.com/fsnotify/fsnotify":           {"session/sqlite", "session/file", "hook/watch"},
	"github.com/hanwen/go-fuse":              {"internal/crashtest"},
	"github.com/anthropics/anthropic-sdk-go": {"model/anthropic"},
	"github.com/openai/openai-go":            {"model/openai"},
	"github.com/alecthomas/kong":             {"internal/cli"},
	"github.com/goccy/go-yaml":               {"model/scripted", "internal/cli", "internal/yamltree"},
	"github.com/google/jsonschema-go":        {"tool", "approval", "daemon/wire", "daemon"}, // approval: what is filled in is to fit the schema that a server will check it by
	"github.com/modelcontextprotocol/go-sdk": {"tool/mcp", "internal/mcpserver"},
	"golang.org/x/oauth2":                    {"tool/mcp"},
	"github.com/coder/websocket":             {"daemon", "daemon/client", "bench"},
	"github.com/coreos/go-systemd":           {"internal/cli"},
	"github.com/anishathalye/porcupine":      {"session/sessiontest"},
	"pgregory.net/rapid":                     {"session/sessiontest"},
	"github.com/rogpeppe/go-internal":        {"model/internal/modeltest"},
	"github.com/google/go-cmp":               {"session/sessiontest"},
	"golang.org/x/tools":                     {"internal/crosscheck"},
	"golang.org/x/term":                      {"internal/cli"},
	"github.com/landlock-lsm/go-landlock":    {"sandbox/kernel"},
	"kernel.org/pub/linux/libs/security":     {"sandbox/kernel"}, // psx, of go-landlock
	"github.com/mattn/go-isatty":             {"internal/cli"},
	"github.com/dlclark/regexp2":             {"hook"},
	"golang.org/x/mod":                       {"audit"},
	"github.com/gowebpki/jcs":                {"audit"},
	"go.opentelemetry.io":                    {"otel"},
	"github.com/moby/moby":                   {"workspace/internal/engine"},
	"github.com/coder/acp-go-sdk":            {"workspace/internal/acp"},
	"github.com/containerd/errdefs":          {"workspace/internal/engine"},
	"github.com/prometheus":                  {"otel"},
	"github.com/JohannesKaufmann":            {"tool/web"},
	"golang.org/x/net":                       {"tool/web"},
}

// light names the libraries that any package above floor 0 may import.
var light = []string{
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
		if _, ok := floors[pkg]; !ok {
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
		{"sandbox/kernel", "github.com/landlock-lsm/go-landlock/landlock/syscall", true},
		{"sandbox", "github.com/landlock-lsm/go-landlock/landlock", false},
		{"sandbox", "kernel.org/pub/linux/libs/security/libcap/psx", false},
		{"sandbox", module + "/sandbox/kernel", true},
		{"sandbox/kernel", module + "/sandbox", false},
		{"sandbox/egress", module + "/sandbox/kernel", false},
	} {
		if why := forbidden(tt.pkg, tt.imp); (why == "") != tt.ok {
			t.Errorf("%s imports %s: %q", tt.pkg, tt.imp, why)
		}
	}
}

// forbidden says why pkg may not import imp, or "".
func forbidden(pkg, imp string) string {
	within := func(prefix string) bool { return imp == prefix || strings.HasPrefix(imp, prefix+"/") }
	if own, ok := strings.CutPrefix(imp, module+"/"); ok {
		switch to, known := floors[own]; {
		case !known:
			return "it has no floor"
		case to >= floors[pkg]:
			return "it is not on a floor below"
		}
		return ""
	}
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return "" // standard library
	}
	if floors[pkg] == 0 {
		return "floor 0 uses the standard library only"
	}
	for lib, owners := range heavy {
		if within(lib) {
			if slices.Contains(owners, pkg) {
				return ""
			}
			return "only " + strings.Join(owners, " and ") + " may"
		}
	}
	if slices.ContainsFunc(light, within) {
		return ""
	}
	return "this library is not on the list"
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
		for _, spec := range parse(t, f, parser.ImportsOnly).Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(out[pkg], imp) {
				out[pkg] = append(out[pkg], imp)
			}
		}
	}
	return out
}

// goFiles lists the project's Go files. Folders named testdata and those that
// start with a dot or an underscore are not part of it.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || strings.ContainsAny(d.Name()[:1], "._")):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go"):
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parse(t *testing.T, name string, mode parser.Mode) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, mode|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
