package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// mcpFile is the file in a project's folder that lists its MCP servers.
const mcpFile = ".mcp.json"

// MCPType is the transport of a server.
type MCPType string

// The transports.
const (
	MCPStdio MCPType = "stdio" // a local program, over its standard input and output
	MCPHTTP  MCPType = "http"  // streamable HTTP
	MCPSSE   MCPType = "sse"   // the older HTTP with server-sent events
)

// MCPStatus says whether a server is started.
type MCPStatus string

// The states. Servers that do not come from a folder need no approval.
const (
	MCPApproved MCPStatus = "approved" // the server is started with the run
	MCPPending  MCPStatus = "pending"  // the server is not approved in this folder
	MCPChanged  MCPStatus = "changed"  // the server changed since it was approved
	MCPRejected MCPStatus = "rejected" // the user rejected it
	MCPDisabled MCPStatus = "disabled" // the server is disabled in its definition or by disabledMcpjsonServers
	MCPDenied   MCPStatus = "denied"   // excluded by managed settings
	MCPInvalid  MCPStatus = "invalid"  // invalid, see Reason
)

// MCPServer is a server as written in settings: ${VAR} is not replaced.
type MCPServer struct {
	Name    string            `json:"name"`
	Type    MCPType           `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"` // working folder as written; "" is the project's folder
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	OAuth   *MCPOAuth         `json:"oauth,omitempty"`
	// IncludeTools lists the tools that are offered, nil means all; ExcludeTools those that are
	// not.
	IncludeTools []string      `json:"includeTools,omitempty"`
	ExcludeTools []string      `json:"excludeTools,omitempty"`
	Timeout      time.Duration `json:"-"` // time limit of one call; 0 if not set

	Plugin string        `json:"-"` // the plugin that contains the server; "" for none
	Kind   string        `json:"-"` // the sub-agent definition that contains the server, by name; "" for a server of the run
	Origin policy.Origin `json:"-"`
	Folder string        `json:"-"` // base of the server's relative paths
	Digest string        `json:"-"` // digest of all fields above with a JSON name, in hexadecimal
	Status MCPStatus     `json:"-"`
	Reason string        `json:"-"` // why the server is not started, for display; "" if it is started

	disabled bool
}

// MCPOAuth has the parameters for logging in to a server.
type MCPOAuth struct {
	ClientID     string   `json:"clientId,omitempty"`     // Holdfast's client id at the server; if it is "", Holdfast registers itself
	ClientSecret string   `json:"clientSecret,omitempty"` // may be ${VAR}
	CallbackPort int      `json:"callbackPort,omitempty"` // 0 is any
	Scopes       []string `json:"scopes,omitempty"`       // if there are none, Holdfast requests the scopes that the server names
}

// FromFolder reports whether a file in the folder defines the server, so that it needs approval.
func (s *MCPServer) FromFolder() bool { return isFolderLayer(s.Origin.Layer) }

// Key returns the server's display name: its name, or KIND/NAME for a sub-agent's server.
func (s *MCPServer) Key() string {
	if s.Kind == "" {
		return s.Name
	}
	return s.Kind + "/" + s.Name
}

// seal sets the digest over the definition as written.
func (s *MCPServer) seal() {
	b, err := json.Marshal(s)
	if err != nil { // cannot happen, because the definition consists of strings
		return
	}
	sum := sha256.Sum256(b)
	s.Digest = hex.EncodeToString(sum[:])
}

