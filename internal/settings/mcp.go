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

// mcpFile is where a project names the MCP servers that belong to it, in its folder.
const mcpFile = ".mcp.json"

// MCPType is how a server is spoken to.
type MCPType string

// The transports.
const (
	MCPStdio MCPType = "stdio" // a program of ours, over its standard input and output
	MCPHTTP  MCPType = "http"  // streamable HTTP
	MCPSSE   MCPType = "sse"   // the older HTTP with server-sent events
)

// MCPStatus says whether a server is started.
type MCPStatus string

// The states. Servers that no folder brings along need no approval.
const (
	MCPApproved MCPStatus = "approved" // it is started when a run begins
	MCPPending  MCPStatus = "pending"  // nobody has approved it in this folder
	MCPChanged  MCPStatus = "changed"  // what was approved was something else
	MCPRejected MCPStatus = "rejected" // a person has said no to it
	MCPDisabled MCPStatus = "disabled" // it, or disabledMcpjsonServers, says so
	MCPDenied   MCPStatus = "denied"   // the administrator's settings keep it out
	MCPInvalid  MCPStatus = "invalid"  // it cannot be understood, see Why
)

// MCPServer is a server as it is written down: ${VAR} is not replaced in it.
type MCPServer struct {
	Name    string            `json:"name"`
	Type    MCPType           `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"` // as written; "" is the project
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	OAuth   *MCPOAuth         `json:"oauth,omitempty"`
	// IncludeTools and Without are names of its tools: all that are offered, and those that are
	// not. Nil Only is all.
	IncludeTools []string      `json:"includeTools,omitempty"`
	ExcludeTools []string      `json:"excludeTools,omitempty"`
	Timeout      time.Duration `json:"-"` // of one call; 0 when it does not say

	Kind   string        `json:"-"` // of sub-agents, whose own it is; "" of one for the run
	Origin policy.Origin `json:"-"`
	Folder string        `json:"-"` // that relative paths of it count from
	Digest string        `json:"-"` // of all of the above that has a name in JSON, in hexadecimal
	Status MCPStatus     `json:"-"`
	Reason string        `json:"-"` // it is not started, for people; "" when it is

	disabled bool
}

// MCPOAuth says how to log in to a server.
type MCPOAuth struct {
	ClientID     string   `json:"clientId,omitempty"`     // that the server knows us by; "" registers one
	ClientSecret string   `json:"clientSecret,omitempty"` // may be ${VAR}
	CallbackPort int      `json:"callbackPort,omitempty"` // 0 is any
	Scopes       []string `json:"scopes,omitempty"`       // none: what the server asks for
}

// FromFolder reports whether the server comes with the folder, and so needs approval.
func (s *MCPServer) FromFolder() bool { return isFolderLayer(s.Origin.Layer) }

// Key is what people call the server: its name, and of one of sub-agents KIND/NAME.
func (s *MCPServer) Key() string {
	if s.Kind == "" {
		return s.Name
	}
	return s.Kind + "/" + s.Name
}

// seal fills in the digest, over the definition as it is written.
func (s *MCPServer) seal() {
	b, err := json.Marshal(s)
	if err != nil { // it is made of texts
		return
	}
	sum := sha256.Sum256(b)
	s.Digest = hex.EncodeToString(sum[:])
}

// mcpServers reads the servers of one source.
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

// badServerName says what is wrong with a name: it becomes a part of tools' names.
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

// foreignServer are keys of other programs' files that mean something to them.
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

// wideningKeys are keys that other programs read as "do not ask", and that a server's file
// must not say here.
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
		"args": s.arguments(&srv.Args), "env": s.pairs(&srv.Env, variable().MatchString, "variable"),
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

