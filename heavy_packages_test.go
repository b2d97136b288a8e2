package holdfast

// heavyPackages names the libraries that only some packages may link, by prefixes of their import paths, so
// that programs which do not import these packages do not link them.
var heavyPackages = map[string][]string{
	"mvdan.cc/sh":                            {"internal/shellparse"},
	"modernc.org/sqlite":                     {"session/sqlite", "internal/session/salvage", "internal/session/search", "bench", "bench/bareresume", "examples/persistence"},
	"modernc.org/libc":                       {"session/sqlite"}, // the memory and threads of SQLite
	"github.com/jackc/pgx":                   {"session/postgres", "bench"},
	"github.com/go-sql-driver/mysql":         {"session/mysql", "bench"},
	"github.com/redis/go-redis":              {"bench"}, // the control of an append
	"github.com/minio/minio-go":              {"bench"}, // as above
	"filippo.io/age":                         {"session/encrypted", "internal/cli/store"},
	"github.com/zalando/go-keyring":          {"session/encrypted", "internal/compose/env", "internal/compose/keys"},
	"github.com/fsnotify/fsnotify":           {"session/sqlite", "session/file", "internal/watch"},
	"github.com/hanwen/go-fuse":              {"internal/crashtest"},
	"github.com/goreleaser/nfpm":             {"packaging/release"},
	"golang.org/x/crypto/x509roots/fallback": {"packaging/release"},
	"github.com/spf13":                       {"internal/cli", "internal/cli/command"}, // cobra and pflag
	"github.com/goccy/go-yaml":               {"model/scripted", "internal/cli/policy", "internal/yamltree"},
	"github.com/pelletier/go-toml":           {"internal/importsettings"},
	"github.com/google/jsonschema-go":        {"tool", "internal/forms", "runspec", "internal/daemon/wire", "internal/daemon/routes"}, // internal/forms: answers must match the schema that the server checks
	"github.com/modelcontextprotocol/go-sdk": {"internal/tool/mcp", "internal/mcpserver"},
	"golang.org/x/oauth2":                    {"internal/tool/mcp"},
	"github.com/coder/websocket":             {"internal/daemon", "bench"},
	"github.com/coreos/go-systemd":           {"internal/daemon/process"},
	"github.com/anishathalye/porcupine":      {"session/sessiontest"},
	"pgregory.net/rapid":                     {"session/sessiontest"},
	"github.com/rogpeppe/go-internal":        {"model/internal/modeltest"},
	"github.com/google/go-cmp":               {"session/sessiontest"},
	"golang.org/x/tools":                     {"internal/crosscheck"},
	"golang.org/x/term":                      {"internal/cli/workspace", "internal/term", "internal/term/input"},
	"golang.org/x/text":                      {"internal/session/searchtext"},
	"github.com/landlock-lsm/go-landlock":    {"internal/sandbox/kernel"},
	"kernel.org/pub/linux/libs/security":     {"internal/sandbox/kernel"}, // psx, of go-landlock
	"github.com/dlclark/regexp2":             {"hook"},
	"golang.org/x/mod":                       {"internal/audit"},
	"github.com/gowebpki/jcs":                {"internal/audit"},
	"go.opentelemetry.io":                    {"internal/otel", "internal/otelwire"},
	"github.com/Microsoft/go-winio":          {"internal/workspace/engine"}, // on Windows
	"github.com/charmbracelet/colorprofile":  {"internal/term/live"},        // of ultraviolet
	// internal/cli/chat reads the events of internal/term/input.
	"github.com/charmbracelet/ultraviolet": {"internal/cli/chat", "internal/term", "internal/term/input", "internal/term/live"},
	"github.com/charmbracelet/x":           {"internal/markdown", "internal/term", "internal/term/edit", "internal/term/input", "internal/term/live", "internal/term/pager", "internal/term/paint", "internal/term/pick"}, // ansi: clusters of characters and their width
	"github.com/coder/acp-go-sdk":          {"internal/workspace/acp"},
	"github.com/JohannesKaufmann":          {"internal/tool/web"},
	"golang.org/x/net":                     {"internal/tool/web", "site/check"},
}