// mcpServers decodes the servers of one source.
func (s *parsedSource) mcpServers(path string, n jsontree.Node) {
	if !s.want(path, n, jsontree.Object) {
		return
	}
	if s.program != "" {
		if !s.importing {
			s.foreignServers(n)
		}
		return
	}
	for _, m := range n.Members {
		line, col := s.position(m.At)
		before := len(s.problems)
		srv := &MCPServer{Name: m.Key, Folder: s.dir, Origin: policy.Origin{Rule: m.Key, Layer: s.layer, File: s.file, Line: line, Col: col}}
		if why := badServerName(m.Key); why != "" {
			s.fault(m.At, "name it with letters, digits, - and _", "%s: the name %.80q %s", path, m.Key, why)
		}
		s.mcpServer(path+"."+m.Key, m.Value, srv)
		if s.lenient && len(s.problems) > before {
			srv.Status, srv.Reason = MCPInvalid, s.problems[before].String()
			if hint := s.problems[before].Hint; hint != "" {
				srv.Reason += "; " + hint
			}
			s.problems = s.problems[:before]
		}
		srv.seal()
		s.mcp.servers = append(s.mcp.servers, *srv)
	}
}

const maxServerName = 64

// badServerName says what is wrong with a server's name. The name becomes part of tool names.
func badServerName(name string) string {
	bad := func(r rune) bool {
		good := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
		return !good
	}
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxServerName:
		return "is longer than " + strconv.Itoa(maxServerName)
	case strings.ContainsFunc(name, bad):
		return "has characters that a tool name cannot have"
	case strings.Contains(name, "__"):
		return "contains __, which separates a server from its tools"
	case strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_"):
		return "begins or ends with _, which would join the separator __"
	}
	return ""
}

// foreignServer are keys of other programs' files, with what to use here instead.
var foreignServer = map[string]string{
	"headersHelper":    "use headers, with ${VAR} for secrets",
	"envFile":          "use env, with ${VAR} for secrets",
	"httpUrl":          `write "type": "http" and url`,
	"serverUrl":        `write "type": "http" and url`,
	"transport":        `write "type": "http" or "sse"`,
	"transportType":    `write "type": "http" or "sse"`,
	"authProviderType": "write oauth, or an Authorization header with ${VAR}",
	"auth":             "write oauth, or an Authorization header with ${VAR}",
}

// wideningKeys are keys that other programs read as "do not ask", which a server definition cannot
// set here.
var wideningKeys = []string{"alwaysAllow", "autoApprove", "trust", "autoApproveTools"}

func (s *parsedSource) mcpServer(path string, n jsontree.Node, srv *MCPServer) {
	if !s.want(path, n, jsontree.Object) {
		return
	}
	text := func(to *string) func(string, jsontree.Node) {
		return func(path string, n jsontree.Node) { *to, _ = s.text(path, n) }
	}
	list := func(to *[]string) func(string, jsontree.Node) {
		return func(path string, n jsontree.Node) {
			*to = []string{}
			s.texts(path, n, func(_ string, item jsontree.Node) { *to = append(*to, item.Text) })
		}
	}
	nothing := func(string, jsontree.Node) {}
	kind := ""
	fields := map[string]func(string, jsontree.Node){
		"type": text(&kind), "command": text(&srv.Command), "url": text(&srv.URL), "cwd": text(&srv.Dir),
		"args": s.arguments(&srv.Args), "env": s.pairs(&srv.Env, variableName().MatchString, "variable"),
		"headers": s.pairs(&srv.Headers, isToken, "header"),
		"oauth":   s.mcpOAuth(srv), "timeout": s.mcpTimeout(srv),
		"includeTools": list(&srv.IncludeTools), "excludeTools": list(&srv.ExcludeTools), "disabledTools": list(&srv.ExcludeTools),
		"disabled": func(path string, n jsontree.Node) {
			if s.want(path, n, jsontree.Bool) {
				srv.disabled = n.Text == "true"
			}
		},
		"description": nothing, "alwaysLoad": nothing, "gallery": nothing, "version": nothing, "name": nothing,
	}
	for _, key := range wideningKeys {
		fields[key] = func(path string, n jsontree.Node) {
			if n.Text == "false" || n.Kind == jsontree.List && len(n.Items) == 0 {
				return
			}
			line, col := s.position(n.At)
			s.notes = append(s.notes, Problem{
				Layer: s.layer, File: s.file, Line: line, Col: col, Detail: path + " is ignored: server definitions cannot grant permissions",
				Hint: "write a rule: permissions.allow mcp__" + srv.Name + "__TOOL",
			})
		}
	}
	for _, m := range n.Members {
		if why, ok := foreignServer[m.Key]; ok {
			s.fault(m.At, why, "%s.%s is not read here", path, m.Key)
			fields[m.Key] = nothing
		}
	}
	s.object(path, n, fields)
	s.mcpTransport(path, n, kind, srv)
}