// mcpTransport settles how the server is spoken to, and that it says what that needs.
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
			refuse("url", `add "type": "http"`, "a url without a type")
		case srv.Command == "":
			refuse("command", "write the program that is the server", "it has no command")
		case srv.URL != "":
			refuse("url", "take it out, or write another type", "a program has no url")
		case srv.Headers != nil:
			refuse("headers", "write env", "a program has no headers")
		case srv.OAuth != nil:
			refuse("oauth", "write env", "one does not log in to a program")
		}
		return
	}
	switch {
	case srv.URL == "":
		refuse("url", "write its address", "it has no url")
	case srv.Command != "" || srv.Args != nil:
		refuse("command", `take it out, or write "type": "stdio"`, "an address is not a program")
	case srv.Env != nil:
		refuse("env", "write headers", "an address has no environment")
	case srv.Dir != "":
		refuse("cwd", "take it out", "an address works in no folder")
	default:
		if u, err := url.Parse(srv.URL); !strings.Contains(srv.URL, "${") && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
			refuse("url", "write it as https://HOST/PATH; what is secret belongs into headers", "%.100q is no address of a server", srv.URL)
		}
	}
}

// arguments are texts that may be empty.
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

// pairs are texts by name. A number or a truth value counts as its text, as people write
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
				s.fault(m.At, "", "%s: %.80q is no name of a %s", path, m.Key, what)
			case m.Value.Kind == jsontree.Number || m.Value.Kind == jsontree.Bool:
				(*to)[m.Key] = m.Value.Text
			case !s.want(at, m.Value, jsontree.Text):
			case strings.ContainsAny(m.Value.Text, "\x00\r\n") && (what == "header" || strings.Contains(m.Value.Text, "\x00")):
				s.fault(m.Value.At, "", "%s holds a character that a %s cannot have", at, what)
			default:
				(*to)[m.Key] = m.Value.Text
			}
		}
	}
}

// isToken reports whether a text can be the name of a header.
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
					s.fault(n.At, "write a number, or leave it out for any", "%s: that is no port", path)
					return
				}
				o.CallbackPort = port
			},
			"scopes": func(path string, n jsontree.Node) {
				if n.Kind == jsontree.Text { // as OAuth itself writes them
					o.Scopes = strings.Fields(n.Text)
					return
				}
				s.texts(path, n, func(_ string, item jsontree.Node) { o.Scopes = append(o.Scopes, item.Text) })
			},
		})
	}
}

const (
	minTimeout = time.Second // less is somebody's count of seconds
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

// decodeMCP reads a file of servers, a project's or one of --mcp-config.
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
		s.fault(root.At, `write {"mcpServers": {"NAME": {"command": "PROGRAM"}}}`, "it names no mcpServers")
	}
	return s
}

// mcpProject reads the servers that the project's folder brings along in a file of its own.
// What is wrong with one server keeps out that one: the file belongs to other programs too.
func (o *Options) mcpProject() (*parsedSource, error) {
	if o.Portable != nil {
		return nil, nil
	}
	file := filepath.Join(o.Project, mcpFile)
	if info, err := os.Lstat(file); err == nil && info.Mode() == os.ModeSocket {
		return nil, nil // a sandbox keeps the name from being used, for as long as commands run
	}
	src, err := o.read(layernames.Project, file, o.Project)
	if err != nil || len(src) == 0 {
		return nil, err
	}
	s := decodeMCP(src[0], true)
	for i := range s.problems { // it starts nothing, and keeps nothing else from starting
		s.problems[i].Fatal = false
	}
	return s, nil
}

// mcpGiven reads what --mcp-config names, the last one the strongest.
func (o *Options) mcpGiven() ([]*parsedSource, error) {
	given := *o
	given.Files = o.MCP
	src, err := given.flags()
	if err != nil {
		return nil, err
	}
	var list []*parsedSource
	for _, s := range src {
		s.file = strings.Replace(s.file, "--settings", "--mcp-config", 1)
		said := decodeMCP(s, false)
		said.given = true
		list = append(list, said)
	}
	return list, nil
}

// parsedMCP is what one source says about MCP servers.
type parsedMCP struct {
	servers  []MCPServer
	disabled []Value[string] // disabledMcpjsonServers
	allowed  *[]mcpPattern   // allowedMcpServers; nil: nobody says
	denied   []mcpPattern
}

// names reports whether a server is among names.
func named(list []Value[string], name string) *policy.Origin {
	if i := slices.IndexFunc(list, func(v Value[string]) bool { return v.Value == name }); i >= 0 {
		return &list[i].Origin
	}
	return nil
}