// mcpTransport sets the server's transport and checks the fields that it needs.
func (s *parsedSource) mcpTransport(path string, n jsontree.Node, kind string, srv *MCPServer) {
	refuse := func(field, hint, format string, args ...any) {
		s.fault(find(&n, field), hint, path+": "+format, args...)
	}
	switch kind {
	case "", "stdio":
		srv.Type = MCPStdio
	case "http", "streamable-http":
		srv.Type = MCPHTTP
	case "sse":
		srv.Type = MCPSSE
	default:
		refuse("type", "write stdio, http or sse", "unknown transport %.60q", kind)
		return
	}
	if srv.Type == MCPStdio {
		switch {
		case srv.Command == "" && srv.URL != "" && kind == "":
			refuse("url", `add "type": "http"`, "the url needs a type")
		case srv.Command == "":
			refuse("command", "write the server's program", "it has no command")
		case srv.URL != "":
			refuse("url", "remove it, or use another type", "a program has no url")
		case srv.Headers != nil:
			refuse("headers", "write env", "a program has no headers")
		case srv.OAuth != nil:
			refuse("oauth", "write env", "a program has no login")
		}
		return
	}
	switch {
	case srv.URL == "":
		refuse("url", "write its address", "it has no url")
	case srv.Command != "" || srv.Args != nil:
		refuse("command", `remove it, or write "type": "stdio"`, "a server with a url has no command")
	case srv.Env != nil:
		refuse("env", "write headers", "a server with a url has no environment")
	case srv.Dir != "":
		refuse("cwd", "remove it", "a server with a url has no working folder")
	default:
		if u, err := url.Parse(srv.URL); !strings.Contains(srv.URL, "${") && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
			refuse("url", "write https://HOST/PATH, and put secrets into headers", "invalid server URL %.100q", srv.URL)
		}
	}
}

// arguments decodes strings that may be empty.
func (s *parsedSource) arguments(to *[]string) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		if !s.want(path, n, jsontree.List) {
			return
		}
		*to = []string{}
		for i, item := range n.Items {
			if s.want(path+"["+strconv.Itoa(i)+"]", item, jsontree.Text) {
				*to = append(*to, item.Text)
			}
		}
	}
}

// pairs decodes strings by name. Numbers and booleans are accepted as strings, since users write
// them for variables.
func (s *parsedSource) pairs(to *map[string]string, good func(string) bool, what string) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		if !s.want(path, n, jsontree.Object) {
			return
		}
		*to = map[string]string{}
		for _, m := range n.Members {
			at := path + "." + m.Key
			switch {
			case !good(m.Key):
				s.fault(m.At, "", "%[1]s: invalid %[3]s name %.80[2]q", path, m.Key, what)
			case m.Value.Kind == jsontree.Number || m.Value.Kind == jsontree.Bool:
				(*to)[m.Key] = m.Value.Text
			case !s.want(at, m.Value, jsontree.Text):
			case strings.ContainsAny(m.Value.Text, "\x00\r\n") && (what == "header" || strings.Contains(m.Value.Text, "\x00")):
				s.fault(m.Value.At, "", "%s contains a character that is not allowed in a %s", at, what)
			default:
				(*to)[m.Key] = m.Value.Text
			}
		}
	}
}

// isToken reports whether a text is a valid header name.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

func (s *parsedSource) mcpOAuth(srv *MCPServer) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		o := &MCPOAuth{}
		srv.OAuth = o
		s.object(path, n, map[string]func(string, jsontree.Node){
			"clientId":     func(path string, n jsontree.Node) { o.ClientID, _ = s.text(path, n) },
			"clientSecret": func(path string, n jsontree.Node) { o.ClientSecret, _ = s.text(path, n) },
			"callbackPort": func(path string, n jsontree.Node) {
				port, err := strconv.Atoi(n.Text)
				if n.Kind != jsontree.Number || err != nil || port < 1 || port > 65535 {
					s.fault(n.At, "write a port number, or omit it for any port", "%s: invalid port", path)
					return
				}
				o.CallbackPort = port
			},
			"scopes": func(path string, n jsontree.Node) {
				if n.Kind == jsontree.Text { // as in OAuth itself
					o.Scopes = strings.Fields(n.Text)
					return
				}
				s.texts(path, n, func(_ string, item jsontree.Node) { o.Scopes = append(o.Scopes, item.Text) })
			},
		})
	}
}

const (
	minTimeout = time.Second // a smaller value is probably in seconds
	maxTimeout = 24 * time.Hour
)

func (s *parsedSource) mcpTimeout(srv *MCPServer) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		ms, err := strconv.Atoi(n.Text)
		d := time.Duration(ms) * time.Millisecond
		if n.Kind != jsontree.Number || err != nil || d < minTimeout || ms > int(maxTimeout/time.Millisecond) {
			s.fault(n.At, "write milliseconds: 30000 is half a minute", "%s: want 1000 to 86400000 milliseconds for one call", path)
			return
		}
		srv.Timeout = d
	}
}

// decodeMCP decodes a file of servers, a project's or one of --mcp-config.
func decodeMCP(src source, lenient bool) *parsedSource {
	s := &parsedSource{source: src, lenient: lenient}
	root, err := parse(src.data)
	if err != nil {
		s.parseFault(err)
		return s
	}
	servers := false
	s.object("", root, map[string]func(string, jsontree.Node){
		"mcpServers": func(path string, n jsontree.Node) {
			servers = true
			s.mcpServers(path, n)
		},
		"$schema": func(path string, n jsontree.Node) { s.text(path, n) },
	})
	if root.Kind == jsontree.Object && !servers && len(s.problems) == 0 {
		s.fault(root.At, `write {"mcpServers": {"NAME": {"command": "PROGRAM"}}}`, "mcpServers is missing")
	}
	return s
}

// mcpProject reads the servers in the project's .mcp.json. A problem of one server excludes only
// that server, because the file belongs to other programs too.
func (o *Options) mcpProject() (*parsedSource, error) {
	if o.Portable != nil {
		return nil, nil
	}
	file := filepath.Join(o.Project, mcpFile)
	if info, err := os.Lstat(file); err == nil && info.Mode() == os.ModeSocket {
		return nil, nil // a sandbox holds a placeholder there while commands run
	}
	src, err := o.read(layernames.Project, file, o.Project)
	if err != nil || len(src) == 0 {
		return nil, err
	}
	s := decodeMCP(src[0], true)
	for i := range s.problems { // such a problem does not make the load fail; only the server is not started
		s.problems[i].Fatal = false
	}
	return s, nil
}

// mcpGiven reads the values of --mcp-config, the last one the strongest.
func (o *Options) mcpGiven() ([]*parsedSource, error) {
	options := *o
	options.Files = o.MCP
	src, err := options.flags()
	if err != nil {
		return nil, err
	}
	var list []*parsedSource
	for _, s := range src {
		s.file = strings.Replace(s.file, "--settings", "--mcp-config", 1)
		parsed := decodeMCP(s, false)
		parsed.given = true
		list = append(list, parsed)
	}
	return list, nil
}

// parsedMCP is the MCP settings of one source.
type parsedMCP struct {
	servers  []MCPServer
	disabled []Value[string] // disabledMcpjsonServers
	allowed  *[]mcpPattern   // allowedMcpServers; nil: not set
	denied   []mcpPattern
}

// named returns the origin of a server's name in a list, or nil.
func named(list []Value[string], name string) *policy.Origin {
	if i := slices.IndexFunc(list, func(v Value[string]) bool { return v.Value == name }); i >= 0 {
		return &list[i].Origin
	}
	return nil
}
